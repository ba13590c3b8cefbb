import { useLayoutEffect, useState } from 'preact/hooks'
import { longText } from '../reading/long-text.js'
import { valueView } from '../reading/value-view.js'
import { Dom } from '../ui/dom-bridge.tsx'

export function ValueView({ value, label }: { value: unknown; label: string }) {
  const [element, setElement] = useState<HTMLElement>()
  useLayoutEffect(() => setElement(valueView(value, label)), [value, label])
  return element === undefined ? null : <Dom element={element} />
}

export function LongText({ text, label }: { text: string; label: string }) {
  const [element, setElement] = useState<HTMLElement>()
  useLayoutEffect(() => setElement(longText(text, label)), [text, label])
  return element === undefined ? null : <Dom element={element} />
}
