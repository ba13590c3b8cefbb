import { useEffect, useState } from 'preact/hooks'
import { announce } from './announce.ts'
import { Icon, type IconName } from './icon.tsx'

/** How long the button shows that copying succeeded, in milliseconds. */
const shownMs = 1_500

/** Copies a text to the clipboard. Resolves with true if copying succeeded. A page without TLS may have no clipboard. */
export async function copyText(text: string): Promise<boolean> {
  const copied = await navigator.clipboard?.writeText(text).then(
    () => true,
    () => false,
  )
  announce(copied ? 'Copied' : 'The browser refuses to copy')
  return copied === true
}

/** Copies the text of an element, or selects it if the browser refuses to copy. Resolves with a description of what was done. */
export async function copyOrSelect(element: HTMLElement | null): Promise<string> {
  if (element === null) return ''
  try {
    await navigator.clipboard.writeText(element.textContent)
    return 'Copied'
  } catch {
    // The browser refused to copy, because a page without TLS has no clipboard. The text is selected instead.
    getSelection()?.selectAllChildren(element)
    return 'Selected: copy it with the keyboard'
  }
}

/** A small button that copies a text and briefly shows its success. `label` describes the text, such as `Copy result`. */
export function CopyButton({ label, textOf }: { label: string; textOf: () => string }) {
  const [icon, setIcon] = useState<IconName>('copy')
  useEffect(() => {
    if (icon === 'copy') return
    const timer = setTimeout(() => setIcon('copy'), shownMs)
    return () => clearTimeout(timer)
  }, [icon])
  const copy = async () => setIcon((await copyText(textOf())) ? 'check' : 'cross')
  return (
    <button type="button" class="quiet tool-button" aria-label={label} title={label} onClick={copy}>
      <Icon name={icon} />
    </button>
  )
}
