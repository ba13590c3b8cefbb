import type { ServerResponse } from 'node:http'
import type { JsonObject } from '../../src/core/messages.ts'
import { chunk, completion, eventStream, events, type LocalServer, startServer } from '../models/local-server.ts'

interface WireAnswer {
  text?: string
  calls?: { id: string; name: string; args: JsonObject }[]
  /** The provider's finish reason. */
  finish?: string
}

/** One of the four APIs: a provider that speaks it, and how a server answers there in a stream. `size`: characters in a piece of text. */
export interface Wire {
  provider: string
  answer(answer: WireAnswer, size?: number): string
  /** The same as one JSON value. */
  whole(answer: WireAnswer): string
}

const inPieces = (text: string, size: number): string[] => text.match(new RegExp(`[\\s\\S]{1,${size}}`, 'g')) ?? []

const named = (...list: JsonObject[]): string => list.map((event) => `event: ${event.type}\n${events(event)}`).join('')

type Calls = NonNullable<WireAnswer['calls']>

function outputItems(text: string, calls: Calls): JsonObject[] {
  const message = { type: 'message', id: 'msg', role: 'assistant', status: 'completed', content: [{ type: 'output_text', text }] }
  const items = calls.map(({ id, name, args }) => ({
    type: 'function_call',
    id: `fc_${id}`,
    call_id: id,
    name,
    arguments: JSON.stringify(args),
    status: 'completed',
  }))
  return [...(text === '' ? [] : [message]), ...items]
}

function candidate(parts: JsonObject[], finishReason?: string): JsonObject {
  const content = { role: 'model', parts }
  return { candidates: [{ index: 0, content, ...(finishReason === undefined ? {} : { finishReason }) }] }
}

function callParts(calls: Calls): JsonObject[] {
  return calls.map(({ id, name, args }) => ({ functionCall: { id, name, args } }))
}

export const wires: readonly Wire[] = [
  {
    provider: 'custom',
    answer: ({ text = '', calls = [], finish = calls.length > 0 ? 'tool_calls' : 'stop' }, size = 1000) =>
      events(
        ...inPieces(text, size).map((content) => chunk({ content })),
        ...calls.map(({ id, name, args }, index) =>
          chunk({ tool_calls: [{ index, id, type: 'function', function: { name, arguments: JSON.stringify(args) } }] }),
        ),
        chunk({}, finish),
        '[DONE]',
      ),
    whole: ({ text = '', calls = [], finish = calls.length > 0 ? 'tool_calls' : 'stop' }) => {
      const called = calls.map(({ id, name, args }) => ({ id, type: 'function', function: { name, arguments: JSON.stringify(args) } }))
      return JSON.stringify(completion({ content: text, ...(calls.length === 0 ? {} : { tool_calls: called }) }, finish))
    },
  },
  {
    provider: 'anthropic-compatible',
    answer: ({ text = '', calls = [], finish = calls.length > 0 ? 'tool_use' : 'end_turn' }, size = 1000) =>
      named(
        { type: 'message_start', message: { id: 'm', type: 'message', role: 'assistant', model: 'm', content: [], usage: {} } },
        ...(text === ''
          ? []
          : [
              { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
              ...inPieces(text, size).map((piece) => ({
                type: 'content_block_delta',
                index: 0,
                delta: { type: 'text_delta', text: piece },
              })),
              { type: 'content_block_stop', index: 0 },
            ]),
        ...calls.flatMap(({ id, name, args }, at): JsonObject[] => [
          { type: 'content_block_start', index: at + 1, content_block: { type: 'tool_use', id, name, input: {} } },
          { type: 'content_block_delta', index: at + 1, delta: { type: 'input_json_delta', partial_json: JSON.stringify(args) } },
          { type: 'content_block_stop', index: at + 1 },
        ]),
        { type: 'message_delta', delta: { stop_reason: finish }, usage: { output_tokens: 1 } },
        { type: 'message_stop' },
      ),
    whole: ({ text = '', calls = [], finish = calls.length > 0 ? 'tool_use' : 'end_turn' }) => {
      const uses = calls.map(({ id, name, args }) => ({ type: 'tool_use', id, name, input: args }))
      const content = [...(text === '' ? [] : [{ type: 'text', text }]), ...uses]
      return JSON.stringify({ id: 'm', type: 'message', role: 'assistant', model: 'm', content, stop_reason: finish, usage: {} })
    },
  },
  {
    provider: 'responses-compatible',
    answer: ({ text = '', calls = [] }, size = 1000) => {
      const output = outputItems(text, calls)
      return named(
        { type: 'response.created', response: { id: 'r', model: 'm', status: 'in_progress', output: [] } },
        ...output.flatMap((item, at): JsonObject[] => [
          {
            type: 'response.output_item.added',
            output_index: at,
            item: item.type === 'message' ? { ...item, content: [] } : { ...item, arguments: '' },
          },
          ...(item.type === 'message'
            ? inPieces(text, size).map((delta) => ({
                type: 'response.output_text.delta',
                output_index: at,
                content_index: 0,
                item_id: 'msg',
                delta,
              }))
            : []),
          { type: 'response.output_item.done', output_index: at, item },
        ]),
        { type: 'response.completed', response: { id: 'r', model: 'm', status: 'completed', output } },
      )
    },
    whole: ({ text = '', calls = [] }) =>
      JSON.stringify({ id: 'r', object: 'response', model: 'm', status: 'completed', output: outputItems(text, calls) }),
  },
  {
    provider: 'google',
    answer: ({ text = '', calls = [], finish = 'STOP' }, size = 1000) =>
      events(...inPieces(text, size).map((piece) => candidate([{ text: piece }])), candidate(callParts(calls), finish)),
    whole: ({ text = '', calls = [], finish = 'STOP' }) =>
      JSON.stringify(candidate([...(text === '' ? [] : [{ text }]), ...callParts(calls)], finish)),
  },
]

/** A server that sends these bodies in order, and then repeats the last one. */
export function serve(...bodies: string[]): Promise<LocalServer> {
  return startServer((response: ServerResponse, _request, index) => {
    const body = bodies[Math.min(index, bodies.length - 1)] ?? ''
    if (body.startsWith('{')) response.writeHead(200, { 'content-type': 'application/json' }).end(body)
    else eventStream(response).end(body)
  })
}
