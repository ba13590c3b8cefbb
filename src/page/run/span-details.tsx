import { visibleLines } from '../../core/text/visible.ts'
import type { RunWithResult } from '../data/follow-run.ts'
import { duration, messageText, money } from '../data/format.ts'
import { ValueView } from '../reading/value-view.tsx'
import type { Message } from '../types.ts'
import { memo } from '../ui/memo.ts'
import type { Span } from './spans.ts'

type MessageCall = NonNullable<Message['toolCalls']>[number]

/** Maximum number of messages of a request that are shown at once. If there are more, the last messages are shown. */
const mostMessages = 30

interface SpanDetailsProps {
  span: Span
  /**
   * A value that changes whenever the content of the span changes, because the span stays the same object. Other re-renders are prevented:
   * they would disturb a user who is reading or selecting text.
   */
  version: string
  /** Undefined until the result of the run is available. */
  run: RunWithResult | undefined
  runStart: number
}

/** Shows the details of a span: a model turn with its request and response, or a call with its arguments and result. */
export const SpanDetails = memo(({ span, run, runStart }: SpanDetailsProps) => {
  return (
    <div class="span-details">
      <dl class="facts">{factsOf(span, runStart).map(drawnFact)}</dl>
      {span.kind === 'turn' ? <TurnParts span={span} run={run} /> : <CallParts span={span} />}
    </div>
  )
})

/** Draws a fact, without a `key`, because several facts may have the same name. */
function drawnFact([name, value]: Fact) {
  return (
    <div>
      <dt>{name}</dt>
      <dd>{visibleLines(value)}</dd>
    </div>
  )
}

type Fact = [name: string, value: string]

function factsOf({ kind, name, start, end, firstToken, usage, finish, id, retries }: Span, runStart: number): Fact[] {
  const facts: [string, string | undefined][] = [
    ['Model', kind === 'turn' && name !== '' ? name : undefined],
    ['Began', start === undefined ? undefined : `+${duration(start - runStart)}`],
    ['Took', start === undefined || end === undefined ? undefined : duration(end - start)],
    ['First token', firstToken === undefined || start === undefined ? undefined : duration(firstToken - start)],
    ['Tokens', usage === undefined ? undefined : `${usage.inputTokens.toLocaleString()} in, ${usage.outputTokens.toLocaleString()} out`],
    ['Cost', usage?.costUsd === undefined ? undefined : money(usage.costUsd)],
    [kind === 'turn' ? 'Finish' : 'Outcome', finish === '' ? undefined : finish],
    [kind === 'run' ? 'Run' : 'Call', id === '' ? undefined : id],
    ...retries.map(({ words }): Fact => ['Retry', words]),
  ]
  return facts.filter((fact): fact is Fact => fact[1] !== undefined)
}

function CallParts({ span: { args, text: textOf, state } }: { span: Span }) {
  const text = textOf()
  return (
    <>
      {args !== undefined && <Part label="Arguments" value={args} />}
      {text !== '' && <Part label={state === 'ok' ? 'Result' : 'Error'} value={text} />}
    </>
  )
}

function TurnParts({ span: { runId, iteration, text: textOf }, run }: Pick<SpanDetailsProps, 'span' | 'run'>) {
  const text = textOf()
  const found = run?.id === runId ? conversationOf(run, iteration) : undefined
  if (found === undefined)
    return (
      <>
        {text !== '' && <Part label="Response" value={text} />}
        <p class="muted">
          {run === undefined ? 'The request can be seen when the run has ended.' : 'The result does not have the request of this turn.'}
        </p>
      </>
    )
  const { request, response } = found
  const left = request.length - mostMessages
  return (
    <>
      <h4>{`Request: ${request.length} ${request.length === 1 ? 'message' : 'messages'}`}</h4>
      <p class="muted">Besides the instructions and tools of the configuration.</p>
      {left > 0 && <p class="muted">{left.toLocaleString()} earlier messages are in the export.</p>}
      <ol class="messages">{request.slice(-mostMessages).map(drawnMessage)}</ol>
      <h4>Response</h4>
      <ol class="messages">{drawnMessage(response)}</ol>
    </>
  )
}

/** Returns the request and response of a turn, as far as the result contains them. Returns undefined if they are unknown. */
function conversationOf({ result }: RunWithResult, iteration: number): { request: Message[]; response: Message } | undefined {
  const { messages = [], newMessages = [], steps = [] } = result ?? {}
  const answers = newMessages.filter(({ role }) => role === 'assistant')
  const answer = answers[steps.findIndex((step) => step.iteration === iteration)]
  if (answer === undefined || answers.length !== steps.length) return undefined
  const earlier = messages.length - newMessages.length
  const at = earlier + newMessages.indexOf(answer)
  const response = messages[at]
  return response && { request: messages.slice(0, at), response }
}

/** Draws a message, without a `key`, because messages have no ids and keep their order. */
function drawnMessage({ role, content, toolCalls = [], reasoning }: Message) {
  const text = messageText(content)
  return (
    <li class={`message ${role === 'assistant' || role === 'user' ? role : ''}`}>
      <span class="muted">{role}</span>
      {typeof reasoning === 'string' && reasoning !== '' && <ValueView value={reasoning} label="Reasoning" />}
      {text !== '' && <ValueView value={text} label={role} />}
      {toolCalls.map(drawnCall)}
    </li>
  )
}

function drawnCall({ name, arguments: args, rawArguments, function: fn }: MessageCall) {
  const called = name ?? fn?.name ?? ''
  return (
    <>
      <code class="call-tool">{called}</code>
      <ValueView value={rawArguments ?? fn?.arguments ?? args ?? {}} label={`Arguments of ${called}`} />
    </>
  )
}

function Part({ label, value }: { label: string; value: unknown }) {
  return (
    <>
      <h4>{label}</h4>
      <ValueView value={value} label={label} />
    </>
  )
}
