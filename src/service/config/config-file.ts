import { createHash } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { ToolloopError } from '../../core/errors.ts'
import type { Config } from './config.ts'
import { parseConfig } from './parse-config.ts'

const places = ['toolloop.yaml', join('config', 'toolloop.yaml')]

/** The first of `toolloop.yaml` and `config/toolloop.yaml` there is in `folder`, by its path from there; undefined without one. */
export async function findConfigFile(folder: string): Promise<string | undefined> {
  for (const place of places) if ((await readConfigText(join(folder, place), place)) !== undefined) return place
  return undefined
}

/**
 * What the configuration file of a folder says, and which file it was; undefined without one. Rejects with a `ConfigError`, or with
 * `invalid_option` for a file that can't be read.
 */
export async function readConfig(
  folder: string,
  env: Readonly<Record<string, string | undefined>>,
): Promise<(Config & { file: string }) | undefined> {
  const file = await findConfigFile(folder)
  if (file === undefined) return undefined
  const { config } = await parseConfig((await readConfigText(join(folder, file), file)) ?? '', file, env)
  return { ...config, file }
}

/** The text of a file; undefined when there is none. Rejects with `invalid_option` for one that can't be read. */
export async function readConfigText(path: string, shown: string = path): Promise<string | undefined> {
  return readFile(path, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT' || error.code === 'ENOTDIR') return undefined
    throw new ToolloopError('invalid_option', `${shown} can't be read: ${error.message}`, { cause: error })
  })
}

/** Names a file's content; two contents have two. */
export function etagOf(text: string | undefined): string {
  return text === undefined ? '"none"' : `"${createHash('sha256').update(text).digest('base64url')}"`
}
