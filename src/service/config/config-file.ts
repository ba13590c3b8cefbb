import { createHash } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { ToolloopError } from '../../core/errors.ts'
import type { Config } from './config.ts'
import { parseConfig } from './parse-config.ts'

const places = ['toolloop.yaml', join('config', 'toolloop.yaml')]

/**
 * Returns the path of the configuration file, relative to `folder`: `toolloop.yaml` or, if that does not exist, `config/toolloop.yaml`.
 * Returns undefined if neither exists.
 */
export async function findConfigFile(folder: string): Promise<string | undefined> {
  for (const place of places) if ((await readConfigText(join(folder, place), place)) !== undefined) return place
  return undefined
}

/**
 * Reads the configuration file of a folder. Resolves with its content and path, or with undefined if there is no file. Rejects with a
 * `ConfigError`, or with `invalid_option` if the file can't be read.
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

/** Reads a file. Resolves with undefined if the file doesn't exist. Rejects with `invalid_option` if the file can't be read. */
export async function readConfigText(path: string, shown: string = path): Promise<string | undefined> {
  return readFile(path, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT' || error.code === 'ENOTDIR') return undefined
    throw new ToolloopError('invalid_option', `${shown} can't be read: ${error.message}`, { cause: error })
  })
}

export function etagOf(text: string | undefined): string {
  return text === undefined ? '"none"' : `"${createHash('sha256').update(text).digest('base64url')}"`
}
