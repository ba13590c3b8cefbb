import { checkOptions, integer, names, type OptionChecks, oneOf } from '../core/check-options.ts'
import { clip, InvalidOptionError } from '../core/errors.ts'
import { type Content, isJsonObject } from '../core/messages.ts'
import { innerArguments, parseArguments } from './arguments.ts'
import { callWithin } from './call/environment.ts'
import type { ToolSet } from './registry.ts'
import { resultText } from './result-text.ts'
import { type AnyTool, convertToOpenAITool, defineTool, type SearchableTools, type ToolDefinition, type ToolFunction } from './tool.ts'
import { ToolRunner } from './tool-runner.ts'

/** Options of `deferTools`: the tools that a model sees from the start, and how it searches for the other tools. */
export interface DeferOptions {
  /** Names of the tools that the model sees from the start. Default: none. */
  keep?: Iterable<string>
  /** Maximum number of tools that one search returns. Default 5. */
  maxFound?: number
  /**
   * `'provider'`: if the model's provider can search tools itself (quirk `toolSearch`), the model uses the provider's search; other models
   * use `search_tools`. `'own'`: every model uses `search_tools`. Default `'provider'`.
   */
  search?: 'provider' | 'own'
}

const deferOptions: OptionChecks<DeferOptions> = { keep: names, maxFound: integer(1), search: oneOf('provider', 'own') }

/** The value that `search_tools` returns. */
interface FoundTools {
  /** The found tools, best matches first. */
  tools: { name: string; description: string; parameters: object }[]
  /** The number of other tools that match, with lower scores. */
  more: number
}

/**
 * Makes a very large set of tools usable by showing the model only a few: the tools in `keep`, `search_tools` and `call_tool`.
 * `search_tools` returns the definitions that match a query. `call_tool` calls one of the found tools. If the model's provider searches
 * tools itself, the provider's search replaces `search_tools` and `call_tool`.
 *
 * Search results are kept only in the conversation. The definitions sent to a provider therefore never change and stay in the provider's
 * cache. Any number of runs can share the set, and a resumed run knows which tools it has found. Each call to `call_tool` is replaced by a
 * call to the tool that its arguments name. The schema, approval, effect and time limit are those of the named tool. Events and history
 * show the name of that tool. A model may also call a found tool directly by its name.
 *
 * Throws `invalid_option` if `maxFound` is out of range or if the set already has a tool named `search_tools` or `call_tool`.
 */
export function deferTools(tools: ToolSet, options: DeferOptions = {}): ToolSet {
  checkOptions(options, deferOptions, '`deferTools`')
  const { keep = [], maxFound = 5, search = 'provider' } = options
  if (typeof tools?.getAllSpecs !== 'function') throw new InvalidOptionError('tools', 'a set of tools, such as a `ToolRegistry`', tools)
  for (const name of [searchName, callName]) {
    if (tools.get(name) !== undefined) throw new InvalidOptionError('tools', `a set without a tool \`${name}\``, name)
  }
  return new DeferredTools(tools, new Set(keep), maxFound, search === 'provider')
}

const searchName = 'search_tools'
const callName = 'call_tool'

/** The parameters of a tool that searches for tools. */
export const searchParameters = {
  type: 'object',
  properties: { query: { type: 'string', minLength: 1, description: 'A few words, such as `create invoice`, or a name.' } },
  required: ['query'],
  additionalProperties: false,
} as const

class DeferredTools implements ToolSet {
  readonly #tools: ToolSet
  readonly #keep: ReadonlySet<string>
  readonly #search: AnyTool
  readonly #call: AnyTool
  /** The definitions from which `#specs` and `#index` were built. */
  #from: readonly ToolDefinition[] | undefined
  #specs: readonly ToolDefinition[] = []
  #deferred: readonly ToolDefinition[] = []
  #index = new ToolIndex([])
  /** The content for each object that a found tool has returned. Each tool may create the content with its own `toContent`. */
  readonly #contents = new WeakMap<object, Content>()
  readonly #isSearchable: boolean

  constructor(tools: ToolSet, keep: ReadonlySet<string>, maxFound: number, isSearchable: boolean) {
    this.#tools = tools
    this.#keep = keep
    this.#isSearchable = isSearchable
    this.#search = defineTool({
      name: searchName,
      description: `Finds tools by what they do. Most tools are not listed: search before you say that something can't be done. Call a tool that was found with ${callName}.`,
      parameters: searchParameters,
      effect: 'read',
      execute: ({ query }): FoundTools => this.#find(query, maxFound),
    })
    this.#call = defineTool({
      name: callName,
      description: `Calls a tool that ${searchName} has found.`,
      parameters: {
        type: 'object',
        properties: {
          name: { type: 'string', description: 'The name of the tool.' },
          arguments: { type: 'object', description: "The tool's arguments, as its parameters require." },
        },
        required: ['name', 'arguments'],
        additionalProperties: false,
      },
      // Called only for a call that was not unwrapped with `ToolSet.opened`.
      execute: async (args, ctx) => {
        const call = this.opened({ name: callName, arguments: JSON.stringify(args) })
        if (call === undefined || tools.get(call.name) === undefined) {
          throw new Error(`Tool not found: ${clip(args.name)}. Find the name with ${searchName}.`)
        }
        const { end } = await new ToolRunner(tools).run(
          { id: `${ctx.toolCallId}.1`, type: 'function', function: call },
          // The result of the inner call is not limited, because the limit applies to the result of the outer call.
          { ...callWithin(ctx, 1), maxResultBytes: Number.POSITIVE_INFINITY },
        )
        if (end.outcome === 'ok') return this.#remember(end)
        if (end.outcome === 'question') return end.question
        throw new Error(end.content)
      },
      toContent: (value) => this.#contents.get(Object(value)) ?? resultText(value),
    })
  }

  #remember({ value, content }: { value: unknown; content: Content }): unknown {
    if (typeof value === 'object' && value !== null) this.#contents.set(value, content)
    return value
  }

  get size(): number {
    return this.getAllSpecs().length
  }

  get(name: string): AnyTool | undefined {
    if (name === searchName) return this.#search
    return name === callName ? this.#call : this.#tools.get(name)
  }

  names(): string[] {
    return this.getAllSpecs().map(({ function: { name } }) => name)
  }

  list(): AnyTool[] {
    return this.names().flatMap((name) => this.get(name) ?? [])
  }

  hidden(): string[] {
    return [...this.#tools.names().filter((name) => !this.#keep.has(name)), ...(this.#tools.hidden?.() ?? [])]
  }

  opened(call: { name: string; arguments: string }): { name: string; arguments: string } | undefined {
    if (call.name !== callName) return this.#tools.opened?.(call)
    const parsed = parseArguments(innerArguments(call.arguments) ?? call.arguments)
    if (!parsed.ok) return undefined
    const { name, arguments: given = {} } = parsed.args
    // `call_tool` can't call itself.
    if (typeof name !== 'string' || name === callName) return undefined
    if (typeof given === 'string') return { name, arguments: given }
    return isJsonObject(given) ? { name, arguments: JSON.stringify(given) } : undefined
  }

  getAllSpecs(): readonly ToolDefinition[] {
    const from = this.#tools.getAllSpecs()
    if (from !== this.#from) {
      this.#from = from
      this.#specs = Object.freeze([
        ...from.filter(({ function: { name } }) => this.#keep.has(name)),
        convertToOpenAITool(this.#search),
        convertToOpenAITool(this.#call),
      ])
      this.#deferred = Object.freeze(from.filter(({ function: { name } }) => !this.#keep.has(name)))
      this.#index = new ToolIndex(this.#deferred)
    }
    return this.#specs
  }

  settled(): Promise<void> | undefined {
    return this.#tools.settled?.()
  }

  searchable(): SearchableTools | undefined {
    if (!this.#isSearchable) return undefined
    this.getAllSpecs()
    return { tools: this.#deferred, searchedBy: [searchName, callName] }
  }

  #find(query: string, most: number): FoundTools {
    this.getAllSpecs()
    const { found, more } = this.#index.find(query, most)
    return { tools: found.map(({ name, description = '', parameters = {} }) => ({ name, description, parameters })), more }
  }
}

/** Limits of a search, which compares each word of the query with every tool. */
const maxWords = 24
const maxQueryLength = 1_000

/** Finds tools by the words of their names, descriptions and arguments. */
export class ToolIndex {
  readonly #tools: readonly IndexedTool[]

  constructor(definitions: readonly ToolDefinition[]) {
    this.#tools = definitions.map(indexed)
  }

  /** Returns the best matches first. `more`: the number of other matches, which have lower scores. */
  find(query: string, most: number): { found: ToolFunction[]; more: number } {
    const words = new Set(wordsOf(query.slice(0, maxQueryLength)).slice(0, maxWords))
    const exact = query.trim().toLowerCase()
    const fits = this.#tools
      .map((tool) => ({ tool, score: tool.definition.name.toLowerCase() === exact ? Number.POSITIVE_INFINITY : scoreOf(tool, words) }))
      .filter(({ score }) => score > 0)
      .sort((a, b) => b.score - a.score)
    return { found: fits.slice(0, most).map(({ tool }) => tool.definition), more: Math.max(0, fits.length - most) }
  }
}

interface IndexedTool {
  definition: ToolFunction
  nameWords: ReadonlySet<string>
  otherWords: ReadonlySet<string>
}

function indexed({ function: definition }: ToolDefinition): IndexedTool {
  const { name, description = '', parameters = {} } = definition
  const properties = isJsonObject(parameters.properties) ? Object.keys(parameters.properties) : []
  return {
    definition,
    nameWords: new Set(wordsOf(name)),
    otherWords: new Set(wordsOf([description, ...properties].join(' '))),
  }
}

/**
 * Splits a text into words, so that `createInvoice`, `create_invoice` and `Creates invoices.` share words. In scripts without spaces, each
 * pair of characters is a word.
 */
function wordsOf(text: string): string[] {
  const parts =
    text
      .replace(/(\p{Ll})(\p{Lu})/gu, '$1 $2')
      .toLowerCase()
      .match(/[\p{L}\p{N}]+/gu) ?? []
  return parts.flatMap((part) =>
    /[\p{sc=Han}\p{sc=Hiragana}\p{sc=Katakana}]/u.test(part) ? pairsOf(part) : [part.replace(/(?<=\p{L}{3})(?:e?s|ing|ed|e)$/u, '')],
  )
}

function pairsOf(text: string): string[] {
  const characters = [...text]
  return characters.length === 1 ? characters : characters.slice(1).map((character, at) => `${characters[at]}${character}`)
}

/**
 * Returns the score of a tool. A word of the query scores three points in the tool's name, one point elsewhere, and half a point if it is
 * only the beginning of a word.
 */
function scoreOf({ nameWords, otherWords }: IndexedTool, words: Iterable<string>): number {
  let score = 0
  for (const word of words) {
    if (nameWords.has(word)) score += 3
    else if (otherWords.has(word)) score += 1
    else if (word.length > 2 && [...nameWords, ...otherWords].some((known) => known.startsWith(word))) score += 0.5
  }
  return score
}
