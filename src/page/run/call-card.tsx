import { visibleLines } from '../../core/text/visible.ts'
import type { Call } from '../data/calls.ts'
import { duration } from '../data/format.ts'
import { ValueView } from '../reading/value-view.tsx'
import { Icon, type IconName } from '../ui/icon.tsx'
import { memo } from '../ui/memo.ts'
import { Since } from '../ui/since.tsx'

const words: Record<Exclude<Call['state'], 'waiting'>, string> = {
  writing: 'receiving arguments',
  running: 'running',
  ok: 'succeeded',
  failed: 'failed',
  rejected: 'not run',
}
const waitWords: Record<Call['waitsFor'], string> = {
  approval: 'waiting for approval',
  client_tool: 'waiting for a result',
  question: 'waiting for an answer',
}
const icons: Record<Call['state'], IconName> = {
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
  call: Call
  /** Where the run it belongs to is shown. Default: it is shown there. */
  linkTo?: (call: Call) => Link
  /** What waits is shown beside it with its arguments, which are not said twice. Default false. */
  asks?: boolean
}

/** A tool call as a card: its name, how it stands, its arguments and its result. */
export function CallCard({ call, linkTo, asks = false }: CallCardProps) {
  const link = linkTo?.(call)
  return <Card call={call} version={call.version} href={link?.href} words={link?.words} asks={asks} />
}

interface CardProps extends Partial<Link> {
  call: Call
  /** A call stays the same object: this says that it has changed. */
  version: number
  asks: boolean
}

const Card = memo(({ call, href, words: linkWords, asks }: CardProps) => {
  const { state, args, progress, result } = call
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
          <span class="call-state">{state === 'waiting' ? waitWords[call.waitsFor] : words[state]}</span>
        </span>
        <span class="call-time">
          <CallTime call={call} />
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
        {args !== undefined && !(asks && state === 'waiting') && <Row key="args" name="Arguments" value={args} />}
        {progress !== '' && <Row key="progress" name="Progress" value={progress} />}
        {outcome !== '' && <Row key="result" name={state === 'ok' ? 'Result' : 'Error'} value={outcome} />}
      </dl>
    </article>
  )
})

function CallTime({ call: { state, since, durationMs } }: { call: Call }) {
  const isOpen = state === 'running' || state === 'waiting'
  if (isOpen && since !== undefined) return <Since iso={new Date(since).toISOString()} />
  return <>{durationMs === undefined ? '' : duration(durationMs)}</>
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
