import { duration, money } from '../data/format.js'
import { valueView } from '../reading/by-hand.tsx'
import { h } from '../ui/dom.js'
import { visible } from '../ui/visible.js'

/** @typedef {import('./spans.js').Span} Span */

/** Messages of a request that are shown at once: the last ones. */
const mostMessages = 30

/**
 * A model turn with its request and response, or a call with its arguments and result.
 * @param {Span} span
 * @param {any} run The run with its result, once it is there.
 * @param {number} runStart
 */
export function spanDetails(span, run, runStart) {
  return h(
    'div',
    { className: 'span-details' },
    factsOf(span, runStart),
    ...(span.kind === 'call' ? callParts(span) : turnParts(span, run)),
  )
}

/** @param {Span} span @param {number} runStart */
function factsOf({ kind, name, start, end, firstToken, usage, finish, id, retries }, runStart) {
  /** @type {[string, string | undefined][]} */
  const rows = [
    ['Model', kind === 'turn' && name !== '' ? name : undefined],
    ['Began', start === undefined ? undefined : `+${duration(start - runStart)}`],
    ['Took', start === undefined || end === undefined ? undefined : duration(end - start)],
    ['First token', firstToken === undefined || start === undefined ? undefined : duration(firstToken - start)],
    ['Tokens', usage === undefined ? undefined : `${usage.inputTokens.toLocaleString()} in, ${usage.outputTokens.toLocaleString()} out`],
    ['Cost', usage?.costUsd === undefined ? undefined : money(usage.costUsd)],
    [kind === 'turn' ? 'Finish' : 'Outcome', finish === '' ? undefined : finish],
    ['Call', id === '' ? undefined : id],
  ]
  return h(
    'dl',
    { className: 'facts' },
    ...rows.flatMap(([name, value]) => (value === undefined ? [] : [h('div', {}, h('dt', {}, name), h('dd', {}, visible(value)))])),
    ...retries.map(({ words }) => h('div', {}, h('dt', {}, 'Retry'), h('dd', {}, visible(words)))),
  )
}

/** @param {Span} span */
function callParts({ args, text, state }) {
  return [...(args === undefined ? [] : part('Arguments', args)), ...(text === '' ? [] : part(state === 'ok' ? 'Result' : 'Error', text))]
}

/** @param {Span} span @param {any} run */
function turnParts({ runId, iteration, text }, run) {
  const found = run?.id === runId ? conversationOf(run, iteration) : undefined
  if (found === undefined) {
    const why = run === undefined ? 'The request can be seen when the run has ended.' : 'The result does not have the request of this turn.'
    return [...(text === '' ? [] : part('Response', text)), h('p', { className: 'muted' }, why)]
  }
  const { request, response } = found
  const left = request.length - mostMessages
  return [
    h('h4', {}, `Request: ${request.length} ${request.length === 1 ? 'message' : 'messages'}`),
    h('p', { className: 'muted' }, 'Besides the instructions and tools of the configuration.'),
    left > 0 && h('p', { className: 'muted' }, `${left.toLocaleString()} earlier messages are in the export.`),
    h('ol', { className: 'messages' }, ...request.slice(-mostMessages).map(message)),
    h('h4', {}, 'Response'),
    h('ol', { className: 'messages' }, message(response)),
  ]
}

/**
 * What the model was sent for a turn, and what it answered, by the conversation in the result.
 * @param {any} run
 * @param {number} iteration
 * @returns {{ request: any[], response: any } | undefined} Undefined where they can't be told.
 */
function conversationOf({ result }, iteration) {
  const { messages = [], newMessages = [], steps = [] } = result ?? {}
  const answers = newMessages.filter((/** @type {any} */ { role }) => role === 'assistant')
  const place = steps.findIndex((/** @type {any} */ step) => step.iteration === iteration)
  if (place < 0 || answers.length !== steps.length) return undefined
  const earlier = messages.length - newMessages.length
  const at = earlier + newMessages.indexOf(answers[place])
  return { request: messages.slice(0, at), response: messages[at] }
}

/** @param {any} one */
function message({ role, content, toolCalls = [], reasoning }) {
  const texts =
    typeof content === 'string'
      ? content
      : Array.isArray(content)
        ? content.map((piece) => piece?.text ?? `[${piece?.type}]`).join('\n')
        : ''
  return h(
    'li',
    { className: `message ${role === 'assistant' || role === 'user' ? role : ''}` },
    h('span', { className: 'muted' }, role),
    typeof reasoning === 'string' && reasoning !== '' && valueView(reasoning, 'Reasoning'),
    texts !== '' && valueView(texts, role),
    ...toolCalls.map((/** @type {any} */ call) => {
      const name = call.name ?? call.function?.name
      return [
        h('code', { className: 'call-tool' }, name),
        valueView(call.rawArguments ?? call.function?.arguments ?? call.arguments ?? {}, `Arguments of ${name}`),
      ]
    }),
  )
}

/** @param {string} label @param {unknown} value */
function part(label, value) {
  return [h('h4', {}, label), valueView(value, label)]
}
