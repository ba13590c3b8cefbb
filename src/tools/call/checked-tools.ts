import { syncAnswer } from '../../core/callbacks/callbacks.ts'
import { messageOf, readableError, show, ToolloopError } from '../../core/errors.ts'
import { ToolRegistry, type ToolSet } from '../registry.ts'
import type { AnyTool, SearchableTools, ToolDefinition } from '../tool.ts'

/** Wraps a set in checks if the caller may have written it. */
export function checkedTools(set: ToolSet): ToolSet {
  if (set instanceof ToolRegistry || set instanceof CheckedTools) return set
  // Returns the same wrapper for the same set, because a recorder tells agents apart by it.
  const made = known.get(set) ?? new CheckedTools(set)
  known.set(set, made)
  return made
}
const known = new WeakMap<ToolSet, ToolSet>()

/**
 * Checks a set written by the caller. Throws `invalid_tool` if a method throws, returns a promise, or returns something else than a list
 * where one is expected.
 */
class CheckedTools implements ToolSet {
  readonly #set: ToolSet
  declare readonly hidden?: () => string[]
  declare readonly opened?: NonNullable<ToolSet['opened']>
  declare readonly searchable?: () => SearchableTools | undefined
  declare readonly settled?: () => Promise<void>

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

  async #settled(): Promise<void> {
    try {
      await this.#set.settled?.()
    } catch (error) {
      throw failure('settled', error)
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

/** Calls a method of a tool set. Throws `invalid_tool` if it throws or returns a promise. */
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

/** Like `askSet`, for a method that returns a list. */
export function listedBy<Item>(
  method: string,
  ask: () => readonly Item[] | undefined,
  isOne: (item: Item) => boolean = () => true,
): Item[] {
  return askSet(method, () => {
    const list = syncAnswer(method, ask())
    // Returns the list itself, which stays the same until the set changes.
    if (Array.isArray(list) && list.every(isOne)) return list
    throw new TypeError(`Expected \`${method}\` to return a list of what it is named for, got \`${show(list)}\``)
  })
}
