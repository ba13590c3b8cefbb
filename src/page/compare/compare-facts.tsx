import { visibleLines } from '../../core/text/visible.ts'
import type { RunWithResult } from '../data/follow-run.ts'
import { clock, duration, ending, money } from '../data/format.ts'
import { runHref } from '../runs/addresses.ts'
import { scrollable } from '../ui/scrollable.ts'

const none = '–'

/** Shows the facts of two runs side by side, with one fact in each line. */
export function FactsTable({ one, other }: { one: RunWithResult; other: RunWithResult }) {
  const others = factsOf(other)
  return (
    <div class="table-box" {...scrollable('Both runs')}>
      <table class="compare-facts">
        <thead>
          <tr>
            <td />
            <RunHead which="First" run={one} />
            <RunHead which="Second" run={other} />
          </tr>
        </thead>
        <tbody>
          {factsOf(one).map(([name, words, number], at) => {
            const [, otherWords = '', otherNumber] = others[at] ?? []
            return (
              <tr key={name} class={words === otherWords ? '' : 'is-different'}>
                <th scope="row">{name}</th>
                <td>{words}</td>
                <td>
                  {otherWords}
                  <Change from={number} to={otherNumber} />
                </td>
              </tr>
            )
          })}
        </tbody>
      </table>
    </div>
  )
}

function RunHead({ which, run: { id, input } }: { which: string; run: RunWithResult }) {
  return (
    <th scope="col">
      {which}: <a href={runHref(id)}>{visibleLines(input || 'Run').slice(0, 120)}</a>
    </th>
  )
}

function Change({ from, to }: { from: number | undefined; to: number | undefined }) {
  if (from === undefined || to === undefined || from <= 0) return null
  const percent = Math.round((to / from - 1) * 100)
  return percent === 0 ? null : <span class="muted">{` ${percent > 0 ? '+' : '−'}${Math.abs(percent)} %`}</span>
}

type Fact = [name: string, words: string, number?: number | undefined]

function factsOf(run: RunWithResult): Fact[] {
  const { id, status, stopReason, owner, createdAt, finishedAt, iterations, usage, result, model, toolCalls = 0 } = run
  const models = new Set(result?.steps?.map((step) => `${step.provider} / ${step.model}`))
  const took = finishedAt === undefined ? undefined : Date.parse(finishedAt) - Date.parse(createdAt)
  return [
    ['Run', id],
    ['State', status === 'running' ? 'running' : ending(stopReason)],
    ['Model', [...models].join(', ') || model],
    ['Token', owner],
    ['Started', clock(createdAt)],
    ['Duration', took === undefined ? none : duration(took), took],
    ['Turns', String(iterations ?? none), iterations],
    ['Calls', toolCalls.toLocaleString(), toolCalls],
    ['Tokens in', usage?.inputTokens.toLocaleString() ?? none, usage?.inputTokens],
    ['Tokens out', usage?.outputTokens.toLocaleString() ?? none, usage?.outputTokens],
    ['Cost', usage?.costUsd === undefined ? none : money(usage.costUsd), usage?.costUsd],
  ]
}
