import { useEffect, useState } from 'preact/hooks'
import { announce } from './announce.ts'
import { Icon, type IconName } from './icon.tsx'

/** How long the success of copying is shown. */
const shownMs = 1_500

/** Copies a text to the clipboard. Resolves with whether it worked: a page without TLS may have no clipboard. */
export async function copyText(text: string): Promise<boolean> {
  const copied = await navigator.clipboard?.writeText(text).then(
    () => true,
    () => false,
  )
  announce(copied ? 'Copied' : 'The browser refuses to copy')
  return copied === true
}

/** Copies the text of an element, or selects it if the browser refuses. Resolves with a description of what was done. */
export async function copyOrSelect(element: HTMLElement | null): Promise<string> {
  if (element === null) return ''
  try {
    await navigator.clipboard.writeText(element.textContent)
    return 'Copied'
  } catch {
    // A page without TLS has no clipboard, so the text is selected.
    getSelection()?.selectAllChildren(element)
    return 'Selected: copy it with the keyboard'
  }
}

/** A small button that copies a text and briefly shows that it has. `label` describes what is copied, such as `Copy result`. */
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
