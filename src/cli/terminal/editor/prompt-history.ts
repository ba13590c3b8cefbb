import { appendFile, mkdir, open, readFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { replaceFile } from '../../../core/files/replace-file.ts'
import { redactText } from '../../../core/redaction/redact.ts'
import type { CliIO } from '../terminal.ts'

/** Maximum number of prompts, and maximum length of one prompt. */
const mostPrompts = 1_000
const longestPrompt = 16_384
/** Maximum size of the file in bytes. A larger file was not written by this program. */
const longestFile = 4 * mostPrompts * longestPrompt

/**
 * The prompts of a user's chats, oldest first. They are stored in a file that only the owner can read. A prompt that starts with a space or
 * seems to contain a key is not written to the file.
 */
export class PromptHistory {
  readonly prompts: string[]
  /** The path of the file. Undefined if prompts are not written. */
  #file: string | undefined
  readonly #onProblem: (error: unknown) => void

  constructor(prompts: readonly string[] = [], file?: string, onProblem: (error: unknown) => void = () => {}) {
    this.prompts = [...prompts]
    this.#file = file
    this.#onProblem = onProblem
  }

  /** Adds a prompt. Resolves when it is written to the file. Never rejects: on the first error, calls `onProblem` and stops writing. */
  async add(prompt: string): Promise<void> {
    if (prompt.trim() === '' || prompt === this.prompts.at(-1)) return
    this.prompts.push(prompt)
    if (this.#file === undefined || /^\s/.test(prompt) || prompt.length > longestPrompt || redactText(prompt) !== prompt) return
    try {
      // The whole line is written with one call, so that the lines of two chats don't mix.
      await appendFile(this.#file, `${JSON.stringify(prompt)}\n`, { mode: 0o600 })
    } catch (error) {
      this.#file = undefined
      this.#onProblem(error)
    }
  }
}

/**
 * Opens the history: the file of `TOOLLOOP_HISTORY`, or `toolloop/history` in `XDG_STATE_HOME`, or `~/.toolloop/history`. The history is
 * not written if `TOOLLOOP_HISTORY` is empty, or if none of these places is known. Truncates the file to its newest prompts. Never rejects:
 * calls `onProblem` instead.
 */
export async function openPromptHistory({ env }: Pick<CliIO, 'env'>, onProblem: (error: unknown) => void): Promise<PromptHistory> {
  const file = fileOf(env)
  if (file === undefined) return new PromptHistory()
  try {
    await mkdir(dirname(file), { recursive: true, mode: 0o700 })
    // Opens the file before anything is written, to check that it is writable. A new file is accessible only to its owner.
    const handle = await open(file, 'a', 0o600)
    const stats = await handle.stat()
    // Only a regular file is made private: `/dev/null`, for example, must stay accessible to everyone.
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

/** Reads a prompt from a line of the file. Skips an incomplete line, which a crash may have left. */
function readPrompt(line: string): string[] {
  try {
    const prompt: unknown = JSON.parse(line)
    return typeof prompt === 'string' ? [prompt] : []
  } catch {
    return []
  }
}
