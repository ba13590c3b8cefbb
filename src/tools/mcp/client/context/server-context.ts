import { ToolloopError } from '../../../../core/errors.ts'
import { type ChatMessage, type ContentPart, isJsonObject, type JsonObject, textOf } from '../../../../core/messages.ts'
import { contentOf, readContents, readParts } from '../calls/call-result.ts'
import { asideOf } from '../set-aside.ts'
import { TtlCache } from './ttl-cache.ts'

/** A resource of a server. */
export interface McpResource {
  uri: string
  name: string
  title?: string
  description?: string
  mimeType?: string
  /** The size in bytes. */
  size?: number
}

/** Resource addresses that match a pattern (RFC 6570). */
export interface McpResourceTemplate extends Omit<McpResource, 'uri' | 'size'> {
  uriTemplate: string
}

/** A prompt that a server offers. */
export interface McpPrompt {
  name: string
  title?: string
  description?: string
  arguments: { name: string; description?: string; required: boolean }[]
}

/** Maximum number of pages of a list. */
const mostPages = 100
/** Maximum number of items on all pages together. */
const mostItems = 5_000
/** Maximum size of the names, descriptions and addresses on all pages, in characters. */
const mostCharacters = 4_000_000
/** Maximum length of an address. Items with a longer address are left out. */
const longestUri = 8_192
const longestText = 1_000
/** Maximum time to cache an entry, in milliseconds. A server can set a shorter time. */
const longestTtlMs = 24 * 60 * 60_000

type Ask = (method: string, params: JsonObject, signal: AbortSignal) => Promise<JsonObject>

/**
 * The resources and prompts of a server. Lists and texts are cached for the time that the server allows (`ttlMs`), or until the server
 * reports a change.
 */
export class ServerContext {
  readonly #name: string
  readonly #ask: Ask
  readonly #tellsOfChanges: (what: 'resources' | 'prompts') => boolean
  readonly #kept = new TtlCache()

  constructor(name: string, ask: Ask, tellsOfChanges: (what: 'resources' | 'prompts') => boolean) {
    this.#name = name
    this.#ask = ask
    this.#tellsOfChanges = tellsOfChanges
  }

  /** Removes cached entries after a change. Default: all entries. */
  changed(what?: 'resources' | 'prompts'): void {
    this.#kept.forget(what === undefined ? '' : `${what}/`)
  }

  /** Removes a changed resource from the cache. */
  updated(uri: string): void {
    this.#kept.forget(`resources/read ${uri}`)
  }

  resources(signal: AbortSignal): Promise<McpResource[]> {
    return this.#list('resources', signal)
  }

  templates(signal: AbortSignal): Promise<McpResourceTemplate[]> {
    return this.#list('resourceTemplates', signal)
  }

  prompts(signal: AbortSignal): Promise<McpPrompt[]> {
    return this.#list('prompts', signal)
  }

  /** Reads the content of a resource. Rejects with `tool_failed`. */
  async read(uri: string, signal: AbortSignal): Promise<ContentPart[]> {
    const key = `resources/read ${uri}`
    const kept = this.#kept.get<ContentPart[]>(key)
    if (kept !== undefined) return kept
    const result = await this.#ask('resources/read', { uri }, signal)
    const contents = asideOf(result).contents
    const parts = contents === undefined ? undefined : readContents(contents)
    if (parts === undefined) throw this.#unreadable('a resource')
    this.#kept.set(key, parts, sizeOf(parts), ttlOf(result) ?? 0)
    return parts
  }

  /** Returns a prompt with its arguments filled in. Rejects with `tool_failed`. */
  async prompt(name: string, args: Readonly<Record<string, string>>, signal: AbortSignal): Promise<ChatMessage[]> {
    const result = await this.#ask('prompts/get', { name, arguments: args }, signal)
    const messages = asideOf(result).messages?.map(messageOf)
    if (messages === undefined || !messages.every((message) => message !== undefined)) throw this.#unreadable('a prompt')
    return messages
  }

  async #list<Name extends keyof ListedItems>(name: Name, signal: AbortSignal): Promise<ListedItems[Name][]> {
    const { method, what, read } = lists[name]
    const kept = this.#kept.get<ListedItems[Name][]>(method)
    if (kept !== undefined) return kept
    const items: ListedItems[Name][] = []
    let ttlMs = this.#tellsOfChanges(what) ? longestTtlMs : 0
    let listed = 0
    let characters = 0
    let cursor: string | undefined
    for (let page = 1; page <= mostPages; page++) {
      const result = await this.#ask(method, cursor === undefined ? {} : { cursor }, signal)
      const given = asideOf(result)[name]
      if (given === undefined) throw this.#unreadable(`\`${method}\``)
      listed += given.length
      if (listed > mostItems) throw this.#unreadable(`\`${method}\` (more than ${mostItems} of them)`)
      for (const one of given) {
        const item = isJsonObject(one) ? read(one) : undefined
        if (item === undefined) continue
        items.push(item)
        characters += JSON.stringify(item).length
        if (characters > mostCharacters) throw this.#unreadable(`\`${method}\` (more than ${mostCharacters} characters)`)
      }
      const ttl = ttlOf(result)
      if (ttl !== undefined) ttlMs = page === 1 ? ttl : Math.min(ttl, ttlMs)
      const { nextCursor } = result
      if (typeof nextCursor !== 'string' || nextCursor === cursor) {
        this.#kept.set(method, items, characters, ttlMs)
        return items
      }
      cursor = nextCursor
    }
    throw this.#unreadable(`\`${method}\` (more than ${mostPages} pages)`)
  }

  #unreadable(what: string): ToolloopError {
    return new ToolloopError('tool_failed', `The MCP server \`${this.#name}\` answered with something other than ${what}.`)
  }
}

interface ListedItems {
  resources: McpResource
  resourceTemplates: McpResourceTemplate
  prompts: McpPrompt
}

type List<Item> = { method: string; what: 'resources' | 'prompts'; read(item: JsonObject): Item | undefined }

const lists: { [Name in keyof ListedItems]: List<ListedItems[Name]> } = {
  resources: {
    method: 'resources/list',
    what: 'resources',
    read: (item) => {
      const { uri, size } = item
      if (typeof uri !== 'string' || uri.length > longestUri) return undefined
      return { uri, name: uri, ...textsOf(item), ...(typeof size === 'number' ? { size } : {}) }
    },
  },
  resourceTemplates: {
    method: 'resources/templates/list',
    what: 'resources',
    read: (item) => {
      const { uriTemplate } = item
      if (typeof uriTemplate !== 'string' || uriTemplate.length > longestUri) return undefined
      return { uriTemplate, name: uriTemplate, ...textsOf(item) }
    },
  },
  prompts: {
    method: 'prompts/list',
    what: 'prompts',
    read: (item) => {
      const { name, arguments: args } = item
      if (typeof name !== 'string' || name.length > longestText) return undefined
      const { title, description } = textsOf(item)
      return {
        name,
        ...(title && { title }),
        ...(description && { description }),
        arguments: Array.isArray(args) ? args.flatMap(argumentOf) : [],
      }
    },
  },
}

function argumentOf(given: unknown): McpPrompt['arguments'] {
  if (!isJsonObject(given) || typeof given.name !== 'string') return []
  const { description } = textsOf(given)
  return [{ name: given.name, ...(description && { description }), required: given.required === true }]
}

type Texts = Partial<Record<'name' | 'title' | 'description' | 'mimeType', string>>

function textsOf(item: JsonObject): Texts {
  const texts: Texts = {}
  for (const key of ['name', 'title', 'description', 'mimeType'] as const) {
    const text = item[key]
    if (typeof text === 'string' && text !== '') texts[key] = text.slice(0, longestText).toWellFormed()
  }
  return texts
}

function sizeOf(parts: readonly ContentPart[]): number {
  return parts.reduce((size, part) => size + (part.type === 'text' ? part.text.length : 'data' in part ? part.data.length : 0), 0)
}

/** Returns how long a result may be cached, in milliseconds. Undefined if the server does not say. */
function ttlOf({ ttlMs }: JsonObject): number | undefined {
  return typeof ttlMs === 'number' && ttlMs >= 0 ? Math.min(ttlMs, longestTtlMs) : undefined
}

function messageOf(given: unknown): ChatMessage | undefined {
  if (!isJsonObject(given)) return undefined
  const { role, content } = given
  const parts = readParts(Array.isArray(content) ? content : [content])
  if (parts === undefined || (role !== 'user' && role !== 'assistant')) return undefined
  return role === 'user' ? { role, content: contentOf(parts) } : { role, content: textOf(parts) }
}
