import { appendFile, mkdir, open, readFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { replaceFile } from '../../../core/files/replace-file.ts'
import { redactText } from '../../../core/redaction/redact.ts'
import type { CliIO } from '../terminal.ts'

/** How many prompts are kept, and how long one may be. */
const mostPrompts = 1_000
const longestPrompt = 16_384
/** A file that is longer is not this program's. */
const longestFile = 4 * mostPrompts * longestPrompt

/**
 * The prompts of all chats of a user, the oldest first, in a file that is for its owner alone. A prompt that begins with a space, or has
 * something that looks like a key in it, is remembered until the chat ends, and not written.
 */
export class PromptHistory {
  readonly prompts: string[]
  /** Undefined: nothing is written. */
  #file: string | undefined
  readonly #onProblem: (error: unknown) => void

  constructor(prompts: readonly string[] = [], file?: string, onProblem: (error: unknown) => void = () => {}) {
    this.prompts = [...prompts]
    this.#file = file
    this.#onProblem = onProblem
  }

  /** Resolves when it is written. Never rejects: `onProblem` is told once, and nothing more is written. */
  async add(prompt: string): Promise<void> {
    if (prompt.trim() === '' || prompt === this.prompts.at(-1)) return
    this.prompts.push(prompt)
    if (this.#file === undefined || /^\s/.test(prompt) || prompt.length > longestPrompt || redactText(prompt) !== prompt) return
    try {
      // One write, so that two chats at once don't mix their lines.
      await appendFile(this.#file, `${JSON.stringify(prompt)}\n`, { mode: 0o600 })
    } catch (error) {
      this.#file = undefined
      this.#onProblem(error)
    }
  }
}

/**
 * The history in the file of `TOOLLOOP_HISTORY`, else in `toolloop/history` of `XDG_STATE_HOME`, else in `~/.toolloop/history`; with an empty
 * `TOOLLOOP_HISTORY`, or nowhere to keep it, one that is not written. The file is cut to its newest prompts. Never rejects: `onProblem` is told.
 */
export async function openPromptHistory({ env }: Pick<CliIO, 'env'>, onProblem: (error: unknown) => void): Promise<PromptHistory> {
  const file = fileOf(env)
  if (file === undefined) return new PromptHistory()
  try {
    await mkdir(dirname(file), { recursive: true, mode: 0o700 })
    // Made for its owner alone, and checked to be writable, before anything is in it.
    const handle = await open(file, 'a', 0o600)
    const stats = await handle.stat()
    // `/dev/null` stays as it is for everybody else.
    if (stats.isFile() && (stats.mode & 0o077) !== 0) await handle.chmod(0o600)
    await handle.close()
    if (!stats.isFile()) return new PromptHistory()
    const { size } = stats
    const lines = size > longestFile ? [] : (await readFile(file, 'utf8')).split('\n').filter((line) => line !== '')
    const prompts = lines.flatMap(readPrompt)
    if (lines.length > 2 * mostPrompts || size > longestFile) await replaceFile(file, lines.slice(-mostPrompts).join('\n').concat('\n'))
    return new PromptHistory(prompts.slice(-mostPrompts), file, onProblem)
  } catch (error) {
    onProblem(error)
    return new PromptHistory()
  }
}

function fileOf({ TOOLLOOP_HISTORY: named, XDG_STATE_HOME: state, HOME: home }: CliIO['env']): string | undefined {
  if (named !== undefined) return named === '' ? undefined : named
  if (state) return join(state, 'toolloop', 'history')
  return home ? join(home, '.toolloop', 'history') : undefined
}

/** A line that was cut by a crash is passed over. */
function readPrompt(line: string): string[] {
  try {
    const prompt: unknown = JSON.parse(line)
    return typeof prompt === 'string' ? [prompt] : []
  } catch {
    return []
  }
}
