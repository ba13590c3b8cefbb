import { addAbortSignal } from 'node:stream'
import { ToolloopError } from '../errors.ts'
import type { CliIO } from './terminal.ts'

/**
 * The prompt: the words of the command line, or stdin when they are `-`, or when there are none and stdin is not a terminal. Input is read
 * as UTF-8 up to its end. Rejects with `invalid_option` when there is no prompt.
 */
export async function readPrompt(words: readonly string[], stdin: CliIO['stdin'], signal: AbortSignal): Promise<string> {
  const fromStdin = words.length === 1 && words[0] === '-'
  if (words.length > 0 && !fromStdin) return checkPrompt(words.join(' '), 'an empty text')
  if (!fromStdin && stdin.isTTY)
    throw new ToolloopError('invalid_option', 'Expected a prompt, got none. Try `toolloop "What is in this folder?"` or `toolloop chat`')
  let text = ''
  const input = addAbortSignal(signal, stdin)
  input.setEncoding('utf8')
  for await (const chunk of input) text += chunk
  return checkPrompt(text.replace(/\r?\n$/, ''), 'nothing on standard input')
}

function checkPrompt(prompt: string, otherwise: string): string {
  if (prompt.trim() === '') throw new ToolloopError('invalid_option', `Expected a prompt, got ${otherwise}`)
  return prompt
}
