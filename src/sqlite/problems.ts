import { type ErrorCode, messageOf, ToolloopError } from '../core/errors.ts'

/** A kind of file: its noun in error messages, and the code of its errors. */
export interface FileKind {
  /** The noun for the file, as in `The journal … can’t be used`. */
  readonly noun: string
  readonly code: ErrorCode
}

/** SQLite result codes that the owner of the file can act on. https://sqlite.org/rescode.html */
const busy = 5
const words: Readonly<Record<number, string>> = {
  3: 'this process may not open it: expected permission to read and write the file and its folder',
  [busy]: 'another process has kept it locked for longer than `busyTimeoutMs`',
  6: 'it is locked by another connection of this process',
  8: 'it is read-only: expected permission to write the file and its folder, and a writable file system',
  10: 'the disk failed, or is full',
  11: 'it is damaged: restore a copy, or save what can be read with the `.recover` command of the sqlite3 shell',
  13: 'the disk is full, or the file has reached `maxBytes`; what is recorded so far is safe',
  14: 'it can’t be opened: expected a file, or a folder in which it can be created',
  18: 'a value is larger than SQLite can hold',
  26: 'it is not an SQLite database',
}

/** Converts an error from SQLite to an error that names the file and suggests a fix. */
export function fileProblem(error: unknown, { noun, code: errorCode }: FileKind, file: string): ToolloopError {
  if (ToolloopError.isInstance(error)) return error
  const code = codeOf(error)
  const why = code === undefined ? undefined : words[code]
  const said = why === undefined ? messageOf(error) : `${why} (${messageOf(error)})`
  return new ToolloopError(errorCode, `The ${noun} \`${file}\` can’t be used: ${said}`, { cause: error })
}

/** Runs `work` and returns whether it succeeded. For cleanup after an error, where a second error is ignored. */
export function tried(work: () => void): boolean {
  try {
    work()
    return true
  } catch {
    return false
  }
}

export function isBusy(error: unknown): boolean {
  return codeOf(error) === busy
}

/** Returns SQLite's primary result code: the lowest byte of an extended code. */
function codeOf(error: unknown): number | undefined {
  const isSqlite = typeof error === 'object' && error !== null && 'errcode' in error && typeof error.errcode === 'number'
  return isSqlite ? (error.errcode as number) & 0xff : undefined
}
