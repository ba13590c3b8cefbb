import { useEffect, useMemo, useRef, useState } from 'preact/hooks'
import { visibleLines } from '../../core/text/visible.ts'
import { DecisionHistory } from '../approvals/decision-history.tsx'
import { DecisionList } from '../approvals/decision-list.tsx'
import { messageOf, post } from '../data/api.ts'
import type { RunWithResult } from '../data/follow-run.ts'
import { clock, count, duration, ending, money } from '../data/format.ts'
import { retryNow } from '../data/sse.ts'
import { Answer } from '../reading/answer.tsx'
import { compareHref, listQuery, runsHref } from '../runs/addresses.ts'
import { openExport, openRunAgain } from '../runs/dialogs.ts'
import { sessionHref } from '../sessions/addresses.ts'
import type { Run } from '../types.ts'
import { Icon } from '../ui/icon.tsx'
import { useLive } from '../ui/live-context.ts'
import { Loading } from '../ui/loaded.tsx'
import { useNewId } from '../ui/new-id.ts'
import { FollowedRun } from './followed-run.ts'
import { RunBadge } from './run-badge.tsx'
import { Timeline } from './timeline.tsx'
import { Waterfall } from './waterfall.tsx'

/** Shows one run: its input, its steps, its pending decisions, and controls to steer it. A different `id` needs a different `key`. */
export function RunView({ id }: { id: string }) {
  const live = useLive()
  const followed = useMemo(() => new FollowedRun(id, live), [id, live])
  const title = useRef<HTMLHeadingElement>(null)
  const panel = useRef<HTMLElement>(null)
  const [failure, setFailure] = useState('')
  const errorId = useNewId()
  useEffect(() => followed.follow(), [followed])
  // Moves the focus to the run, so that keyboard and screen reader users continue there.
  useEffect(() => title.current?.focus({ preventScroll: true }), [])
  const run = live.run(id) ?? followed.summary.value
  const status = run?.status
  // A run that has already ended is shown with its answer first. If a run ends while it is shown, the layout stays the same.
  const firstStatus = useRef(status)
  firstStatus.current ??= status
  const wasOver = firstStatus.current === 'ended'
  const outcome = <Outcome id={id} followed={followed} wasKnown={run !== undefined} />
  /** Runs an action. Resolves with true if it succeeded. If it failed, shows the error. */
  const attempt = async (action: () => Promise<unknown>) => {
    setFailure('')
    try {
      await action()
      return true
    } catch (thrown) {
      setFailure(messageOf(thrown))
      return false
    }
  }
  const decideNow = () => {
    const card = panel.current?.querySelector<HTMLElement>('.decision:has(button:enabled)')
    card?.scrollIntoView({ block: 'nearest' })
    card?.focus({ preventScroll: true })
  }
  const path = `v1/runs/${encodeURIComponent(id)}`
  const cancel = async () => {
    await post(`${path}/cancel`, {})
    live.refresh(id)
    title.current?.focus()
  }
  const steer = async (text: string) => {
    await post(`${path}/messages`, { input: text })
    followed.steps.user(text)
  }
  return (
    <section ref={panel} class="panel run-panel" aria-label="Run">
      <a class="back" href={runsHref(listQuery.value)}>
        <Icon name="back" />
        All runs
      </a>
      <div class="panel-head">
        <h2 ref={title} tabIndex={-1} class="run-title">
          {run?.input || 'Run'}
        </h2>
        <div class="panel-actions" hidden={followed.isGone.value}>
          {run !== undefined && <RunBadge run={run} />}
          {status === 'waiting' && (
            <button type="button" class="primary" onClick={decideNow}>
              Decide
            </button>
          )}
          <a class="button" href={compareHref(id)}>
            Compare with…
          </a>
          <button type="button" onClick={() => attempt(() => openRunAgain(live, id))}>
            Run again
          </button>
          <button type="button" onClick={() => attempt(() => openExport(id))}>
            Export
          </button>
          {run !== undefined && status !== 'ended' && <CancelButton cancel={() => attempt(cancel)} />}
        </div>
      </div>
      <dl class="facts">
        {factsOf(run).map(([name, value]) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd>{value}</dd>
          </div>
        ))}
        {run?.session !== undefined && (
          <div>
            <dt>Session</dt>
            <dd>
              <a href={sessionHref(run.session, run.owner)}>{run.session}</a>
            </dd>
          </div>
        )}
      </dl>
      <DecisionList items={followed.items.value} onDecided={() => title.current?.focus()} />
      {wasOver && <AnswerFirst run={followed.run.value} />}
      {wasOver && outcome}
      <DecisionHistory decisions={followed.decisions.value} />
      <Waterfall spans={followed.spans} status={status} run={followed.run.value} />
      {wasOver ? <FoldedTurns followed={followed} /> : <Timeline steps={followed.steps} />}
      {!wasOver && outcome}
      <p class="error-text" role="alert" id={errorId}>
        {failure}
      </p>
      {run !== undefined && status !== 'ended' && <SteerForm errorId={errorId} send={(text) => attempt(() => steer(text))} />}
    </section>
  )
}

function AnswerFirst({ run }: { run: RunWithResult | undefined }) {
  if (run === undefined) return null
  const text = typeof run.result?.text === 'string' ? run.result.text : (run.output ?? '')
  if (text === '') return null
  return (
    <section class="run-answer" aria-label="Answer">
      <h3 class="visually-hidden">Answer</h3>
      <div class="item assistant">
        <Answer text={text} />
      </div>
    </section>
  )
}

/** Shows all steps of the run, once the user opens them. */
function FoldedTurns({ followed }: { followed: FollowedRun }) {
  const [isOpen, setIsOpen] = useState(false)
  const run = followed.run.value
  if (run === undefined) return null
  const { iterations = 0, toolCalls = 0 } = run
  return (
    <details class="raw turns" open={isOpen} onToggle={({ currentTarget }) => setIsOpen(currentTarget.open)}>
      <summary class="raw-summary">{`Show what happened: ${count(iterations, 'turn')}, ${count(toolCalls, 'call')}`}</summary>
      {isOpen && <Timeline steps={followed.steps} />}
    </details>
  )
}

function CancelButton({ cancel }: { cancel: () => Promise<unknown> }) {
  const [isBusy, setIsBusy] = useState(false)
  const click = async () => {
    setIsBusy(true)
    await cancel()
    setIsBusy(false)
  }
  return (
    <button type="button" class="danger" disabled={isBusy} onClick={click}>
      Cancel run
    </button>
  )
}

function factsOf(run: Run | undefined): [name: string, value: string][] {
  if (run === undefined) return []
  const { usage, createdAt, workedMs, waitedMs = 0, toolCalls = 0, model, answeredBy } = run
  const tokens = usage && `${usage.inputTokens.toLocaleString()} in, ${usage.outputTokens.toLocaleString()} out`
  const facts: [string, string | undefined][] = [
    ['Model', answeredBy ?? (model === 'toolloop' ? undefined : model)],
    ['User', run.owner],
    ['Started', clock(createdAt)],
    ['Worked', workedMs === undefined ? undefined : duration(workedMs)],
    ['Waited', waitedMs === 0 ? undefined : duration(waitedMs)],
    ['Turns', run.iterations?.toString()],
    ['Calls', toolCalls === 0 ? undefined : toolCalls.toLocaleString()],
    ['Tokens', usage && usage.totalTokens > 0 ? tokens : undefined],
    ['Cost', usage?.costUsd === undefined ? undefined : money(usage.costUsd)],
    ['ID', run.id],
  ]
  return facts.filter((fact): fact is [string, string] => fact[1] !== undefined)
}

function Outcome({ id, followed, wasKnown }: { id: string; followed: FollowedRun; wasKnown: boolean }) {
  const { run, isOver, isGone, isAwaited, isLost } = followed
  return (
    <div class="outcome">
      {isAwaited.value && <Loading failure={isLost.value ? 'This run can’t be loaded now. It is tried again.' : ''} retry={retryNow} />}
      {isGone.value && (
        <p class="empty">
          {wasKnown ? 'This run is no longer stored.' : `There is no run ${visibleLines(id)}. It never existed, or is no longer stored.`}
          {' Finished runs are kept for a limited time.'}
        </p>
      )}
      {isOver.value && run.value !== undefined && <End run={run.value} />}
    </div>
  )
}

function End({ run: { stopReason, error, result } }: { run: RunWithResult }) {
  const calls = result?.toolCalls?.length ?? 0
  const words = ending(stopReason)
  return (
    <>
      <p class={stopReason === 'answered' ? 'outcome-line good' : 'outcome-line'}>
        {words.charAt(0).toUpperCase() + words.slice(1)}
        {calls > 0 && ` after ${count(calls, 'tool call')}`}
      </p>
      {error !== undefined && (
        <p class="error-box">
          <code>{error.code}</code> {error.message}
        </p>
      )}
    </>
  )
}

function SteerForm({ errorId, send }: { errorId: string; send: (text: string) => Promise<boolean> }) {
  const [text, setText] = useState('')
  const [isSending, setIsSending] = useState(false)
  const id = useNewId()
  const submit = async (event: Event) => {
    event.preventDefault()
    const written = text.trim()
    if (written === '' || isSending) return
    setIsSending(true)
    // If the user has changed the text meanwhile, it stays in the field as the next message.
    if (await send(written)) setText((now) => (now.trim() === written ? '' : now))
    setIsSending(false)
  }
  return (
    <form class="steer" onSubmit={submit}>
      <label for={id}>Send a message to this run</label>
      <div class="input-row">
        <input
          id={id}
          type="text"
          autocomplete="off"
          required
          placeholder="Delivered before the next model request"
          aria-describedby={errorId}
          value={text}
          onInput={({ currentTarget }) => setText(currentTarget.value)}
        />
        <button type="submit">Send</button>
      </div>
    </form>
  )
}
