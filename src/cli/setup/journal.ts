import { existsSync } from 'node:fs'
import { resolve } from 'node:path'
import type { Journal } from '../../agent/durable/journal.ts'
import { ToolloopError } from '../../core/errors.ts'
import type { Flags } from '../flags.ts'
import type { CliIO } from '../terminal/terminal.ts'

/** A journal that a command has opened. */
export interface OpenJournal {
  journal: Journal
  /** Resolves when nothing of it is left: no lock, no thread. */
  close(): Promise<void>
}

/** The journal of `--journal`, or of `TOOLLOOP_JOURNAL`; undefined without either: then nothing is recorded. The file is made if it is not there. */
export async function openJournal({ journal: given }: Flags, { cwd, env }: CliIO): Promise<OpenJournal | undefined> {
  const file = given ?? env.TOOLLOOP_JOURNAL
  if (file === undefined || file === '') return undefined
  const { sqliteJournal } = await import('../../journals/sqlite/index.ts')
  const journal = sqliteJournal({ file: resolve(cwd, file) })
  return { journal, close: () => journal.close() }
}

/** The same of a file that is there. Rejects with `invalid_option`. */
export async function openExistingJournal(flags: Flags, io: CliIO): Promise<OpenJournal> {
  const file = flags.journal ?? io.env.TOOLLOOP_JOURNAL ?? ''
  if (file === '' || !existsSync(resolve(io.cwd, file))) {
    const got = file === '' ? 'neither it nor TOOLLOOP_JOURNAL' : `${file}, which is not there`
    throw new ToolloopError(
      'invalid_option',
      `Expected \`--journal\` to name the file in which \`toolloop run\` recorded its runs, got ${got}`,
    )
  }
  const opened = await openJournal(flags, io)
  if (opened === undefined) throw new ToolloopError('invalid_option', 'Expected `--journal` to name a file')
  return opened
}

/** The command that decides a run, with the options of the command that has started it. */
export function decideCommand(runId: string, flags: Flags): string {
  const { model, baseUrl, tools = [], builtinTools, workspace, skills = [], unsandboxed, toolCalling, instructions, journal } = flags
  const values = { model, 'base-url': baseUrl, workspace, 'tool-calling': toolCalling, instructions, journal }
  const options = [
    ...Object.entries(values).flatMap(([name, value]) => (value === undefined ? [] : [`--${name}`, value])),
    ...tools.flatMap((file) => ['--tools', file]),
    ...skills.flatMap((folder) => ['--skills', folder]),
    ...(builtinTools ? [] : ['--no-builtin-tools']),
    ...(unsandboxed ? ['--unsandboxed'] : []),
  ]
  return ['toolloop runs decide', runId, ...options.map(shellWord)].join(' ')
}

/** A word as a shell reads it back. */
export function shellWord(text: string): string {
  return /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`
}
