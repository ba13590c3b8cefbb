import { useState } from 'preact/hooks'
import { diffLines } from '../../core/text/line-diff.ts'
import { visibleLines } from '../../core/text/visible.ts'
import { duration } from '../data/format.ts'
import type { RunResult } from '../types.ts'
import { Compared } from './compared.tsx'

type CallRecord = NonNullable<RunResult['toolCalls']>[number]

/** Two matching calls. One of them is undefined if a call has no match. */
interface Pair {
  at: number
  a: CallRecord | undefined
  b: CallRecord | undefined
}

export function ComparedCalls({ one, other }: { one: CallRecord[]; other: CallRecord[] }) {
  if (one.length + other.length === 0) return <p class="muted">Neither run has called a tool.</p>
  return (
    <div class="tool-list">
      {pairsOf(one, other).map((pair) => (
        <CallPair key={pair.at} {...pair} />
      ))}
    </div>
  )
}

/** Matches the calls of two runs, in order. Only calls of the same tool match. */
function pairsOf(one: CallRecord[], other: CallRecord[]): Pair[] {
  const namesOf = (calls: CallRecord[]) => calls.map(({ tool }) => tool)
  const [first, second] = [one.values(), other.values()]
  return diffLines(namesOf(one), namesOf(other))
    .map(({ kind }, at) => ({
      at,
      a: kind === 'added' ? undefined : first.next().value,
      b: kind === 'removed' ? undefined : second.next().value,
    }))
    .filter(({ a, b }) => a !== undefined || b !== undefined)
}

function CallPair({ a, b }: Omit<Pair, 'at'>) {
  // Two calls are compared only when the user opens them.
  const [wasOpened, setOpened] = useState(false)
  const words = verdictOn({ a, b })
  return (
    <details class="tool" onToggle={({ currentTarget }) => currentTarget.open && setOpened(true)}>
      <summary class="tool-summary">
        <code class="tool-name">{visibleLines((a ?? b)?.tool ?? '')}</code>
        <span class="tool-marks">
          <span class={`badge ${words === 'same' ? 'off' : 'wait'}`}>{words}</span>
          <span class="muted">{[a, b].flatMap((call) => (call === undefined ? [] : [duration(call.durationMs)])).join(' → ')}</span>
        </span>
      </summary>
      <div class="tool-body">
        {wasOpened && (
          <>
            <Compared before={argsOf(a)} after={argsOf(b)} label="Arguments" />
            <Compared before={a?.content} after={b?.content} label="Result" />
          </>
        )}
      </div>
    </details>
  )
}

function argsOf(call: CallRecord | undefined): unknown {
  return call?.args ?? call?.rawArguments
}

function verdictOn({ a, b }: Omit<Pair, 'at'>): string {
  if (a === undefined) return 'only in the second'
  if (b === undefined) return 'only in the first'
  const isSame = (one: unknown, other: unknown) => JSON.stringify(one) === JSON.stringify(other)
  const differing = [!isSame(argsOf(a), argsOf(b)) && 'arguments', !isSame(a.content, b.content) && 'result'].filter(Boolean)
  return differing.length === 0 ? 'same' : `different ${differing.join(' and ')}`
}
