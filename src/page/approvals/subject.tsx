import { useCallback, useEffect, useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks'
import { changedLines } from '../../core/text/line-diff.ts'
import { changeIn, editsIn, type TextEdit } from '../../core/text/text-edits.ts'
import { visibleLines } from '../../core/text/visible.ts'
import { count, json } from '../data/format.ts'
import type { Item } from '../data/pending-items.ts'
import { JsonTree } from '../reading/json-tree.tsx'
import { TextFinder } from '../reading/long-text.tsx'
import { TextBlocks } from '../reading/text-blocks.ts'
import { Diff } from '../run/diff.tsx'
import { CopyButton } from '../ui/copy.tsx'
import { hiddenPart } from '../ui/hidden-text.ts'
import { scrollable } from '../ui/scrollable.ts'
import { inSlices } from '../ui/slices.ts'
import { hiddenIn, isLarge, splitLarge, writtenOut } from './large-values.ts'

interface SubjectProps {
  item: Item
  /** Called when the whole subject is on the page. `hidden` is its first redacted part. Must be a stable function. */
  onShown?: (hidden: string | undefined) => void
}

/**
 * Shows the complete subject of a decision, without folding or omitting anything. A large part scrolls, and is added to the page piece by
 * piece.
 */
export function Subject({ item, onShown }: SubjectProps) {
  const parts = useMemo(() => partsOf(item), [item])
  const large = parts.filter((part) => 'large' in part).length
  const loaded = useRef(0)
  // A layout effect, because it runs before the next key press. Otherwise, Tab could skip a button that `onShown` enables.
  useLayoutEffect(() => {
    if (large === 0) onShown?.(hiddenPart(JSON.stringify([item.args, item.about])))
  }, [item, large, onShown])
  const onLoaded = useCallback(async () => {
    if (++loaded.current === large && onShown !== undefined) onShown(await hiddenIn([item.args, item.about]))
  }, [item, large, onShown])
  return (
    <>
      {parts.map((part) => (
        <PartView key={part.name === undefined ? part.label : `argument ${part.name}`} part={part} onLoaded={onLoaded} />
      ))}
    </>
  )
}

/** A part of the subject. `label` describes it for screen readers, and `name` is shown above it. */
type Part = { label: string; name?: string } & (
  | { words: string }
  | { json: unknown }
  | { text: string }
  | { large: unknown }
  /** A change that the call makes to a text. If `isFolded` is true, only the changed lines and some lines around them are shown. */
  | { edit: TextEdit; isFolded: boolean }
)

function partsOf({ kind, args, about, script }: Item): Part[] {
  const parts: Part[] = about === undefined || about === null ? [] : aboutOf(about)
  if (script !== undefined) parts.unshift({ label: 'Line of the script', words: `Line ${script.line} of the script: ${script.code}` })
  if (kind === 'question' && Object.keys(args).length === 0) return parts
  return [...parts, ...fieldsOf(args, kind === 'question' ? 'Arguments of the call' : 'Arguments')]
}

/** Maximum total length of two texts that are compared, in characters. */
const longestCompared = 2_000_000

/** Splits the information that a tool gives about the decision into parts. A part is a text, a change, or data. */
function aboutOf(about: unknown): Part[] {
  const label = 'Details'
  const { edits, others } = changeIn(about)
  const edit = edits[0]
  if (edit !== undefined && isComparable(edit))
    return [...(Object.keys(others).length > 0 ? aboutOf(others) : []), { label: 'Proposed change', edit, isFolded: true }]
  if (isLarge(about)) return [{ label, large: about }]
  return [typeof about === 'string' ? { label, words: about } : { label, json: about }]
}

function isComparable({ before, after }: TextEdit): boolean {
  if (!isLarge([before, after])) return true
  if (before.length + after.length > longestCompared) return false
  return !isLarge(changedLines(before.split('\n'), after.split('\n')).map(({ text }) => text))
}

function fieldsOf(args: Item['args'], label: string): Part[] {
  const { small: all, large } = splitLarge(args)
  if (large === args) return [{ label, large }]
  const { edits, others: small } = editsIn(all as Parameters<typeof editsIn>[0])
  // A value of several lines, such as code, is shown as plain text.
  const isText = (value: unknown): value is string => typeof value === 'string' && value.includes('\n')
  const rest = Object.entries(small).filter(([, value]) => !isText(value))
  return [
    ...(rest.length > 0 || Object.keys(args).length === 0 ? [{ label, json: Object.fromEntries(rest) }] : []),
    ...Object.entries(small).flatMap(([name, text]) => (isText(text) ? [{ label: visibleLines(name), name, text }] : [])),
    ...edits.map((edit, at) => ({ label: edits.length === 1 ? 'Change' : `Change ${at + 1}`, edit, isFolded: false })),
    ...Object.entries(large).map(([name, value]) => ({ label: visibleLines(name), name, large: value })),
  ]
}

function PartView({ part, onLoaded }: { part: Part; onLoaded: () => void }) {
  const { label, name } = part
  return (
    <>
      {name !== undefined && <PartName name={name} text={'text' in part ? part.text : 'large' in part ? part.large : undefined} />}
      {'words' in part && <p class="decision-about">{visibleLines(part.words)}</p>}
      {'json' in part && <JsonBlock label={label} value={part.json} />}
      {'text' in part && (
        <pre class="code" {...scrollable(label)}>
          {visibleLines(part.text)}
        </pre>
      )}
      {'edit' in part && <Change {...part} />}
      {'large' in part && <LargeValue value={part.large} label={label} onLoaded={onLoaded} />}
    </>
  )
}

function Change({ label, edit: { before, after }, isFolded }: Extract<Part, { edit: unknown }>) {
  return (
    <div class="decision-changes">
      <p class="muted">{label}</p>
      <Diff before={before} after={after} label={label} isFolded={isFolded} />
    </div>
  )
}

function PartName({ name, text }: { name: string; text: unknown }) {
  return (
    <p class="muted">
      <code>
        <bdi>{visibleLines(name)}</bdi>
      </code>
      {typeof text === 'string' && `, text of ${count(text.length, 'character')}`}
    </p>
  )
}

function JsonBlock({ label, value }: { label: string; value: unknown }) {
  // `<bdi>` keeps right-to-left letters in a string from reordering the characters around it.
  const parts = visibleLines(json(value)).split(/("[^"\\]*(?:\\.[^"\\]*)*")/)
  const isolated = (part: string, at: number) => (at % 2 === 1 ? <bdi>{part}</bdi> : part)
  return (
    <pre class="code" {...scrollable(label)}>
      {parts.map(isolated)}
    </pre>
  )
}

function LargeValue({ value, label, onLoaded }: { value: unknown; label: string; onLoaded: () => void }) {
  const place = useRef<HTMLPreElement>(null)
  const [loaded, setLoaded] = useState<{ text: string; blocks: TextBlocks }>()
  useEffect(() => {
    let isOver = false
    const load = async (element: HTMLElement) => {
      const text = await writtenOut(value)
      if (isOver) return
      const blocks = new TextBlocks(text, element)
      if (!(await inSlices(blocks.all(), () => isOver))) return
      setLoaded({ text, blocks })
      onLoaded()
    }
    if (place.current !== null) void load(place.current)
    return () => {
      isOver = true
    }
  }, [value, onLoaded])
  return (
    <div class="value long-text">
      <pre ref={place} class="code" {...scrollable(label)} />
      <div class="value-tools">
        {loaded === undefined ? (
          <span class="muted" role="status">
            Loading…
          </span>
        ) : (
          <>
            <TextFinder text={loaded.text} label={label} rangeOf={(start, end) => loaded.blocks.rangeOf(start, end)} />
            <span class="muted">{count(loaded.text.length, 'character')}</span>
            <CopyButton label={`Copy ${label.toLowerCase()}`} textOf={() => loaded.text} />
          </>
        )}
      </div>
      {loaded !== undefined && typeof value !== 'string' && <AsTree value={value} label={label} />}
    </div>
  )
}

/** A button that shows the same value as a tree with foldable parts. */
function AsTree({ value, label }: { value: unknown; label: string }) {
  const [isWanted, setIsWanted] = useState(false)
  return (
    <details onToggle={() => setIsWanted(true)}>
      <summary>As a tree</summary>
      {isWanted && <JsonTree value={value} label={label} />}
    </details>
  )
}
