/** The provider of the benchmark: a process of its own that answers from bytes made beforehand, so that its cost is not the client's. */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { anthropicText, anthropicTurn } from './anthropic-server.ts'
import { googleText, googleTurn } from './google-server.ts'

const textPiece = 'abcd'
export const textPieces = 262_144 // 1 MB in 4-character pieces
export const argumentPieces = 65_536 // 1 MB in 16-character pieces
const argumentPiece = '0123456789abcdef'

function event(delta: object, finish: string | null = null): string {
  const chunk = {
    id: 'chatcmpl-1',
    object: 'chat.completion.chunk',
    created: 1,
    model: 'bench',
    choices: [{ index: 0, delta, finish_reason: finish }],
  }
  return `data: ${JSON.stringify(chunk)}\n\n`
}

const usage = { prompt_tokens: 20, completion_tokens: 10, total_tokens: 30 }
const usageEvent = `data: ${JSON.stringify({ id: 'chatcmpl-1', object: 'chat.completion.chunk', created: 1, model: 'bench', choices: [], usage })}\n\n`

function callDelta(json: string, first?: { id: string; name: string }, index = 0): object {
  return first === undefined
    ? { tool_calls: [{ index, function: { arguments: json } }] }
    : { tool_calls: [{ index, id: first.id, type: 'function', function: { name: first.name, arguments: json } }] }
}

const done = `${usageEvent}data: [DONE]\n\n`
const words = 'Let me look that up before I answer, one moment please. '.split(/(?<= )/)

/** One turn as models make it: a few words, a call in a handful of deltas. */
function callTurn(round: number): string {
  const id = `call_${round}`
  return [
    event({ role: 'assistant', content: '' }),
    ...words.map((content) => event({ content })),
    event(callDelta('', { id, name: 'add' })),
    ...['{"a"', ':', `${round}`, ',"b"', ':1', '}'].map((json) => event(callDelta(json))),
    event({}, 'tool_calls'),
    done,
  ].join('')
}

/** One turn that calls so many tools at once. */
function parallelTurn(count: number): string {
  const calls = Array.from({ length: count }, (_, index) => [
    event(callDelta('', { id: `call_${index}`, name: 'add' }, index)),
    ...['{"a"', ':', `${index}`, ',"b"', ':1', '}'].map((json) => event(callDelta(json, undefined, index))),
  ])
  return [event({ role: 'assistant', content: '' }), ...calls.flat(), event({}, 'tool_calls'), done].join('')
}

const answerTurn = [event({ role: 'assistant', content: '' }), ...words.map((content) => event({ content })), event({}, 'stop'), done].join(
  '',
)
const textTurn = Buffer.from(
  `${event({ role: 'assistant', content: '' })}${event({ content: textPiece }).repeat(textPieces)}${event({}, 'stop')}${done}`,
)
const argumentsTurn = Buffer.from(
  `${event(callDelta('{"text":"', { id: 'call_0', name: 'store' }))}${event(callDelta(argumentPiece)).repeat(argumentPieces)}${event(callDelta('"}'))}${event({}, 'tool_calls')}${done}`,
)

function whole(message: object, finish: string): string {
  return JSON.stringify({
    id: 'chatcmpl-1',
    object: 'chat.completion',
    created: 1,
    model: 'bench',
    choices: [{ index: 0, message: { role: 'assistant', ...message }, finish_reason: finish }],
    usage,
  })
}

function wholeCall(index: number): object {
  return { id: `call_${index}`, type: 'function', function: { name: 'add', arguments: JSON.stringify({ a: index, b: 1 }) } }
}

function wholeParallel(count: number): string {
  return whole({ content: null, tool_calls: Array.from({ length: count }, (_, index) => wholeCall(index)) }, 'tool_calls')
}

function wholeTurn(round: number, rounds: number): string {
  if (round >= rounds) return whole({ content: words.join('') }, 'stop')
  return whole({ content: words.join(''), tool_calls: [wholeCall(round)] }, 'tool_calls')
}

function count(body: string, needle: string): number {
  let found = 0
  for (let at = body.indexOf(needle); at !== -1; at = body.indexOf(needle, at + needle.length)) found++
  return found
}

const anthropicTextTurn = anthropicText(textPiece, textPieces)

function answerAnthropic(scenario: string, rounds: number, round: number): string | Buffer {
  if (scenario === 'text') return anthropicTextTurn
  if (round >= rounds) return anthropicTurn(words)
  return anthropicTurn(words, { id: `toolu_${round}`, name: 'add', json: ['{"a"', ':', `${round}`, ',"b"', ':1', '}'] })
}

const googleTextTurn = googleText(textPiece, textPieces)

function answerGoogle(scenario: string, rounds: number, round: number): string | Buffer {
  if (scenario === 'text') return googleTextTurn
  return round >= rounds ? googleTurn(words) : googleTurn(words, { name: 'add', args: { a: round, b: 1 } })
}

/** `/SCENARIO/ROUNDS/…`, the path of the API last; `think-200` is a model that thinks for 200 ms. Which round a request is at shows in the results it carries. */
function answer(url: string, body: string): string | Buffer {
  const [, scenario = '', rounds = '0'] = url.split('/')
  if (url.endsWith('/v1/messages')) return answerAnthropic(scenario, Number(rounds), count(body, '"type":"tool_result"'))
  if (url.includes(':streamGenerateContent')) return answerGoogle(scenario, Number(rounds), count(body, '"functionResponse":'))
  const round = count(body, '"role":"tool"')
  switch (scenario) {
    case 'whole':
      return wholeTurn(round, Number(rounds))
    case 'parallel':
      return round === 0 ? parallelTurn(Number(rounds)) : answerTurn
    case 'whole-parallel':
      return round === 0 ? wholeParallel(Number(rounds)) : wholeTurn(1, 1)
    case 'text':
      return textTurn
    case 'arguments':
      return round === 0 ? argumentsTurn : answerTurn
    default:
      return round < Number(rounds) ? callTurn(round) : answerTurn
  }
}

let served = 0

/** Clients take responses with the same id to be the same. */
function withId(response: string | Buffer): string | Buffer {
  return typeof response === 'string' ? response.replaceAll('chatcmpl-1"', `chatcmpl-${++served}"`) : response
}

function serve(request: IncomingMessage, response: ServerResponse): void {
  const pieces: Buffer[] = []
  request.on('data', (piece: Buffer) => pieces.push(piece))
  request.on('end', () => {
    const url = request.url ?? ''
    response.setHeader('content-type', url.startsWith('/whole') ? 'application/json' : 'text/event-stream')
    const body = Buffer.concat(pieces).toString()
    const [, thinkMs] = /^\/think-(\d+)\//.exec(url) ?? []
    if (thinkMs === undefined) response.end(withId(answer(url, body)))
    else setTimeout(() => response.end(withId(answer(url, body))), Number(thinkMs))
  })
}

if (process.argv[1] === import.meta.filename) {
  const server = createServer(serve)
  server.keepAliveTimeout = 60_000
  server.listen(0, '127.0.0.1', 2048, () => process.send?.((server.address() as AddressInfo).port))
  process.on('disconnect', () => process.exit(0))
}
