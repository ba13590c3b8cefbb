import { syncAnswer } from '../core/callbacks/callbacks.ts'
import { messageOf, readableError, show, ToolloopError } from '../core/errors.ts'
import { compileSchema, isCompiled, parametersOf, standardSchemaOf } from './schema/schema.ts'
import { checkWritten } from './schema/written-schema.ts'
import { type AnyTool, checkTool, convertToOpenAITool, type SearchableTools, type ToolDefinition, throwDuplicateName } from './tool.ts'

/**
 * A set of tools by name, from any source. A set may change during a run. Each turn uses its current state.
 *
 * Contract: all methods except `settled` are synchronous. If a method throws, or returns a promise or a value of the wrong type, the run
 * fails with `invalid_tool`.
 */
export interface ToolSet {
  /** The number of tools that a model sees. */
  readonly size: number
  /** Returns a tool by its name, even if models don't see it. Undefined if no tool has this name. */
  get(name: string): AnyTool | undefined
  /** The names of the tools that a model sees. */
  names(): string[]
  /** The tools that a model sees. */
  list(): AnyTool[]
  /** The definitions to send to a model. Returns the same array until a tool is added, removed or changed. */
  getAllSpecs(): readonly ToolDefinition[]
  /** Names of tools that models don't see but that `get` returns. Default: none. */
  hidden?(): string[]
  /**
   * Unwraps a call whose arguments describe a call to another tool, as with `call_tool`. Returns the inner call, with its arguments as JSON
   * text. The inner call is then prepared, run and recorded instead of the outer call. Returns undefined for an ordinary call. Default: all
   * calls are ordinary.
   */
  opened?(call: { name: string; arguments: string }): { name: string; arguments: string } | undefined
  /** Hidden tools that a model may find with its provider's tool search. Default: none. */
  searchable?(): SearchableTools | undefined
  /**
   * Resolves when all pending changes of the set have arrived. A run waits for this before each model request, for up to five seconds.
   * Returns undefined if no change is pending. Default: no change is ever pending.
   */
  settled?(): Promise<void> | undefined
}

export interface ToolViewOptions {
  /** Names of the tools to show. Unknown names are ignored. Default: all. */
  only?: readonly string[]
  /** Tools to add after the tools of the set. */
  also?: readonly AnyTool[]
}

/** A view of a set that leaves out or adds some tools. Changes to the set also change the view. */
export class ToolView implements ToolSet {
  readonly #set: ToolSet
  readonly #only: ReadonlySet<string> | undefined
  readonly #also: readonly AnyTool[]
  #seen: { all: readonly ToolDefinition[]; specs: readonly ToolDefinition[] } | undefined

  constructor(set: ToolSet, { only, also = [] }: ToolViewOptions) {
    this.#set = set
    this.#only = only && new Set(only)
    this.#also = also
  }

  get size(): number {
    return this.getAllSpecs().length
  }

  get(name: string): AnyTool | undefined {
    const tool = this.#shows(name) ? this.#set.get(name) : undefined
    return tool ?? this.#also.find((one) => one.name === name)
  }

  names(): string[] {
    return this.list().map(({ name }) => name)
  }

  list(): AnyTool[] {
    return [...this.#set.list().filter(({ name }) => this.#shows(name)), ...this.#also]
  }

  getAllSpecs(): readonly ToolDefinition[] {
    const all = this.#set.getAllSpecs()
    if (this.#seen?.all !== all) {
      const shown = this.#only === undefined ? all : all.filter((spec) => this.#shows(spec.function.name))
      this.#seen = { all, specs: Object.freeze([...shown, ...this.#also.map(convertToOpenAITool)]) }
    }
    return this.#seen.specs
  }

  hidden(): string[] {
    return (this.#set.hidden?.() ?? []).filter((name) => this.#shows(name))
  }

  opened(call: { name: string; arguments: string }): { name: string; arguments: string } | undefined {
    return this.#shows(call.name) ? this.#set.opened?.(call) : undefined
  }

  searchable(): SearchableTools | undefined {
    const found = this.#set.searchable?.()
    if (found === undefined || this.#only === undefined) return found
    if (!found.searchedBy.every((name) => this.#shows(name))) return undefined
    return { ...found, tools: found.tools.filter(({ function: { name } }) => this.#shows(name)) }
  }

  settled(): Promise<void> | undefined {
    return this.#set.settled?.()
  }

  #shows(name: string): boolean {
    return this.#only === undefined || this.#only.has(name)
  }
}

/** An agent's tools by name, in the order of registration. */
export class ToolRegistry implements ToolSet {
  // This is a Map, not an object, because `__proto__` and `constructor` are ordinary names for tools.
  readonly #tools = new Map<string, AnyTool>()
  #specs: readonly ToolDefinition[] | undefined

  constructor(tools: Iterable<AnyTool> = []) {
    for (const tool of tools) this.register(tool)
  }

  /** Adds a tool. Throws `invalid_tool` if its name is invalid or taken, or if its schema does not compile. */
  register(tool: AnyTool): this {
    checkTool(tool)
    if (this.#tools.has(tool.name)) throwDuplicateName(tool.name)
    if (standardSchemaOf(tool) === undefined) {
      const parameters = parametersOf(tool)
      if (!isCompiled(parameters)) checkWritten(parameters, tool.name)
      compileSchema(parameters, tool.name)
    }
    this.#tools.set(tool.name, tool)
    this.#specs = undefined
    return this
  }

  /** Removes a tool. Returns false if no tool has that name. */
  unregister(name: string): boolean {
    this.#specs = undefined
    return this.#tools.delete(name)
  }

  get(name: string): AnyTool | undefined {
    return this.#tools.get(name)
  }

  has(name: string): boolean {
    return this.#tools.has(name)
  }

  list(): AnyTool[] {
    return [...this.#tools.values()]
  }

  names(): string[] {
    return [...this.#tools.keys()]
  }

  get size(): number {
    return this.#tools.size
  }

  getAllSpecs(): readonly ToolDefinition[] {
    this.#specs ??= Object.freeze(this.list().map(convertToOpenAITool))
    return this.#specs
  }
}

/** Whether a value is a tool set, implemented by this package or by the application. */
export function isToolSet(tools: unknown): tools is ToolSet {
  if (typeof tools !== 'object' || tools === null) return false
  const { get, names, list, getAllSpecs }: Partial<ToolSet> = tools
  return [get, names, list, getAllSpecs].every((member) => typeof member === 'function') && 'size' in tools
}

/** Wraps a set in checks if the application may have implemented it. */
export function checkedTools(set: ToolSet): ToolSet {
  if (set instanceof ToolRegistry || set instanceof CheckedTools) return set
  // Returns the same wrapper for the same set, because a recorder distinguishes agents by their sets.
  const made = known.get(set) ?? new CheckedTools(set)
  known.set(set, made)
  return made
}
const known = new WeakMap<ToolSet, ToolSet>()

/**
 * Checks a set that the application has implemented. Throws `invalid_tool` if a method throws, returns a promise, or does not return a list
 * where a list is expected.
 */
class CheckedTools implements ToolSet {
  readonly #set: ToolSet
  declare readonly hidden?: () => string[]
  declare readonly opened?: NonNullable<ToolSet['opened']>
  declare readonly searchable?: () => SearchableTools | undefined
  declare readonly settled?: () => Promise<void> | undefined

  constructor(set: ToolSet) {
    this.#set = set
    if (set.hidden !== undefined) this.hidden = () => listedBy('hidden', () => set.hidden?.())
    if (set.opened !== undefined) this.opened = (call) => this.#opened(call)
    if (set.settled !== undefined) this.settled = () => this.#settled()
    if (set.searchable !== undefined) this.searchable = () => this.#searchable()
  }

  get size(): number {
    return askSet('size', () => this.#set.size)
  }

  get(name: string): AnyTool | undefined {
    return askSet('get', () => this.#set.get(name)) ?? undefined
  }

  names(): string[] {
    return listedBy(
      'names',
      () => this.#set.names(),
      (name) => typeof name === 'string',
    )
  }

  list(): AnyTool[] {
    return listedBy(
      'list',
      () => this.#set.list(),
      ({ name }) => typeof name === 'string',
    )
  }

  getAllSpecs(): readonly ToolDefinition[] {
    return listedBy(
      'getAllSpecs',
      () => this.#set.getAllSpecs(),
      (spec) => typeof spec.function.name === 'string',
    )
  }

  #searchable(): SearchableTools | undefined {
    return askSet('searchable', () => {
      const found = syncAnswer('searchable', this.#set.searchable?.()) ?? undefined
      if (found === undefined || (Array.isArray(found.tools) && Array.isArray(found.searchedBy))) return found
      throw new TypeError(`Expected \`searchable\` to return tools, got \`${show(found)}\``)
    })
  }

  #settled(): Promise<void> | undefined {
    try {
      const settling = this.#set.settled?.()
      if (!settling) return undefined
      return Promise.resolve(settling).catch((error: unknown) => {
        throw failure('settled', error)
      })
    } catch (error) {
      return Promise.reject(failure('settled', error))
    }
  }

  #opened(call: { name: string; arguments: string }): ReturnType<NonNullable<ToolSet['opened']>> {
    return askSet('opened', () => {
      const opened = syncAnswer('opened', this.#set.opened?.(call)) ?? undefined
      if (opened === undefined) return undefined
      const { name, arguments: args } = opened
      if (typeof name === 'string' && typeof args === 'string') return { name, arguments: args }
      throw new TypeError(`Expected \`opened\` to return a call with a name and arguments as texts, got \`${show(opened)}\``)
    })
  }
}

/** Calls a method of a tool set. Throws `invalid_tool` if the method throws or returns a promise. */
export function askSet<T>(method: string, ask: () => T): T {
  try {
    return syncAnswer(method, ask())
  } catch (error) {
    throw failure(method, error)
  }
}

function failure(method: string, error: unknown): ToolloopError {
  if (ToolloopError.isInstance(error)) return error
  const cause = readableError(error)
  return new ToolloopError('invalid_tool', `\`${method}\` of a tool set failed: ${messageOf(cause)}`, { cause })
}

/** Works like `askSet`, for a method that returns a list. */
export function listedBy<Item>(
  method: string,
  ask: () => readonly Item[] | undefined,
  isOne: (item: Item) => boolean = () => true,
): Item[] {
  return askSet(method, () => {
    const list = syncAnswer(method, ask())
    // Returns the list itself, not a copy, because an unchanged list means that the set has not changed.
    if (Array.isArray(list) && list.every(isOne)) return list
    throw new TypeError(`Expected \`${method}\` to return a list, got \`${show(list)}\``)
  })
}
