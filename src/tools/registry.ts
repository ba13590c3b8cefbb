import { compileSchema, parametersOf } from './schema/schema.ts'
import { type AnyTool, checkTool, convertToOpenAITool, refuseSecond, type ToolDefinition } from './tool.ts'

/** Tools by name, wherever they come from: what a run finds its tools in. May change while a run goes on; each turn sees it as it is then. */
export interface ToolSet {
  readonly size: number
  get(name: string): AnyTool | undefined
  names(): string[]
  list(): AnyTool[]
  /** The definitions to send to a model. The same array until a tool is added, removed or changed. */
  getAllSpecs(): readonly ToolDefinition[]
  /** Names that `get` finds although no model is told of them. Default: none. */
  hidden?(): string[]
  /**
   * The call that a call to one of these tools stands for, arguments as JSON text: it is planned, run and kept in the place of the other.
   * Undefined for one that stands for itself. Must not throw. Default: they all do.
   */
  opened?(call: { name: string; arguments: string }): { name: string; arguments: string } | undefined
}

export interface ToolViewOptions {
  /** Names of the tools that are seen; others are not there. Default: all. A name that no tool has is passed over. */
  only?: readonly string[]
  /** Tools that are there besides, behind the others. */
  also?: readonly AnyTool[]
}

/** A part of a set, or more than it: changes as the set does. */
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

  #shows(name: string): boolean {
    return this.#only === undefined || this.#only.has(name)
  }
}

/** The tools of an agent by name, in the order they were registered. */
export class ToolRegistry implements ToolSet {
  // A Map, not an object: `__proto__` and `constructor` are ordinary names here.
  readonly #tools = new Map<string, AnyTool>()
  #specs: readonly ToolDefinition[] | undefined

  constructor(tools: Iterable<AnyTool> = []) {
    for (const tool of tools) this.register(tool)
  }

  /** Adds a tool. Throws `invalid_tool` for a bad name, a name already taken, or a schema that does not compile. */
  register(tool: AnyTool): this {
    checkTool(tool)
    if (this.#tools.has(tool.name)) refuseSecond(tool.name)
    compileSchema(parametersOf(tool), tool.name)
    this.#tools.set(tool.name, tool)
    this.#specs = undefined
    return this
  }

  /** Removes a tool; false if there was none of that name. */
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
