import { checkOptionNames, type OptionNames } from '../core/check-options.ts'
import { clip, InvalidOptionError, messageOf, show } from '../core/errors.ts'
import { isList } from '../core/json.ts'
import { defaultLogger, type Logger, redacting } from '../core/logger.ts'
import type { JsonObject } from '../core/messages.ts'
import { checkedTools, ToolRegistry, type ToolSet } from './registry.ts'
import type { AnyTool, SearchableTools, ToolDefinition } from './tool.ts'
import { ToolRunner } from './tool-runner.ts'

/** The kinds of sources, in order of precedence: the caller's own tools first, third-party tools last. */
const kinds = ['registered', 'builtin', 'skill', 'mcp'] as const
/** The kind of a source, which decides its precedence: `'registered'` first, then `'builtin'`, `'skill'` and `'mcp'`. */
export type ToolSourceKind = (typeof kinds)[number]

/** One source of tools. */
export interface ToolSource {
  kind: ToolSourceKind
  /** The tools, as a list or a set. A set may change during a run; the next turn uses the changed set. */
  tools: readonly AnyTool[] | ToolSet
}

/** Options of a `ToolDispatcher`. */
interface DispatcherOptions {
  /** Receives a warning for each name that two sources share. Default: the package's own logger. */
  logger?: Logger
}

/** Options of `ToolDispatcher.dispatch`, for a call that was not made by a model. */
interface DispatchOptions {
  /** Passed to the tool as `ToolContext.context`. */
  context?: unknown
  /** Cancels the call. */
  signal?: AbortSignal
  /** Time limit in milliseconds for a tool without its own time limit. Default 30,000. */
  timeoutMs?: number
  /**
   * Whether the caller has approved the call, so that a tool that requires approval runs. Default false: a call to such a tool is refused.
   */
  approved?: boolean
  /** The logger that the tool receives. Default: the dispatcher's logger. */
  logger?: Logger
  /** The id of the call. Default: `dispatch_1`, `dispatch_2`, … */
  toolCallId?: string
  /** The id of the run. Default: `toolCallId`. */
  runId?: string
}

const dispatcherOptionNames: OptionNames<DispatcherOptions> = { logger: true }
const sourceNames: OptionNames<ToolSource> = { kind: true, tools: true }

/** The result of a call: the value that the tool returned, or the message of its failure. */
export type DispatchResult = { success: true; result: unknown } | { success: false; error: string }

interface Source {
  kind: ToolSourceKind
  tools: ToolSet
}

/**
 * Combines the tools of an agent from all sources into one set: `new AgentRunner({ tools: dispatcher })`. If two tools share a name, the
 * tool of the earlier source is used and a warning is logged once. Sources may change at any time.
 */
export class ToolDispatcher implements ToolSet {
  #sources: readonly Source[] = []
  readonly #logger: Logger
  readonly #runner: ToolRunner
  readonly #warned = new Set<string>()
  /**
   * The definitions of each source at the time when `#specs` was built. Undefined before `#specs` is built, and after the sources were
   * replaced.
   */
  #parts: readonly (readonly ToolDefinition[])[] | undefined
  #specs: readonly ToolDefinition[] = Object.freeze([])
  #calls = 0

  /**
   * Creates a dispatcher. Sources of the same kind keep their order. Throws `invalid_option` for an invalid source and `invalid_tool` for
   * an invalid tool in a list.
   */
  constructor(sources: Iterable<ToolSource>, options: DispatcherOptions = {}) {
    checkOptionNames(options, dispatcherOptionNames, '`ToolDispatcher`')
    const { logger = defaultLogger } = options
    this.replace(sources)
    this.#logger = redacting(logger)
    this.#runner = new ToolRunner(this)
  }

  /**
   * Replaces all sources. Runs see the change in their next turn. Throws the errors of the constructor. If it throws, the sources are
   * unchanged.
   */
  replace(sources: Iterable<ToolSource>): void {
    this.#sources = [...sources].map(readSource).sort((a, b) => kinds.indexOf(a.kind) - kinds.indexOf(b.kind))
    this.#parts = undefined
    this.#warned.clear()
  }

  get size(): number {
    return this.getAllSpecs().length
  }

  get(name: string): AnyTool | undefined {
    return this.#owner(name)?.tools.get(name)
  }

  /** Returns the kind of the source that runs calls to `name`. Undefined for an unknown name. */
  sourceOf(name: string): ToolSourceKind | undefined {
    return this.#owner(name)?.kind
  }

  names(): string[] {
    return this.getAllSpecs().map(({ function: { name } }) => name)
  }

  list(): AnyTool[] {
    return this.names().flatMap((name) => this.get(name) ?? [])
  }

  hidden(): string[] {
    return this.#sources.flatMap(({ tools }) => tools.hidden?.() ?? [])
  }

  opened(call: { name: string; arguments: string }): { name: string; arguments: string } | undefined {
    return this.#owner(call.name)?.tools.opened?.(call)
  }

  searchable(): SearchableTools | undefined {
    // Uses only the first source whose search tools (`searchedBy`) are not overridden by another source's tools.
    for (const source of this.#sources) {
      const found = source.tools.searchable?.()
      if (found?.searchedBy.every((name) => this.#wins(source, name))) {
        return { ...found, tools: found.tools.filter(({ function: { name } }) => this.#wins(source, name)) }
      }
    }
    return undefined
  }

  settled(): Promise<void> | undefined {
    const settling = this.#sources.flatMap(({ tools }) => tools.settled?.() ?? [])
    return settling.length === 0 ? undefined : Promise.all(settling).then(() => {})
  }

  /** Returns the same array until a source changes, so that callers can cache by its identity. */
  getAllSpecs(): readonly ToolDefinition[] {
    const parts = this.#sources.map(({ tools }) => tools.getAllSpecs())
    const known = this.#parts
    if (known === undefined || parts.some((part, at) => part !== known[at])) {
      this.#parts = parts
      this.#specs = Object.freeze(
        this.#sources.flatMap((source, at) => (parts[at] ?? []).filter(({ function: { name } }) => this.#wins(source, name))),
      )
      for (const source of this.#sources) for (const name of source.tools.hidden?.() ?? []) this.#wins(source, name)
    }
    return this.#specs
  }

  /**
   * Runs a single call outside a run. Validates the arguments, enforces the time limit, and stops when `signal` is aborted. Never rejects.
   * For an unknown name, returns `{ success: false, error: 'Tool not found: …' }`.
   */
  async dispatch(name: string, args: JsonObject | string = {}, options: DispatchOptions = {}): Promise<DispatchResult> {
    const { timeoutMs = 30_000, signal = new AbortController().signal, toolCallId = `dispatch_${++this.#calls}` } = options
    if (this.get(name) === undefined) return { success: false, error: `Tool not found: ${typeof name === 'string' ? name : show(name)}` }
    if (!(timeoutMs > 0))
      return { success: false, error: `Expected \`timeoutMs\` to be a number of milliseconds > 0, got \`${timeoutMs}\`` }
    let json: string
    try {
      json = typeof args === 'string' ? args : String(JSON.stringify(args))
    } catch (error) {
      return { success: false, error: `The arguments of \`${name}\` can't be written as JSON: ${clip(messageOf(error))}` }
    }
    const call = this.opened({ name, arguments: json }) ?? { name, arguments: json }
    const { end } = await this.#runner.run(
      { id: toolCallId, type: 'function', function: call },
      {
        context: options.context,
        signal,
        timeoutMs,
        runId: options.runId ?? toolCallId,
        iteration: 1,
        idempotencyKey: toolCallId,
        maxResultBytes: Number.POSITIVE_INFINITY,
        logger: options.logger ?? this.#logger,
        ...(options.approved ? { approved: true } : {}),
      },
    )
    if (end.outcome === 'ok') return { success: true, result: end.value }
    if (end.outcome !== 'question') return { success: false, error: end.content }
    return { success: false, error: `Tool \`${call.name}\` asks a question before it continues, and nobody can answer it here.` }
  }

  #owner(name: string): Source | undefined {
    for (const source of this.#sources) if (source.tools.get(name) !== undefined) return source
    return undefined
  }

  /** Whether calls to `name` go to this source. If not, logs once that this source's tool is ignored. */
  #wins(source: Source, name: string): boolean {
    const owner = this.#owner(name)
    if (owner === undefined || owner === source) return owner !== undefined
    if (!this.#warned.has(name)) {
      this.#warned.add(name)
      this.#logger.warn(
        { tool: name, used: owner.kind, ignored: source.kind },
        `two tools are named \`${clip(name)}\`: the ${words[owner.kind]} is used, the ${words[source.kind]} is not`,
      )
    }
    return false
  }
}

const words: Readonly<Record<ToolSourceKind, string>> = {
  registered: 'one you registered',
  builtin: 'built-in one',
  skill: 'one of a Skill',
  mcp: 'one of an MCP server',
}

function readSource(source: ToolSource, at: number): Source {
  checkOptionNames(source, sourceNames, 'a source', `sources[${at}]`)
  const { kind, tools } = source
  if (!kinds.includes(kind)) throw new InvalidOptionError(`sources[${at}].kind`, `one of ${kinds.join(', ')}`, kind)
  if (isList(tools)) return { kind, tools: new ToolRegistry(tools) }
  if (typeof tools?.getAllSpecs === 'function') return { kind, tools: checkedTools(tools) }
  throw new InvalidOptionError(`sources[${at}].tools`, 'an array or another set of tools', tools)
}
