/** The benchmark's answers in the format of generateContent, with what real ones carry in every chunk. */

/** `tokens`: how many have been written so far, as every chunk says. */
function event(parts: readonly object[], tokens: number, finish?: object): string {
  const chunk = {
    candidates: [{ content: { parts, role: 'model' }, ...finish, index: 0 }],
    usageMetadata: {
      promptTokenCount: 10,
      candidatesTokenCount: tokens,
      totalTokenCount: 10 + tokens,
      promptTokensDetails: [{ modality: 'TEXT', tokenCount: 10 }],
    },
    modelVersion: 'gemini-bench',
    responseId: 'response-1',
  }
  return `data: ${JSON.stringify(chunk)}\r\n\r\n`
}

function end(tokens: number): string {
  return event([{ text: '' }], tokens, { finishReason: 'STOP' })
}

/** A streamed turn: the words, and a call where there is one. */
export function googleTurn(words: readonly string[], call?: { name: string; args: object }): string {
  const said = words.map((text, at) => event([{ text }], at + 1)).join('')
  const called = call === undefined ? '' : event([{ functionCall: call, thoughtSignature: 'c2lnbmF0dXJl' }], words.length + 1)
  return said + called + end(words.length + 2)
}

/** One text in very many equal pieces, each chunk with its own count. */
export function googleText(piece: string, pieces: number): Buffer {
  const chunks = Array.from({ length: pieces }, (_, at) => event([{ text: piece }], at + 1))
  return Buffer.from(chunks.join('') + end(pieces))
}
