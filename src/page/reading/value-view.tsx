import type { ComponentChildren } from 'preact'
import { useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks'
import { visibleLines } from '../../core/text/visible.ts'
import { json } from '../data/format.ts'
import { CopyButton } from '../ui/copy.tsx'
import { isWithin, previewOf } from './json-nodes.ts'
import { JsonTree } from './json-tree.tsx'
import { isShort, LongText } from './long-text.tsx'

/** Maximum size of JSON that is not folded. */
const few = { values: 60, characters: 1_200 }

/**
 * Shows the input or output of a tool or model. Short JSON is formatted, long JSON is shown as a tree, and a text is shown unchanged.
 * `label` describes the value for screen readers.
 */
export function ValueView({ value, label }: { value: unknown; label: string }) {
  if (typeof value !== 'string') return <JsonView value={value} label={label} />
  if (!/^\s*[[{]/.test(value)) return <LongText text={value} label={label} />
  if (value.length <= 2 * few.characters) return <JsonText text={value} label={label} />
  return (
    <WhenNear first={<LongText text={value} label={label} />}>
      <JsonText text={value} label={label} isLong />
    </WhenNear>
  )
}

/** Shows a text that looks like JSON but may not be. */
function JsonText({ text, label, isLong = false }: { text: string; label: string; isLong?: boolean }) {
  const parsed = useMemo(() => {
    try {
      return { value: JSON.parse(text) as unknown }
    } catch {
      return undefined
    }
  }, [text])
  if (parsed === undefined) return <LongText text={text} label={label} />
  return isLong ? <JsonTree value={parsed.value} label={label} /> : <JsonView value={parsed.value} label={label} />
}

function JsonView({ value, label }: { value: unknown; label: string }) {
  const text = useMemo(() => (isWithin(value, few) ? json(value) : undefined), [value])
  if (text === undefined || !isShort(text))
    return (
      <WhenNear first={<pre class="code">{visibleLines(previewOf(value))}</pre>}>
        <JsonTree value={value} label={label} />
      </WhenNear>
    )
  return (
    <div class="value">
      <pre class="code">{visibleLines(text)}</pre>
      <CopyButton label={`Copy ${label.toLowerCase()}`} textOf={() => JSON.stringify(value, null, 2)} />
    </div>
  )
}

/** The callbacks of elements that wait until they come near the visible part of the page. */
const waiting = new WeakMap<Element, () => void>()
const nearView = new IntersectionObserver(
  (seen) => {
    for (const { isIntersecting, target } of seen) {
      if (!isIntersecting) continue
      nearView.unobserve(target)
      waiting.get(target)?.()
    }
  },
  { rootMargin: '400px' },
)

/**
 * Renders `first` until it comes near the visible part of the page, and then renders `children`. Most calls of a long run never come into
 * view.
 */
function WhenNear({ first, children }: { first: ComponentChildren; children: ComponentChildren }) {
  const box = useRef<HTMLDivElement>(null)
  const [isNear, setIsNear] = useState(false)
  useLayoutEffect(() => {
    const element = box.current
    if (element === null || isNear) return
    waiting.set(element, () => setIsNear(true))
    nearView.observe(element)
    return () => nearView.unobserve(element)
  }, [isNear])
  return <div ref={box}>{isNear ? children : first}</div>
}
