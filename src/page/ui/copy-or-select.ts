/** Copies what an element says; where the browser refuses that, selects it. Resolves with what was done, in words. */
export async function copyOrSelect(element: HTMLElement | null): Promise<string> {
  if (element === null) return ''
  try {
    await navigator.clipboard.writeText(element.textContent)
    return 'Copied'
  } catch {
    // A page without TLS has no clipboard.
    getSelection()?.selectAllChildren(element)
    return 'Selected: copy it with the keyboard'
  }
}
