import type { CallView } from '../../core/runs/index.ts'
import { visibleLines } from '../../core/text/visible.ts'
import { type CallState, type PlacedCall, stateOfCall } from '../data/calls.ts'
import { duration } from '../data/format.ts'
import { ValueView } from '../reading/value-view.tsx'
import { Icon, type IconName } from '../ui/icon.tsx'
import { memo } from '../ui/memo.ts'
import { Since } from '../ui/since.tsx'

const words: Record<Exclude<CallState, 'waiting'>, string> = {
  writing: 'receiving arguments',
  running: 'running',
  ok: 'succeeded',
  failed: 'failed',
  rejected: 'not run',
}
const waitWords: Record<NonNullable<CallView['waitsFor']>, string> = {
  approval: 'waiting for approval',
  budget: 'waiting for approval',
  client_tool: 'waiting for a result',
  question: 'waiting for an answer',
}
const icons: Record<CallState, IconName> = {
  writing: 'dots',
  waiting: 'hand',
  running: 'dots',
  ok: 'check',
  failed: 'cross',
  rejected: 'cross',
}

interface Link {
  href: string
  words: string
}

export interface CallCardProps {
  call: PlacedCall
  /** Returns a link to the call's run. Omit this callback if the page already shows that run. */
  linkTo?: (call: PlacedCall) => Link
  /** Whether the form for the decision is next to the card. The form shows the arguments, so the card omits them. Default false. */
  asks?: boolean
}

/** Shows a tool call as a card with its name, state, arguments and result. */
export function CallCard({ call: placed, linkTo, asks = false }: CallCardProps) {
  const { call, within, depth } = placed
  const { tool, waitsFor, args, progress, durationMs } = call
  const state = stateOfCall(call)
  const since = state === 'waiting' ? call.waits.at(-1)?.from : state === 'running' ? call.startedAt : undefined
  const isUntold = call.status === 'ended' && call.outcome === undefined
  // If a nested run asks for the decision, the form doesn't show the arguments of this call, so the card does.
  const isAsked = asks && call.runs.length === 0
  const result = isUntold ? call.result || 'The run ended before this call did.' : call.result
  return (
    <Card {...{ tool, within, depth, state, waitsFor, args, progress, result, durationMs, since, asks: isAsked, ...linkTo?.(placed) }} />
  )
}

interface CardProps
  extends Partial<Link>,
    Pick<PlacedCall, 'within' | 'depth'>,
    Pick<CallView, 'tool' | 'waitsFor' | 'args' | 'progress' | 'result' | 'durationMs'> {
  state: CallState
  /** The time at which the call started to run or wait. */
  since: number | undefined
  asks: boolean
}

/**
 * The component gets plain values, because a call stays the same object when it changes. It re-renders only if one of the values has
 * changed.
 */
const Card = memo(({ href, words: linkWords, asks, state, args, progress, result, ...call }: CardProps) => {
  const [tool, within] = [visibleLines(call.tool), visibleLines(call.within)]
  const outcome = result === '' && state === 'ok' ? '(empty)' : result
  return (
    <article
      class="call"
      aria-label={`Call to ${tool}${within === '' ? '' : ` inside ${within}`}`}
      data-state={state}
      data-depth={href !== undefined || call.depth === 0 ? undefined : Math.min(call.depth, 3)}
    >
      <header class="call-head">
        <span class="call-mark" aria-hidden="true">
          <Icon name={icons[state]} />
        </span>
        <span class="call-name">
          <span class="call-tool">{tool}</span>
          <span class="call-state">{state === 'waiting' ? waitWords[call.waitsFor ?? 'approval'] : words[state]}</span>
        </span>
        <span class="call-time">
          <CallTime {...call} />
        </span>
      </header>
      {(href !== undefined || within !== '') && (
        <p class="call-run">
          {within !== '' && `in ${within}`}
          {within !== '' && href !== undefined && ' · '}
          {href !== undefined && <a href={href}>{linkWords}</a>}
        </p>
      )}
      <dl class="call-body">
        {args !== undefined && !(asks && state === 'waiting') && <Row key="args" {...argumentsRow(args)} />}
        {progress !== undefined && (
          <Row key="progress" name="Progress" value={typeof progress === 'string' ? progress : JSON.stringify(progress)} />
        )}
        {outcome !== '' && <Row key="result" name={state === 'ok' ? 'Result' : 'Error'} value={outcome} />}
      </dl>
    </article>
  )
})

function CallTime({ since, durationMs }: Pick<CardProps, 'since' | 'durationMs'>) {
  if (since !== undefined) return <Since iso={new Date(since).toISOString()} />
  return <>{durationMs === undefined ? '' : duration(durationMs)}</>
}

/** Returns the row for the arguments. If a text of several lines, such as a script, is the only argument, it is shown unchanged. */
function argumentsRow(args: unknown): { name: string; value: unknown } {
  const [only, ...others] = typeof args === 'object' && args !== null ? Object.entries(args) : []
  if (only === undefined || others.length > 0) return { name: 'Arguments', value: args }
  const [name, value] = only
  return typeof value === 'string' && value.includes('\n') ? { name: visibleLines(name), value } : { name: 'Arguments', value: args }
}

function Row({ name, value }: { name: string; value: unknown }) {
  return (
    <>
      <dt>{name}</dt>
      <dd>
        <ValueView value={value} label={name} />
      </dd>
    </>
  )
}
