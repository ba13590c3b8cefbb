import { clip, InvalidOptionError, messageOf, show } from '../core/errors.ts'
import { isList } from '../core/json.ts'
import { defaultLogger, type Logger, redacting } from '../core/logger.ts'
import type { JsonObject } from '../core/messages.ts'
import { checkOptionNames, type OptionNames } from '../core/option-names.ts'
import { checkedTools } from './call/checked-tools.ts'
import { ToolRegistry, type ToolSet } from './registry.ts'
import type { AnyTool, SearchableTools, ToolDefinition } from './tool.ts'
import { ToolRunner } from './tool-runner.ts'

/** Where tools come from, in order of precedence: the caller's own first, those of strangers last. */
const kinds = ['registered', 'builtin', 'skill', 'mcp'] as const
/** The kind of a source, which decides its precedence. */
export type ToolSourceKind = (typeof kinds)[number]

/** One place where tools come from. */
export interface ToolSource {
  kind: ToolSourceKind
  /** A list, or a set that may change during runs: their next turn sees the change. */
  tools: readonly AnyTool[] | ToolSet
}

/** What a `ToolDispatcher` takes besides its sources. */
export interface DispatcherOptions {
  /** Gets a warning for each name that two sources have. Default: the package's own logger. */
  logger?: Logger
}

/** Options of a call made without a model. */
export interface DispatchOptions {
  /** Handed to the tool, see `ToolContext.context`. */
  context?: unknown
  /** Cancels the call. */
  signal?: AbortSignal
  /** Time limit in milliseconds for a tool without its own. Default 30,000. */
  timeoutMs?: number
  /** The caller has approved the call, so a tool that needs an approval runs. Default false: it is refused. */
  approved?: boolean
  /** Default: the dispatcher's. */
  logger?: Logger
  /** Default: `dispatch_1`, `dispatch_2`, … */
  toolCallId?: string
  /** Default: `toolCallId`. */
  runId?: string
}

const dispatcherOptionNames: OptionNames<DispatcherOptions> = { logger: true }
const sourceNames: OptionNames<ToolSource> = { kind: true, tools: true }

/** How a call ended: what the tool returned, or in words why there is no value. */
export type DispatchResult = { success: true; result: unknown } | { success: false; error: string }

interface Source {
  kind: ToolSourceKind
  tools: ToolSet
}

/**
 * All tools of an agent as one set, whatever their source: `new AgentRunner({ tools: dispatcher })`. If two tools share a name, the one of the
 * earlier source is used, which is logged once a name. Sources may change at any time.
 */
export class ToolDispatcher implements ToolSet {
  readonly #sources: readonly Source[]
  readonly #logger: Logger
  readonly #runner: ToolRunner
  readonly #warned = new Set<string>()
  /** What each source's definitions were when `#specs` was made of them. */
  #parts: (readonly ToolDefinition[])[] = []
  #specs: readonly ToolDefinition[] = Object.freeze([])
  #calls = 0

  /** Sources of one kind keep their order. Throws `invalid_option` for an invalid source, `invalid_tool` for an invalid tool in a list. */
  constructor(sources: Iterable<ToolSource>, options: DispatcherOptions = {}) {
    checkOptionNames(options, dispatcherOptionNames, '`ToolDispatcher`')
    const { logger = defaultLogger } = options
    this.#sources = [...sources].map(readSource).sort((a, b) => kinds.indexOf(a.kind) - kinds.indexOf(b.kind))
    this.#logger = redacting(logger)
    this.#runner = new ToolRunner(this)
  }

  get size(): number {
    return this.getAllSpecs().length
  }

  get(name: string): AnyTool | undefined {
    return this.#owner(name)?.tools.get(name)
  }

  /** Which kind of source a call to `name` goes to; undefined for an unknown name. */
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
    // Of several sources that are searched, the first one's search is the one the model is told of.
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

  /** The same array until a source changes, as providers cache by it. Costs a comparison for each source, not for each tool. */
  getAllSpecs(): readonly ToolDefinition[] {
    const parts = this.#sources.map(({ tools }) => tools.getAllSpecs())
    if (parts.length !== this.#parts.length || parts.some((part, at) => part !== this.#parts[at])) {
      this.#parts = parts
      this.#specs = Object.freeze(
        this.#sources.flatMap((source, at) => (parts[at] ?? []).filter(({ function: { name } }) => this.#wins(source, name))),
      )
      for (const source of this.#sources) for (const name of source.tools.hidden?.() ?? []) this.#wins(source, name)
    }
    return this.#specs
  }

  /**
   * Runs one call outside of a run: validated, with a time limit, cancelled by `signal`. Never rejects; an unknown name gives
   * `{ success: false, error: 'Tool not found: …' }`.
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
    return { success: false, error: `Tool \`${call.name}\` asks something before it goes on, and there is nobody here to answer.` }
  }

  #owner(name: string): Source | undefined {
    for (const source of this.#sources) if (source.tools.get(name) !== undefined) return source
    return undefined
  }

  /** Whether calls to `name` go to this source; if not, warns that this one is not used. */
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
