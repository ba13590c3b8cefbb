import { stat } from 'node:fs/promises'
import { setTimeout } from 'node:timers/promises'
import { isDeepStrictEqual } from 'node:util'
import type { Document } from 'yaml'
import { callUnawaited } from '../../core/callbacks/callbacks.ts'
import { messageOf } from '../../core/errors.ts'
import { replaceFile } from '../../core/files/replace-file.ts'
import { hasMoreValues } from '../../core/json.ts'
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

/** The status of the configuration file. */
export interface ConfigState {
  /** The path of the file. Null if the service has no file. */
  file: string | null
  /** When the current configuration was loaded. */
  loadedAt: string
  /** How often the configuration has changed since the service started. */
  reloads: number
  /** The problems of the current file, if it was rejected. Null if it was accepted. */
  lastError: { at: string; problems: readonly Problem[] } | null
  /** The changed fields whose new values take effect only after a restart, as JSON Pointers. */
  needsRestart: readonly string[]
}

/** A configuration with its secrets redacted, for display. */
export interface ShownConfig {
  etag: string
  text: string
  /** The parsed text, or null if it can't be parsed. */
  config: Json
  /** The fields that can be changed only in the file, not through the API, as JSON Pointers. `*` stands for any key. */
  fileOnly: readonly string[]
}

/** A requested change: the complete new configuration, or the complete new text of the file. */
export type ConfigChange = { config: JsonObject } | { text: string }

/** Maximum number of values in a configuration that is sent as JSON. Converting more values to YAML would take too long. */
const maxValues = 5_000

interface ConfigSourceParts {
  file: string | undefined
  /** The configuration to use if there is no file, as YAML. */
  text?: string
  env: Readonly<Record<string, string | undefined>>
  times: WatchTimes
  logger: Logger
  /** Prepares a configuration. If the promise rejects, the current configuration stays in effect. */
  prepare(config: Config, signal: AbortSignal): Promise<PreparedConfig>
  /**
   * Called after a change of the file was accepted or rejected. `config` is the configuration in effect. Contract: not awaited; if the
   * function throws, the error is logged.
   */
  onReload?(state: ConfigState, config: Config): void
}

/**
 * Reads the configuration file at the start and whenever the file changes. If the file becomes invalid, the last valid configuration stays
 * in effect, and `state` lists the problems. Changes from the file and from the API are applied one at a time.
 */
export class ConfigSource {
  readonly #parts: ConfigSourceParts
  readonly #watch: FileWatch | undefined
  #state: ConfigState
  /** The content of the file when it was last read. Undefined if the file didn't exist. Null until the first read. */
  #seen: string | undefined | null = null
  /** The reason why the last attempt to read the file failed. */
  #unreadable: string | undefined
  readonly #closed = new AbortController()
  #turn: Promise<unknown> = Promise.resolve()
  #config: Config = {}
  /** The configuration before environment variables are substituted. */
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

  /** The current configuration. It contains values of environment variables and must not be shown to clients. */
  get config(): Config {
    return this.#config
  }

  /**
   * Substitutes environment variables in a requested model and its providers. Reports secrets, missing variables, and variables that
   * `service.variables` doesn't list. The result may contain secrets and must not be shown to clients.
   */
  resolve(given: { model: Json; providers: JsonObject }): { value: { model: Json; providers: JsonObject }; problems: Problem[] } {
    const { value, problems } = interpolate(given, this.#parts.env)
    const unlisted = this.#unlisted(overlaid(given, this.#raw))
    return { value: value as typeof given, problems: [...findInlineSecrets(given), ...unlisted, ...problems] }
  }

  /**
   * Reads the file for the first time. If the file is invalid, rejects with a `ConfigError`, because there is no earlier valid
   * configuration.
   */
  async start(): Promise<void> {
    try {
      await this.#inTurn(async () => {
        // The watch starts before the file is read, so that no change is missed.
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

  /**
   * Warns about unsafe file permissions. A user who can write the file controls the service. A user who can read the file can try to guess
   * tokens from their hashes.
   */
  async #checkMode(): Promise<void> {
    const { file, logger } = this.#parts
    if (file === undefined || process.platform === 'win32') return
    const { mode = 0 } = (await stat(file).catch(() => undefined)) ?? {}
    const hasHashes = /sha256:[0-9a-f]{64}/i.test(this.#seen ?? '')
    if ((mode & 0o022) !== 0) logger.warn({ file }, 'other users can change the configuration file: `chmod 600` it')
    else if (hasHashes && (mode & 0o044) !== 0)
      logger.warn({ file }, 'other users can read the configuration file, and the hashes of tokens in it: `chmod 600` it')
  }

  /** Reads the file and applies any changes. Never rejects. */
  async reload(): Promise<void> {
    await this.#inTurn(async () => {
      if (this.#closed.signal.aborted) return
      await this.#watch?.follow()
      await this.#reloadNow()
    })
  }

  /** Returns the configuration for display. Rejects with an `HttpProblem` 409 if the file can't be read. */
  async show(): Promise<ShownConfig> {
    const text = await this.#readForCaller()
    const config = await parseConfig(text ?? '', this.#shownName, this.#parts.env).then(
      ({ raw }) => raw,
      () => null,
    )
    return { etag: etagOf(text), text: redactFile(text ?? ''), config, fileOnly: fileOnlyPaths }
  }

  /**
   * Writes a change to the file and applies it. `etag` is the ETag of the content on which the change is based. Rejects with an
   * `HttpProblem`: 412 if the file no longer has this ETag, 422 with all problems if the change is invalid, 409 if the file can't be read
   * or written, or 507 if the disk is full. If it rejects, the file is unchanged.
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

  /** Stops accepting changes. Resolves when no change is in progress any more. */
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

  /** Reads the file and returns whether it has changed since the previous read. */
  async #look(): Promise<boolean> {
    const wasUnreadable = this.#unreadable
    try {
      let text = await this.#read()
      // The file may be empty because an editor is still writing it.
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
    // `write` is set only for changes over the API, which are restricted.
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

  /** Throws a `ConfigError` if a change over the API is not permitted. */
  #checkChange(config: Config, raw: Json): void {
    const wanted = { config, raw: isJsonObject(raw) ? raw : {} }
    const problems = [...fileOnlyProblems(wanted, { config: this.#config, raw: this.#raw }), ...this.#unlisted(wanted.raw)]
    if (problems.length > 0) throw new ConfigError(this.#shownName, problems)
  }

  #unlisted(wanted: JsonObject): Problem[] {
    return unlistedVariables(wanted, this.#raw, this.#config.service?.variables ?? [])
  }

  /** Returns the text of the file, edited so that it contains `config`. If the old text can't be parsed, returns a new text. */
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

/** Returns the fields of the first two levels whose values differ, as JSON Pointers. */
function changedFields(before: JsonObject, after: JsonObject): string[] {
  const differing = (one: JsonObject, other: JsonObject) =>
    [...new Set([...Object.keys(one), ...Object.keys(other)])].filter((key) => !isDeepStrictEqual(one[key], other[key]))
  return differing(before, after).flatMap((key) => {
    const [one, other] = [before[key] ?? {}, after[key] ?? {}]
    const path = pointerTo('', key)
    return isJsonObject(one) && isJsonObject(other) ? differing(one, other).map((inner) => pointerTo(path, inner)) : [path]
  })
}

/** Reads a YAML text. Rejects if the text is not a mapping. */
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
  // A file that is itself a mount point, as in containers, can't be replaced atomically.
  const why = code === 'EBUSY' ? ': the file itself is a mount point; mount its folder instead' : ''
  return new HttpProblem(409, 'config_read_only', `The configuration file can't be written (${code})${why}`, { cause: error })
}
