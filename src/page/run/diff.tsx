import { useMemo, useState } from 'preact/hooks'
import { visibleLines } from '../../core/text/visible.ts'
import { type DiffLine, diffLines } from '../data/diff.ts'
import { count } from '../data/format.ts'
import { scrollable } from '../ui/scrollable.ts'

const marks = { same: ' ', gone: '-', new: '+' }
const words = { same: '', gone: 'removed: ', new: 'added: ' }

/** Context lines around a change, and characters per line, if equal lines are folded. */
const around = 3
const mostOfLine = 2_000
const mostRows = 300

interface DiffProps {
  before: unknown
  after: unknown
  label: string
}

/** Shows how a JSON value differs from another one, completely. */
export function Diff({ before, after, label }: DiffProps) {
  const lines = useMemo(() => linesOf(before, after), [before, after])
  return <Block label={label} rows={lines} />
}

/** The same for values that may be long: folds equal lines except next to a change. */
export function FoldedDiff({ before, after, label }: DiffProps) {
  const rows = useMemo(() => folded(linesOf(before, after)), [before, after])
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

type Row = DiffLine | { folded: number }

function folded(lines: DiffLine[]): Row[] {
  const isNear = new Uint8Array(lines.length)
  for (const [at, { kind }] of lines.entries()) if (kind !== 'same') isNear.fill(1, Math.max(0, at - around), at + around + 1)
  const rows: Row[] = []
  for (const [at, line] of lines.entries()) {
    const last = rows.at(-1)
    if (isNear[at]) rows.push(cut(line))
    else if (last !== undefined && 'folded' in last) last.folded++
    else rows.push({ folded: 1 })
  }
  return rows
}

function cut({ kind, text }: DiffLine): DiffLine {
  const left = text.length - mostOfLine
  return { kind, text: left > 0 ? `${text.slice(0, mostOfLine)} … ${count(left, 'more character')}` : text }
}

function linesOf(before: unknown, after: unknown): DiffLine[] {
  return diffLines(textOf(before), textOf(after))
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : (JSON.stringify(value, null, 2) ?? '')
}

function Block({ label, rows }: { label: string; rows: Row[] }) {
  return (
    <pre class="code diff" {...scrollable(label)}>
      {rows.map(lineOf)}
    </pre>
  )
}

function lineOf(row: Row) {
  if ('folded' in row) return <span class="diff-line muted">{`  … ${count(row.folded, 'line')} the same\n`}</span>
  const { kind, text } = row
  return (
    <span class={`diff-line ${kind}`}>
      <span aria-hidden="true">{`${marks[kind]} `}</span>
      {kind !== 'same' && <span class="visually-hidden">{words[kind]}</span>}
      <bdi>{visibleLines(text)}</bdi>
      {'\n'}
    </span>
  )
}
