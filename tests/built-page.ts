/** The service that runs from its source serves the page as it has been bundled. */
export async function setup(): Promise<void> {
  const { bundlePageOfSource } = await import(new URL('../config/bundle-page.js', import.meta.url).href)
  await bundlePageOfSource()
}
