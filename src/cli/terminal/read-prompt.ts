import { addAbortSignal } from 'node:stream'
import { ToolloopError } from '../../core/errors.ts'
import type { CliIO } from './terminal.ts'

/**
 * The prompt: the words of the command line, or stdin when they are `-`, or when there are none and stdin is not a terminal. Input is read
 * as UTF-8 up to its end. Rejects with `invalid_option`, and examples, when there is no prompt.
 */
export async function readPrompt(
  words: readonly string[],
  { stdin, env }: Pick<CliIO, 'stdin' | 'env'>,
  signal: AbortSignal,
): Promise<string> {
  const fromStdin = words.length === 1 && words[0] === '-'
  if (words.length > 0 && !fromStdin) return checkPrompt(words.join(' '), 'an empty text', env)
  if (!fromStdin && stdin.isTTY) return checkPrompt('', 'none', env)
  let text = ''
  const input = addAbortSignal(signal, stdin)
  input.setEncoding('utf8')
  for await (const chunk of input) text += chunk
  return checkPrompt(text.replace(/\r?\n$/, ''), 'nothing on standard input', env)
}

function checkPrompt(prompt: string, otherwise: string, env: CliIO['env']): string {
  if (prompt.trim() !== '') return prompt
  const command = commandOf(env)
  const examples = [`${command} "What is 17 * 23?"`, `echo "What time is it in Tokyo?" | ${command.replace(/ --$/, '')}`]
  throw new ToolloopError('invalid_option', `Expected a prompt, got ${otherwise}. Try:\n${examples.map((line) => `  ${line}`).join('\n')}`)
}

/** How this program was started, so that the examples work as they stand. */
function commandOf({ npm_lifecycle_event: script }: CliIO['env']): string {
  if (script === 'start') return 'npm start --'
  return script === 'npx' ? 'npx toolloop' : 'toolloop'
}
