/** The benchmark's answers in the format of the Messages API. */

function event(data: { type: string; [field: string]: unknown }): string {
  return `event: ${data.type}\ndata: ${JSON.stringify(data)}\n\n`
}

const message = { id: 'msg_1', type: 'message', role: 'assistant', model: 'bench', stop_sequence: null }
const usage = { input_tokens: 10, output_tokens: 10 }

function start(): string {
  return event({ type: 'message_start', message: { ...message, content: [], stop_reason: null, usage } })
}

function block(index: number, content: object, deltas: readonly object[]): string {
  return [
    event({ type: 'content_block_start', index, content_block: content }),
    ...deltas.map((delta) => event({ type: 'content_block_delta', index, delta })),
    event({ type: 'content_block_stop', index }),
  ].join('')
}

function end(reason: string): string {
  return event({ type: 'message_delta', delta: { stop_reason: reason, stop_sequence: null }, usage }) + event({ type: 'message_stop' })
}

const text = { type: 'text', text: '' }
const textDelta = (piece: string) => ({ type: 'text_delta', text: piece })

/** A streamed turn: the words, and a call where there are arguments in pieces. */
export function anthropicTurn(words: readonly string[], call?: { id: string; name: string; json: readonly string[] }): string {
  const said = start() + block(0, text, words.map(textDelta))
  if (call === undefined) return said + end('end_turn')
  const { id, name, json } = call
  const deltas = json.map((piece) => ({ type: 'input_json_delta', partial_json: piece }))
  return said + block(1, { type: 'tool_use', id, name, input: {} }, deltas) + end('tool_use')
}

/** One text in very many equal pieces. */
export function anthropicText(piece: string, pieces: number): Buffer {
  const delta = event({ type: 'content_block_delta', index: 0, delta: textDelta(piece) })
  const begin = event({ type: 'content_block_start', index: 0, content_block: text })
  return Buffer.from(`${start()}${begin}${delta.repeat(pieces)}${event({ type: 'content_block_stop', index: 0 })}${end('end_turn')}`)
}
