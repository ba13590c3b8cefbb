import { useEffect, useRef, useState } from 'preact/hooks'
import { clock, count, duration, ending, money, short } from '../data/format.ts'
import { Answer } from '../reading/answer.tsx'
import { RunBadge } from '../run/run-badge.tsx'
import { runHref, runsHref } from '../runs/addresses.ts'
import { session as signedIn } from '../shell/access.ts'
import { address, searchOf } from '../shell/address.ts'
import type { Run } from '../types.ts'
import { Icon } from '../ui/icon.tsx'
import { Loading } from '../ui/loaded.tsx'
import { useRunsOf } from './use-sessions.ts'

/** Number of runs that are shown at first, starting with the latest. */
const shownAtFirst = 20

/** Shows one session: the inputs and answers of its runs, oldest first, and a button to continue it. */
export function SessionPane({ session, owner }: { session: string; owner: string }) {
  const { value, failure, load } = useRunsOf(session, owner)
  const title = useRef<HTMLHeadingElement>(null)
  const [most, setMost] = useState(shownAtFirst)
  useEffect(() => title.current?.focus({ preventScroll: true }), [])
  const runs = value?.data.toReversed() ?? []
  const [first] = runs
  const left = runs.length - most
  const { owner: _, ...query } = address.value.query
  return (
    <section class="panel run-panel" aria-label="Session">
      <a class="back" href={`#/sessions${searchOf(query)}`}>
        <Icon name="back" />
        All sessions
      </a>
      <div class="panel-head">
        <h2 ref={title} tabIndex={-1} class="run-title">
          {first?.input || session}
        </h2>
        <div class="panel-actions">
          <a class="button" href={runsHref({ session, ...(owner === '' ? {} : { owner }) })}>
            Its runs
          </a>
          {runs.length > 0 && (
            <button type="button" class="primary" onClick={() => continueInChat(session, runs)}>
              Continue
            </button>
          )}
        </div>
      </div>
      {runs.length > 0 && <Facts session={session} runs={runs} />}
      {failure !== '' || value === undefined ? (
        <Loading failure={failure} retry={load} />
      ) : (
        runs.length === 0 && <p class="empty">No stored run belongs to this session.</p>
      )}
      {left > 0 && (
        <button type="button" class="link-button" onClick={() => setMost(most + shownAtFirst)}>
          {`Show ${Math.min(left, shownAtFirst)} of ${count(left, 'earlier run')}`}
        </button>
      )}
      <ol class="timeline">
        {runs.slice(-most).map((run) => (
          <Said key={run.id} run={run} />
        ))}
      </ol>
    </section>
  )
}

function Facts({ session, runs }: { session: string; runs: readonly Run[] }) {
  const sum = (of: (run: Run) => number | undefined) => runs.reduce((total, run) => total + (of(run) ?? 0), 0)
  const [cost, waited] = [sum(({ usage }) => usage?.costUsd), sum(({ waitedMs }) => waitedMs)]
  const facts: [name: string, value: string | undefined][] = [
    ['Session', session],
    ['User', runs.at(-1)?.owner],
    ['Runs', runs.length.toLocaleString()],
    ['Worked', duration(sum(({ workedMs }) => workedMs))],
    ['Waited', waited === 0 ? undefined : duration(waited)],
    ['Tokens', short(sum(({ usage }) => usage?.totalTokens))],
    ['Cost', cost === 0 ? undefined : money(cost)],
  ]
  return (
    <dl class="facts">
      {facts.map(
        ([name, value]) =>
          value !== undefined && (
            <div key={name}>
              <dt>{name}</dt>
              <dd>{value}</dd>
            </div>
          ),
      )}
    </dl>
  )
}

/** Shows the input and the answer of a run. */
function Said({ run }: { run: Run }) {
  const { id, input, output = '', status, stopReason, error, createdAt, workedMs, toolCalls = 0, usage } = run
  const numbers = [
    clock(createdAt),
    workedMs !== undefined && duration(workedMs),
    toolCalls > 0 && count(toolCalls, 'call'),
    usage?.costUsd !== undefined && money(usage.costUsd),
  ]
  return (
    <li class="said">
      <p class="item user">{input}</p>
      {output !== '' && (
        <div class="item assistant">
          <h3 class="visually-hidden">Answer</h3>
          <Answer text={output} />
        </div>
      )}
      {output === '' && status === 'ended' && (
        <p class="muted">{error === undefined ? `No answer: ${ending(stopReason)}` : `${error.code}: ${error.message}`}</p>
      )}
      <p class="said-run muted">
        <RunBadge run={run} />
        <span>{numbers.filter(Boolean).join(' · ')}</span>
        <a href={runHref(id)} aria-label={`Run of: ${input.slice(0, 60)}`}>
          Run
        </a>
      </p>
    </li>
  )
}

/** Opens the conversation in the chat, which sends further messages to this session. */
function continueInChat(session: string, runs: readonly Run[]): void {
  signedIn.value?.conversation.open({ session, turns: runs.map(({ id, input }) => ({ id, input })), model: runs.at(-1)?.model ?? '' })
  location.hash = '#/chat'
}
