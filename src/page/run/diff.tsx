import { useMemo, useState } from 'preact/hooks'
import { changedLines, type DiffLine, diffLines } from '../../core/text/line-diff.ts'
import { visibleLines } from '../../core/text/visible.ts'
import { count } from '../data/format.ts'
import { scrollable } from '../ui/scrollable.ts'

const marks = { same: ' ', removed: '-', added: '+' }
const words = { same: '', removed: 'removed: ', added: 'added: ' }

/** The limits of a folded diff: the characters that are shown of each line, and the lines that are shown at first. */
const mostOfLine = 2_000
const mostRows = 300

interface DiffProps {
  before: unknown
  after: unknown
  label: string
}

/**
 * Shows the complete difference between two texts or JSON values. If `isFolded` is true, omits equal lines that are not next to a change.
 */
export function Diff({ before, after, label, isFolded = false }: DiffProps & { isFolded?: boolean }) {
  const compare = isFolded ? changedLines : diffLines
  const lines = useMemo(() => compare(linesOf(before), linesOf(after)), [before, after, compare])
  return <Block label={label} rows={lines} />
}

/** Shows the difference between two long values. Omits equal lines that are not next to a change. Further lines are shown on request. */
export function FoldedDiff({ before, after, label }: DiffProps) {
  const rows = useMemo(() => changedLines(linesOf(before), linesOf(after)).map(cut), [before, after])
  const [most, setMost] = useState(mostRows)
  const left = rows.length - most
  return (
    <div>
      <Block label={label} rows={rows.slice(0, most)} />
      {left > 0 && (
        <button type="button" class="link-button" onClick={() => setMost(most + mostRows)}>
          {`Show more of ${left.toLocaleString()} lines`}
        </button>
      )}
    </div>
  )
}

function cut({ kind, text }: DiffLine): DiffLine {
  const left = text.length - mostOfLine
  return { kind, text: left > 0 ? `${text.slice(0, mostOfLine)} … ${count(left, 'more character')}` : text }
}

function linesOf(value: unknown): string[] {
  return (typeof value === 'string' ? value : (JSON.stringify(value, null, 2) ?? '')).split('\n')
}

function Block({ label, rows }: { label: string; rows: DiffLine[] }) {
  return (
    <pre class="code diff" {...scrollable(label)}>
      {rows.map(lineOf)}
    </pre>
  )
}

function lineOf({ kind, text }: DiffLine) {
  if (kind === 'skipped') return <span class="diff-line muted">{`  ${text}\n`}</span>
  return (
    <span class={`diff-line ${kind}`}>
      <span aria-hidden="true">{`${marks[kind]} `}</span>
      {kind !== 'same' && <span class="visually-hidden">{words[kind]}</span>}
      <bdi>{visibleLines(text)}</bdi>
      {'\n'}
    </span>
  )
}
