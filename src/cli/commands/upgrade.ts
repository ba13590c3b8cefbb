import { resolve } from 'node:path'
import { ToolloopError } from '../../core/errors.ts'
import { findConfigFile, readConfigText } from '../../service/config/config-file.ts'
import { parseConfig } from '../../service/config/parse-config.ts'
import { EXIT_OK } from '../exit-codes.ts'
import type { Flags } from '../flags.ts'
import { plural } from '../terminal/render.ts'
import { type CliIO, Terminal } from '../terminal/terminal.ts'

/** `toolloop upgrade`: brings what an earlier version has stored up to date. Resolves with the exit code; rejects where nothing can be done. */
export async function upgrade(flags: Flags, io: CliIO): Promise<number> {
  const terminal = new Terminal(io)
  const { cwd, env } = io
  const file = resolve(cwd, flags.config ?? (await findConfigFile(cwd)) ?? 'toolloop.yaml')
  const text = await readConfigText(file)
  if (text === undefined) throw new ToolloopError('invalid_option', `Expected a configuration file, found none at ${file}`)
  const { config } = await parseConfig(text, file, env)
  const folder = config.service?.keepRuns?.folder
  if (folder === undefined)
    throw new ToolloopError('invalid_option', `Expected ${file} to name a folder of runs, \`service.keepRuns.folder\``)
  const { upgradeRuns } = await import('../../service/runs/earlier/upgrade-runs.ts')
  const { upgraded, unreadable, movedTo } = await upgradeRuns(resolve(cwd, folder))
  if (upgraded === 0 && unreadable.length === 0) {
    terminal.say(`There is nothing to move: no runs of an earlier version are in ${resolve(cwd, folder)}.`)
    return EXIT_OK
  }
  for (const { name, why } of unreadable) terminal.note(`${name} is not readable, and was left out: ${why}`)
  terminal.say(
    `${plural(upgraded, 'run')} moved into the journal. Their files are in ${movedTo}: delete them when you don't need them any more.`,
  )
  return EXIT_OK
}
