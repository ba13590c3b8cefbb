import type { Logger } from '../../core/logger.ts'
import { ToolDispatcher, type ToolSource, type ToolSourceKind } from '../../tools/dispatcher.ts'
import type { ToolSet } from '../../tools/registry.ts'
import type { AnyTool, SearchableTools, ToolDefinition } from '../../tools/tool.ts'

/** The program's own tools, and those of the configuration behind them. One object for the whole life of the service: what it has may be replaced. */
export class ToolSources implements ToolSet {
  readonly #own: ToolSet
  readonly #logger: Logger
  #all: ToolDispatcher

  constructor(own: ToolSet, logger: Logger) {
    this.#own = own
    this.#logger = logger
    this.#all = new ToolDispatcher([{ kind: 'registered', tools: own }], { logger })
  }

  /** Runs see these from their next turn on. Throws `invalid_tool`; nothing is changed then. */
  replace(sources: readonly ToolSource[]): void {
    this.#all = new ToolDispatcher([{ kind: 'registered', tools: this.#own }, ...sources], { logger: this.#logger })
  }

  get size(): number {
    return this.#all.size
  }

  get(name: string): AnyTool | undefined {
    return this.#all.get(name)
  }

  /** Undefined for an unknown name. */
  sourceOf(name: string): ToolSourceKind | undefined {
    return this.#all.sourceOf(name)
  }

  names(): string[] {
    return this.#all.names()
  }

  list(): AnyTool[] {
    return this.#all.list()
  }

  getAllSpecs(): readonly ToolDefinition[] {
    return this.#all.getAllSpecs()
  }

  hidden(): string[] {
    return this.#all.hidden()
  }

  opened(call: { name: string; arguments: string }): { name: string; arguments: string } | undefined {
    return this.#all.opened(call)
  }

  settled(): Promise<void> | undefined {
    return this.#all.settled()
  }

  searchable(): SearchableTools | undefined {
    return this.#all.searchable()
  }
}
