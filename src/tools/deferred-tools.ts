import { clip, InvalidOptionError } from '../core/errors.ts'
import { type Content, isJsonObject } from '../core/messages.ts'
import { checkOptions, integer, type OptionChecks, oneOf, unchecked } from '../core/options/check-options.ts'
import { innerArguments, parseArguments } from './arguments.ts'
import { callWithin } from './call/environment.ts'
import type { ToolSet } from './registry.ts'
import { resultText } from './result-text.ts'
import { type AnyTool, convertToOpenAITool, defineTool, type SearchableTools, type ToolDefinition } from './tool.ts'
import { ToolRunner } from './tool-runner.ts'

/** Which tools a model is told about at once, and how many a search finds. */
export interface DeferOptions {
  /** Names of tools that the model is told of from the start. Default: none. */
  keep?: Iterable<string>
  /** How many tools one search returns at most. Default 5. */
  maxFound?: number
  /**
   * `'provider'`: a model whose provider searches tools itself (quirk `toolSearch`) finds the tools by that, others by `search_tools`.
   * `'own'`: every model finds them by `search_tools`. Default `'provider'`.
   */
  search?: 'provider' | 'own'
}

const deferOptions: OptionChecks<DeferOptions> = { keep: unchecked, maxFound: integer(1), search: oneOf('provider', 'own') }

/** What `search_tools` returns. */
export interface FoundTools {
  /** The best matches first. */
  tools: { name: string; description: string; parameters: object }[]
  /** How many more match, less well. */
  more: number
}

/**
 * A set of very many tools of which a model is told only a few: those to `keep`, `search_tools`, which returns the definitions that match a
 * query, and `call_tool`, which calls one of them. Where a model's provider searches tools itself, the model has that in place of the two.
 *
 * What was found is kept only in the conversation. So the definitions sent to a provider never change and stay in its cache, any number of
 * runs share the set, and a resumed run knows what it has found. A `call_tool` is opened before anything else: the call it stands for has its
 * own schema, approval, effect and time limit, and its own name in events and history. A found tool called by its own name runs as well. Throws `invalid_option` for `maxFound` out of range or a set that has tools of these two names.
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

/** Bounds of a search, which compares each word with every tool. */
const maxWords = 24
const maxQueryLength = 1_000

const searchName = 'search_tools'
const callName = 'call_tool'

class DeferredTools implements ToolSet {
  readonly #tools: ToolSet
  readonly #keep: ReadonlySet<string>
  readonly #search: AnyTool
  readonly #call: AnyTool
  /** The set's definitions that `#specs` and `#index` were made of. */
  #from: readonly ToolDefinition[] | undefined
  #specs: readonly ToolDefinition[] = []
  #deferred: readonly ToolDefinition[] = []
  #index: IndexedTool[] = []
  /** What the model sees of values that found tools returned: each tool may have its own `toContent`. */
  readonly #contents = new WeakMap<object, Content>()
  readonly #isSearchable: boolean

  constructor(tools: ToolSet, keep: ReadonlySet<string>, maxFound: number, isSearchable: boolean) {
    this.#tools = tools
    this.#keep = keep
    this.#isSearchable = isSearchable
    this.#search = defineTool({
      name: searchName,
      description: `Finds tools by what they do. Most tools are not listed: search before you say that something can't be done. Call what is found with ${callName}.`,
      parameters: {
        type: 'object',
        properties: { query: { type: 'string', minLength: 1, description: 'A few words, such as `create invoice`, or a name.' } },
        required: ['query'],
        additionalProperties: false,
      },
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
          arguments: { type: 'object', description: "The tool's arguments, as its parameters ask for." },
        },
        required: ['name', 'arguments'],
        additionalProperties: false,
      },
      // Only for callers that don't open calls, or if this one can't be opened.
      execute: async (args, ctx) => {
        const call = this.opened({ name: callName, arguments: JSON.stringify(args) })
        if (call === undefined || tools.get(call.name) === undefined) {
          throw new Error(`Tool not found: ${clip(args.name)}. Find the name with ${searchName}.`)
        }
        const { end } = await new ToolRunner(tools).run(
          { id: `${ctx.toolCallId}.1`, type: 'function', function: call },
          // Bounded as the result of this call.
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
    // What was opened is not opened again.
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
      this.#index = this.#deferred.map(indexed)
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
    const words = new Set(wordsOf(query.slice(0, maxQueryLength)).slice(0, maxWords))
    const exact = query.trim().toLowerCase()
    const fits = this.#index
      .map((tool) => ({ tool, score: tool.name.toLowerCase() === exact ? Number.POSITIVE_INFINITY : scoreOf(tool, words) }))
      .filter(({ score }) => score > 0)
      .sort((a, b) => b.score - a.score)
    return {
      tools: fits.slice(0, most).map(({ tool: { name, description, parameters } }) => ({ name, description, parameters })),
      more: Math.max(0, fits.length - most),
    }
  }
}

interface IndexedTool {
  name: string
  description: string
  parameters: object
  nameWords: ReadonlySet<string>
  otherWords: ReadonlySet<string>
}

function indexed({ function: { name, description = '', parameters = {} } }: ToolDefinition): IndexedTool {
  const properties = isJsonObject(parameters.properties) ? Object.keys(parameters.properties) : []
  return {
    name,
    description,
    parameters,
    nameWords: new Set(wordsOf(name)),
    otherWords: new Set(wordsOf([description, ...properties].join(' '))),
  }
}

/** `createInvoice`, `create_invoice` and `Creates invoices.` have words in common; two characters of a script without spaces are one. */
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

/** A word in the name counts thrice, the beginning of one half. */
function scoreOf({ nameWords, otherWords }: IndexedTool, words: Iterable<string>): number {
  let score = 0
  for (const word of words) {
    if (nameWords.has(word)) score += 3
    else if (otherWords.has(word)) score += 1
    else if (word.length > 2 && [...nameWords, ...otherWords].some((known) => known.startsWith(word))) score += 0.5
  }
  return score
}
