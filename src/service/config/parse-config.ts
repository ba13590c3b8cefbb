import type { Document } from 'yaml'
import { messageOf } from '../../core/errors.ts'
import { isJsonObject, type Json } from '../../core/messages.ts'
import { readDocument } from '../../tools/read-document.ts'
import { checkByField, type SchemaCheck } from '../http/check-schema.ts'
import { objectionTo } from '../http/read-body.ts'
import type { Config } from './config.ts'
import { ConfigError, type Place } from './config-error.ts'
import { configSchema } from './config-schema.ts'
import { excerptOf, findInlineSecrets } from './inline-secrets.ts'
import { interpolate } from './interpolate.ts'

export interface ParsedConfig {
  /** The configuration after environment variables are substituted. It may contain secrets and must not be shown to clients. */
  config: Config
  /** The configuration before environment variables are substituted. */
  raw: Json
  document: Document
}

/** Maximum length of the file, in characters. No file that is written by hand is longer. */
const mostCharacters = 200_000
const mostVariables = 1_000
/** Maximum number of resolved aliases. A few lines of nested aliases can expand to gigabytes. */
export const mostAliases = 200

let check: SchemaCheck | undefined

/** Parses and validates a configuration. Rejects with a `ConfigError` that names `file` and lists all problems. */
export async function parseConfig(text: string, file: string, env: Readonly<Record<string, string | undefined>>): Promise<ParsedConfig> {
  const { document, raw } = await readYaml(text, file)
  const { value, problems } = interpolate(raw, env)
  check ??= checkByField(configSchema)
  let misfits = check(value, { all: true })
  if (misfits.filter(({ path }) => readAsWritten(value, raw, path)).length > 0) misfits = check(value, { all: true })
  // A value with a missing variable can't be validated.
  const unknown = new Set(problems.flatMap(({ path }) => withParents(path)))
  const all = [...findInlineSecrets(raw), ...problems, ...misfits.filter(({ path }) => !unknown.has(path))]
  if (all.length > 0) throw new ConfigError(file, all)
  return { config: value as Config, raw, document }
}

function withParents(path: string): string[] {
  const keys = path.split('/')
  return keys.map((_, at) => keys.slice(0, at + 1).join('/'))
}

/** If the text at `path` comes from a single variable, converts it to a number or a boolean. Returns whether it was converted. */
function readAsWritten(value: Json, raw: Json, path: string): boolean {
  const keys = path
    .slice(1)
    .split('/')
    .map((key) => key.replaceAll('~1', '/').replaceAll('~0', '~'))
  const last = keys.pop() ?? ''
  const holder = keys.reduce<Json | undefined>(at, value)
  const written = at(keys.reduce<Json | undefined>(at, raw), last)
  const text = at(holder, last)
  if (typeof written !== 'string' || !/^\$\{[^}]*\}$/.test(written)) return false
  if (!isJsonObject(holder) || typeof text !== 'string' || !/^(true|false|-?(0|[1-9]\d*)(\.\d+)?)$/.test(text)) return false
  holder[last] = JSON.parse(text)
  return true
}

function at(value: Json | undefined, key: string): Json | undefined {
  return isJsonObject(value) && Object.hasOwn(value, key) ? value[key] : undefined
}

async function readYaml(text: string, file: string): Promise<{ document: Document; raw: Json }> {
  const fail = (message: string, cause?: unknown, place?: Place) => new ConfigError(file, [{ path: '', message }], cause, place)
  if (text.length > mostCharacters) throw fail(`must have at most ${mostCharacters} characters`)
  if (text.split('${').length > mostVariables + 1) throw fail(`must name at most ${mostVariables} variables`)
  const { YAMLError } = await import('../../core/yaml.ts')
  let document: Document
  let raw: Json
  try {
    document = await readDocument(text)
    raw = document.toJS({ maxAliasCount: mostAliases }) ?? {}
  } catch (error) {
    // Only the first line of the parser's message is used, because the rest may quote a line with a secret.
    const [words = ''] = messageOf(error).split('\n')
    const [start] = (error instanceof YAMLError && error.linePos) || []
    const place = start && { line: start.line, column: start.col, excerpt: excerptOf(text, start.line, start.col) }
    throw fail(`is not valid YAML: ${words.replace(/:$/, '')}`, error, place)
  }
  if (!isJsonObject(raw)) throw fail('must be a mapping')
  const objection = objectionTo(raw, 1)
  if (objection !== undefined) throw fail(objection)
  return { document, raw }
}
