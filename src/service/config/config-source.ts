import { stat } from 'node:fs/promises'
import { setTimeout } from 'node:timers/promises'
import { isDeepStrictEqual } from 'node:util'
import type { Document } from 'yaml'
import { callUnawaited } from '../../core/callbacks/callbacks.ts'
import { messageOf } from '../../core/errors.ts'
import { replaceFile } from '../../core/files/replace-file.ts'
import { hasMoreValues } from '../../core/json/value-count.ts'
import type { Logger } from '../../core/logger.ts'
import { isJsonObject, type Json, type JsonObject } from '../../core/messages.ts'
import { readDocument } from '../../tools/read-document.ts'
import { HttpProblem, type Problem, pointerTo } from '../http/problem.ts'
import type { Sender } from '../http/route.ts'
import type { Config, PreparedConfig } from './config.ts'
import { ConfigError } from './config-error.ts'
import { etagOf, readConfigText } from './config-file.ts'
import { editDocument } from './edit-document.ts'
import { fileOnlyPaths, fileOnlyProblems } from './file-only.ts'
import { findInlineSecrets, redactFile } from './inline-secrets.ts'
import { interpolate } from './interpolate.ts'
import { overlaid, unlistedVariables } from './named-variables.ts'
import { mostAliases, parseConfig } from './parse-config.ts'
import { readAtStart } from './service-limits.ts'
import { FileWatch, type WatchTimes } from './watch-file.ts'

/** The state of the configuration. */
export interface ConfigState {
  /** The file's path; null: the service was given none. */
  file: string | null
  /** When what holds now was taken over. */
  loadedAt: string
  /** How often the configuration was changed since the start. */
  reloads: number
  /** What is wrong with the file as it is now, where it does not hold because of that. */
  lastError: { at: string; problems: readonly Problem[] } | null
  /** Fields, as JSON Pointers, that are read at the start only, and say something else now than they did then. */
  needsRestart: readonly string[]
}

/** A configuration as it is shown: without secrets. */
export interface ShownConfig {
  etag: string
  text: string
  /** What the text says, where it can be read. */
  config: Json
  /** What can be changed in the file alone, by JSON Pointers in which `*` stands for any key. */
  fileOnly: readonly string[]
}

/** Someone's change: the whole configuration, or the whole text of the file. */
export type ConfigChange = { config: JsonObject } | { text: string }

/** Of a configuration that comes as JSON: as many as are written as YAML in a good time. */
const maxValues = 5_000

interface ConfigSourceParts {
  file: string | undefined
  /** What holds where there is no file, as the text of one. */
  text?: string
  env: Readonly<Record<string, string | undefined>>
  times: WatchTimes
  logger: Logger
  /** Makes ready what a configuration asks for. Rejects with a `ConfigError` when it can't be, or on abort, and nothing has changed then. */
  prepare(config: Config, signal: AbortSignal): Promise<PreparedConfig>
  /** Told when a change of the file was taken over or refused; `config` is what holds now. What it throws is logged. */
  onReload?(state: ConfigState, config: Config): void
}

/**
 * The configuration, from its file: read once, then whenever the file changes. A file that is not usable changes nothing: what was read last
 * holds, and the state says why. Changes come one after the other, from whichever side.
 */
export class ConfigSource {
  readonly #parts: ConfigSourceParts
  readonly #watch: FileWatch | undefined
  #state: ConfigState
  /** Content of the file when it was last looked at; null: it was not yet. */
  #seen: string | undefined | null = null
  /** Why it could not be read when it was last looked at. */
  #unreadable: string | undefined
  readonly #closed = new AbortController()
  #turn: Promise<unknown> = Promise.resolve()
  #config: Config = {}
  /** The same as it is written. */
  #raw: JsonObject = {}
  #atStart: Config = {}

  constructor(parts: ConfigSourceParts) {
    this.#parts = parts
    this.#state = { file: parts.file ?? null, loadedAt: new Date().toISOString(), reloads: 0, lastError: null, needsRestart: [] }
    if (parts.file !== undefined) this.#watch = new FileWatch(parts.file, parts.times, () => void this.reload())
  }

  get state(): ConfigState {
    return this.#state
  }

  /** What holds now. Not to be shown: variables of the environment are in it. */
  get config(): Config {
    return this.#config
  }

  /** Someone's model and providers, read as those of the file are: what variables stand for, and what is wrong with them. Not to be shown. */
  resolve(given: { model: Json; providers: JsonObject }): { value: { model: Json; providers: JsonObject }; problems: Problem[] } {
    const { value, problems } = interpolate(given, this.#parts.env)
    const unlisted = this.#unlisted(overlaid(given, this.#raw))
    return { value: value as typeof given, problems: [...findInlineSecrets(given), ...unlisted, ...problems] }
  }

  /** Reads the file for the first time. Rejects with a `ConfigError`: without a last good one there is nothing to go on with. */
  async start(): Promise<void> {
    try {
      await this.#inTurn(async () => {
        // Watched before it is read: what changes from here on is seen.
        await this.#watch?.follow()
        const text = await this.#read()
        await this.#takeOver(text)
        this.#seen = text
        await this.#checkMode()
      })
    } catch (error) {
      void this.close()
      throw error
    }
  }

  /** Whoever can change it decides what the service does; hashes of tokens can be guessed at. Keys are never in it. */
  async #checkMode(): Promise<void> {
    const { file, logger } = this.#parts
    if (file === undefined || process.platform === 'win32') return
    const { mode = 0 } = (await stat(file).catch(() => undefined)) ?? {}
    const hasHashes = /sha256:[0-9a-f]{64}/i.test(this.#seen ?? '')
    if ((mode & 0o022) !== 0) logger.warn({ file }, 'other users can change the configuration file: `chmod 600` it')
    else if (hasHashes && (mode & 0o044) !== 0)
      logger.warn({ file }, 'other users can read the configuration file, and the hashes of tokens in it: `chmod 600` it')
  }

  /** Looks at the file, and takes over what has changed in it. Never rejects. */
  async reload(): Promise<void> {
    await this.#inTurn(async () => {
      if (this.#closed.signal.aborted) return
      await this.#watch?.follow()
      await this.#reloadNow()
    })
  }

  /** Rejects with an `HttpProblem` 409 when the file can't be read. */
  async show(): Promise<ShownConfig> {
    const text = await this.#readForCaller()
    const config = await parseConfig(text ?? '', this.#shownName, this.#parts.env).then(
      ({ raw }) => raw,
      () => null,
    )
    return { etag: etagOf(text), text: redactFile(text ?? ''), config, fileOnly: fileOnlyPaths }
  }

  /**
   * Writes a change into the file and takes it over; `etag` names the content it was made from. Rejects with an `HttpProblem`: 412 when the
   * file is another one by now, 422 with all problems when the change is not usable, 409 when the file can't be read or written, 507 when
   * there is no room for it. The file is untouched then.
   */
  async change(change: ConfigChange, etag: string, by: Sender): Promise<ShownConfig> {
    const before = this.#raw
    await this.#inTurn(async () => {
      const { file } = this.#parts
      if (file === undefined) throw new HttpProblem(409, 'no_config_file', 'The service was started without a configuration file')
      const old = await this.#readForCaller()
      if (etag !== '*' && etag !== etagOf(old))
        throw new HttpProblem(412, 'config_changed', 'The configuration was changed since it was read', { param: 'if-match' })
      let text: string
      try {
        text = 'text' in change ? change.text : await this.#edited(old ?? '', change.config)
        await this.#takeOver(text, () => replaceFile(file, text))
      } catch (error) {
        const refused = error instanceof ConfigError ? error.problems.map(({ path }) => path) : messageOf(error)
        this.#parts.logger.warn({ ...by, file, refused }, 'a change of the configuration over the API was refused')
        throw asProblem(error)
      }
      this.#seen = text
      this.#parts.logger.info({ ...by, file, changed: changedFields(before, this.#raw) }, 'the configuration was changed over the API')
    })
    this.#tellOfReload()
    return this.show()
  }

  /** Changes nothing from now on. Resolves when a change that was under way has been given up, or is done. */
  async close(): Promise<void> {
    this.#watch?.close()
    this.#closed.abort(new HttpProblem(503, 'shutting_down', 'The service is shutting down'))
    await this.#turn
  }

  get #shownName(): string {
    return this.#parts.file ?? 'The configuration'
  }

  async #read(): Promise<string | undefined> {
    const { file, text } = this.#parts
    return file === undefined ? text : readConfigText(file)
  }

  async #readForCaller(): Promise<string | undefined> {
    return this.#read().catch((error: unknown) => {
      throw new HttpProblem(409, 'config_unreadable', messageOf(error), { cause: error })
    })
  }

  async #reloadNow(): Promise<void> {
    const { logger } = this.#parts
    try {
      if (!(await this.#look())) return
      if (this.#seen === undefined) throw new ConfigError(this.#shownName, [{ path: '', message: 'no longer exists' }])
      await this.#takeOver(this.#seen ?? undefined)
      logger.info({ file: this.#parts.file }, 'the configuration was changed')
    } catch (error) {
      if (this.#closed.signal.aborted) return
      const problems = problemsOf(error)
      this.#state = { ...this.#state, lastError: { at: new Date().toISOString(), problems } }
      logger.error({ file: this.#parts.file, problems }, 'the configuration is invalid; the last valid one stays in use')
    }
    this.#tellOfReload()
  }

  /** Whether the file is another one than when it was last looked at. Rejects when it can't be read, and that was not known. */
  async #look(): Promise<boolean> {
    const wasUnreadable = this.#unreadable
    try {
      let text = await this.#read()
      // Who writes a file in place empties it first: what is empty now may be about to be written.
      if (text === '' && this.#seen) {
        await setTimeout(this.#parts.times.debounceMs, undefined, { ref: false })
        text = await this.#read()
      }
      this.#unreadable = undefined
      if (text === this.#seen && wasUnreadable === undefined) return false
      this.#seen = text
      return true
    } catch (error) {
      this.#unreadable = messageOf(error)
      if (this.#unreadable === wasUnreadable) return false
      throw error
    }
  }

  #tellOfReload(): void {
    const { onReload, logger } = this.#parts
    callUnawaited(
      () => onReload?.(this.#state, this.#config),
      (error) => logger.error({ error }, '`onReload` failed'),
    )
  }

  async #takeOver(text: string | undefined, write?: () => Promise<void>): Promise<void> {
    const { config, raw } = await parseConfig(text ?? '', this.#shownName, this.#parts.env)
    // A write comes over the network.
    if (write !== undefined) this.#checkChange(config, raw)
    const { signal } = this.#closed
    signal.throwIfAborted()
    const prepared = await this.#parts.prepare(config, signal)
    try {
      signal.throwIfAborted()
      await write?.()
    } catch (error) {
      await prepared.discard()
      throw error
    }
    prepared.commit()
    this.#config = config
    this.#raw = isJsonObject(raw) ? raw : {}
    const isFirst = this.#seen === null
    if (isFirst) this.#atStart = config
    const atStart = readAtStart(this.#atStart)
    const needsRestart = Object.entries(readAtStart(config)).flatMap(([path, value]) => (value === atStart[path] ? [] : [path]))
    this.#state = {
      ...this.#state,
      loadedAt: new Date().toISOString(),
      reloads: this.#state.reloads + (isFirst ? 0 : 1),
      lastError: null,
      needsRestart,
    }
    if (needsRestart.length > 0)
      this.#parts.logger.warn({ file: this.#parts.file, needsRestart }, 'these fields take effect after a restart')
  }

  /** Throws a `ConfigError` for what a change that comes over the network must not contain. */
  #checkChange(config: Config, raw: Json): void {
    const wanted = { config, raw: isJsonObject(raw) ? raw : {} }
    const problems = [...fileOnlyProblems(wanted, { config: this.#config, raw: this.#raw }), ...this.#unlisted(wanted.raw)]
    if (problems.length > 0) throw new ConfigError(this.#shownName, problems)
  }

  #unlisted(wanted: JsonObject): Problem[] {
    return unlistedVariables(wanted, this.#raw, this.#config.service?.variables ?? [])
  }

  /** The file's text, saying `config`. Where it can't be read as it is, a text of its own. */
  async #edited(old: string, config: JsonObject): Promise<string> {
    if (hasMoreValues(maxValues, config))
      throw new ConfigError(this.#shownName, [{ path: '', message: `must have at most ${maxValues} values` }])
    const document = await readMapping(old).catch(() => undefined)
    return editDocument(document ?? (await readDocument('')), config)
  }

  #inTurn<T>(work: () => Promise<T>): Promise<T> {
    const done = this.#turn.then(work)
    this.#turn = done.catch(() => {})
    return done
  }
}

/** Fields of the first two levels that are not the same, as JSON Pointers. */
function changedFields(before: JsonObject, after: JsonObject): string[] {
  const differing = (one: JsonObject, other: JsonObject) =>
    [...new Set([...Object.keys(one), ...Object.keys(other)])].filter((key) => !isDeepStrictEqual(one[key], other[key]))
  return differing(before, after).flatMap((key) => {
    const [one, other] = [before[key] ?? {}, after[key] ?? {}]
    const path = pointerTo('', key)
    return isJsonObject(one) && isJsonObject(other) ? differing(one, other).map((inner) => pointerTo(path, inner)) : [path]
  })
}

/** Rejects for what is no mapping, or no YAML. */
async function readMapping(text: string): Promise<Document> {
  const document = await readDocument(text)
  if (document.contents !== null && !isJsonObject(document.toJS({ maxAliasCount: mostAliases }))) throw new TypeError('not a mapping')
  return document
}

function problemsOf(error: unknown): readonly Problem[] {
  return error instanceof ConfigError ? error.problems : [{ path: '', message: messageOf(error) }]
}

function asProblem(error: unknown): unknown {
  if (error instanceof ConfigError) {
    const [first] = error.problems
    return new HttpProblem(422, 'invalid_config', error.message, { param: first?.path || '/', problems: error.problems, cause: error })
  }
  const code = typeof error === 'object' && error !== null && 'errno' in error && 'code' in error ? String(error.code) : ''
  if (code === '') return error
  if (['ENOSPC', 'EDQUOT'].includes(code))
    return new HttpProblem(507, 'config_no_space', 'The disk has no space for the configuration file', { cause: error })
  // A file that is mounted by itself, as containers do, is busy: it can be written into, but not replaced as a whole.
  const why = code === 'EBUSY' ? ': the file itself is a mount point; mount its folder instead' : ''
  return new HttpProblem(409, 'config_read_only', `The configuration file can't be written (${code})${why}`, { cause: error })
}
