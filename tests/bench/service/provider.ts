/**
 * The provider of `npm run bench:service`, in a process of its own: Chat Completions and Responses, whole and streamed, answered from texts
 * made beforehand. A streamed answer arrives a word at a time. The beginning of the path says what it answers:
 * `/call` calls the tool `add` first, `/ask` the tool `refund`, and `/hold` never gets beyond its first word.
 */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setImmediate as nextTurn } from 'node:timers/promises'

const model = 'bench'
const text = 'Let me look that up before I answer, one moment please. It is fine.'
const words = text.split(/(?<= )/)
const usage = { prompt_tokens: 20, completion_tokens: 10, total_tokens: 30 }

interface Answer {
  whole: string
  pieces: string[]
}

function chatAnswer(tool?: string): Answer {
  const head = { id: 'chatcmpl-1', created: 1_765_000_000, model }
  const call = { id: 'call_1', type: 'function', function: { name: tool, arguments: '{"a":1,"b":2}' } }
  const message = tool === undefined ? { role: 'assistant', content: text } : { role: 'assistant', content: null, tool_calls: [call] }
  const finish = tool === undefined ? 'stop' : 'tool_calls'
  const deltas: object[] = tool === undefined ? words.map((content) => ({ content })) : [{ tool_calls: [{ index: 0, ...call }] }]
  const chunk = (delta: object, finishReason: string | null = null) =>
    sse({ ...head, object: 'chat.completion.chunk', choices: [{ index: 0, delta, finish_reason: finishReason }] })
  const last = sse({ ...head, object: 'chat.completion.chunk', choices: [], usage })
  return {
    whole: JSON.stringify({ ...head, object: 'chat.completion', choices: [{ index: 0, message, finish_reason: finish }], usage }),
    pieces: [
      chunk({ role: 'assistant', content: '' }),
      ...deltas.map((delta) => chunk(delta)),
      chunk({}, finish),
      `${last}data: [DONE]\n\n`,
    ],
  }
}

function responsesAnswer(): Answer {
  const part = { type: 'output_text', annotations: [], text }
  const item = { id: 'msg_1', type: 'message', status: 'completed', role: 'assistant', content: [part] }
  const head = { id: 'resp_1', object: 'response', created_at: 1_765_000_000, model, error: null, store: false }
  const counted = { input_tokens: 20, output_tokens: 10, total_tokens: 30 }
  const done = { ...head, status: 'completed', output: [item], usage: counted }
  const place = { item_id: 'msg_1', output_index: 0, content_index: 0 }
  const events: { type: string; [field: string]: unknown }[] = [
    { type: 'response.created', response: { ...head, status: 'in_progress', output: [], usage: null } },
    { type: 'response.output_item.added', output_index: 0, item: { ...item, status: 'in_progress', content: [] } },
    { type: 'response.content_part.added', ...place, part: { ...part, text: '' } },
    ...words.map((delta) => ({ type: 'response.output_text.delta', ...place, delta })),
    { type: 'response.output_text.done', ...place, text },
    { type: 'response.content_part.done', ...place, part },
    { type: 'response.output_item.done', output_index: 0, item },
    { type: 'response.completed', response: done },
  ]
  return {
    whole: JSON.stringify(done),
    pieces: events.map((event, at) => `event: ${event.type}\n${sse({ ...event, sequence_number: at })}`),
  }
}

function sse(data: object): string {
  return `data: ${JSON.stringify(data)}\n\n`
}

const answers = { text: chatAnswer(), add: chatAnswer('add'), refund: chatAnswer('refund'), responses: responsesAnswer() }

function answerTo(url: string, body: string): Answer {
  if (url.endsWith('/responses')) return answers.responses
  if (body.includes('"role":"tool"')) return answers.text
  return url.startsWith('/call/') ? answers.add : url.startsWith('/ask/') ? answers.refund : answers.text
}

async function respond(request: IncomingMessage, response: ServerResponse): Promise<void> {
  let body = ''
  for await (const piece of request.setEncoding('utf8')) body += piece
  const url = request.url ?? ''
  const { whole, pieces } = answerTo(url, body)
  if (!/"stream":\s*true/.test(body)) {
    response.setHeader('content-type', 'application/json')
    response.end(whole)
    return
  }
  response.setHeader('content-type', 'text/event-stream')
  const holds = url.startsWith('/hold/')
  for (const piece of holds ? pieces.slice(0, 2) : pieces) {
    response.write(piece)
    await nextTurn()
  }
  if (!holds) response.end()
}

const server = createServer((request, response) => void respond(request, response))
server.keepAliveTimeout = 60_000
server.listen(0, '127.0.0.1', 2048, () => process.send?.((server.address() as AddressInfo).port))
process.on('disconnect', () => process.exit(0))
