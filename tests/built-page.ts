/** Bundles the page, which a service that runs from its sources serves. */
export async function setup(): Promise<void> {
  const { bundlePageOfSource } = await import(new URL('../config/bundle-page.js', import.meta.url).href)
  await bundlePageOfSource()
}
