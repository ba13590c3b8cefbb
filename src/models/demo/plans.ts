import { jsonIn } from '../../core/json.ts'
import { type ChatMessage, hasToolCalls, isJsonObject, isToolResult, type Json, type JsonObject, textOf } from '../../core/messages.ts'
import type { FileSet } from './file-sets.ts'
import { frame, type Phrase } from './phrase.ts'

/** A call the demo wants to make. */
export interface WantedCall {
  tool: string
  args: JsonObject
}

/** What is known of a file: `lines` only of text files, and only where they were counted. */
export interface KnownFile {
  path: string
  bytes?: number
  lines?: number
  modified?: string
}

/** What a clause of a request came to: its sentence, and what later clauses mean by “that”, “it” and “the second one”. */
export interface Told {
  text: string
  number?: string
  files?: KnownFile[]
  /** There is nothing to go on with: no such file, or a tool failed. */
  isDeadEnd?: true
}

/**
 * How a clause is answered. A plan runs from its start at every step: it asks the desk for tool results, and stops at the first one that
 * isn't there yet. What it says thus follows from the conversation alone.
 */
export type Plan = (desk: Desk) => Told

/** A clause that was understood, every word of it. */
export interface Reading {
  plan: Plan
  /** The files it is about, which “of those” means. */
  set?: FileSet
  /** The page it is about. */
  url?: string
  /** The same question with another place, kind, file or city: what `and in tests?` asks. */
  again?: (phrase: Phrase) => Reading | undefined
  /** A greeting or the like: needs no reply beside an answer. */
  isSmalltalk?: true
}

/** Reads a clause of one family; undefined for any other. `before` is what the clause before it asked. */
export type Reader = (phrase: Phrase, before?: Reading) => Reading | undefined
type Groups = Record<string, Phrase | undefined>

/** A reader made of patterns, one a line, which `frame` compiles: the first that fits and has a reading counts. */
export function readerOf(
  ...rows: [patterns: string, read: (groups: Groups, before: Reading | undefined) => Reading | undefined][]
): Reader {
  const compiled = rows.flatMap(([patterns, read]) => patterns.split(/\n\s*/).map((pattern) => ({ pattern: frame(pattern), read })))
  return firstOf(
    compiled.map(({ pattern, read }) => (phrase, before) => {
      const groups = phrase.match(pattern)
      return groups && read(groups, before)
    }),
  )
}

export function firstOf(readers: readonly Reader[]): Reader {
  return (phrase, before) => readers.reduce<Reading | undefined>((reading, read) => reading ?? read(phrase, before), undefined)
}

/** Thrown by a plan that waits for a result, has one of a tool that failed, or can't be carried out after all. */
export class Stopped extends Error {
  readonly reason: 'waiting' | 'failed' | 'cannot'

  constructor(reason: Stopped['reason'], message = '') {
    super(message)
    this.reason = reason
  }
}

export function unreadable(tool: string): Stopped {
  return new Stopped('failed', `\`${tool}\` answered with something I can't read.`)
}

type ToolResult = { text: string; isError: boolean }

/** Gives plans the results that are in the conversation, and collects the calls to be made for those that aren't. */
export class Desk {
  readonly #results: ReadonlyMap<string, ToolResult>
  readonly #offered: readonly string[]
  readonly #wanted = new Map<string, WantedCall>()
  /** Why something asked for can't be told. */
  refusal: string | undefined
  /** What the clauses before came to; undefined for one that waits. */
  readonly #told: (Told | undefined)[]

  constructor(results: ReadonlyMap<string, ToolResult>, offered: readonly string[], told: readonly Told[]) {
    this.#results = results
    this.#offered = offered
    this.#told = [...told]
  }

  get wanted(): WantedCall[] {
    return [...this.#wanted.values()]
  }

  /** Carries out a plan and remembers what it came to; undefined while it waits, and when it can't be carried out (`refusal`). */
  carryOut(plan: Plan): Told | undefined {
    let told: Told | undefined
    try {
      told = plan(this)
    } catch (error) {
      if (!(error instanceof Stopped)) throw error
      if (error.reason === 'failed') told = deadEnd(error.message)
      if (error.reason === 'cannot') this.refusal ??= error.message
    }
    this.#told.push(told)
    return told
  }

  /** The result of a call as the tool gave it. */
  text(tool: string, args: JsonObject): string {
    const key = keyOf(tool, args)
    const result = this.#results.get(key)
    if (result?.isError) throw new Stopped('failed', `\`${tool}\` failed: ${excerpt(result.text, 400).replace(/(?<![.!?…)])$/, '.')}`)
    if (result !== undefined) return result.text
    if (!this.#offered.includes(tool)) throw new Stopped('cannot', `I would need the tool \`${tool}\`, which is not offered to me here.`)
    this.#wanted.set(key, { tool, args })
    throw new Stopped('waiting')
  }

  /** The result of a call to a tool that answers with a JSON object. */
  object(tool: string, args: JsonObject): JsonObject {
    const value = jsonIn(this.text(tool, args))
    if (isJsonObject(value)) return value
    throw unreadable(tool)
  }

  /** The number told last. */
  lastNumber(): string {
    return this.#last(({ number }) => number, 'number')
  }

  /** The files told last. */
  lastFiles(): KnownFile[] {
    return this.#last(({ files }) => files, 'file')
  }

  #last<T>(pick: (told: Told) => T | undefined, what: string): T {
    for (const told of [...this.#told].reverse()) {
      if (told === undefined) throw new Stopped('waiting')
      if (told.isDeadEnd) throw new Stopped('failed', told.text)
      const value = pick(told)
      if (value !== undefined) return value
    }
    throw new Stopped('cannot', `I don't know which ${what} you mean.`)
  }
}

export function deadEnd(text: string): Told {
  return { text, isDeadEnd: true }
}

/** Each user message, and the results of the calls made for it. */
export function readTurns(messages: readonly ChatMessage[]): { request: string; results: ReadonlyMap<string, ToolResult> }[] {
  const turns: { request: string; results: Map<string, ToolResult> }[] = []
  const open = new Map<string, string>()
  for (const message of messages) {
    if (message.role === 'user') {
      turns.push({ request: textOf(message.content), results: new Map() })
      open.clear()
    } else if (hasToolCalls(message)) {
      for (const { id, function: called } of message.toolCalls) open.set(id, keyOf(called.name, jsonIn(called.arguments) ?? {}))
    } else if (isToolResult(message)) {
      const key = open.get(message.toolCallId)
      if (key !== undefined) turns.at(-1)?.results.set(key, { text: textOf(message.content), isError: message.isError === true })
    }
  }
  return turns
}

/** The same for the same arguments, whatever the order of their keys. */
function keyOf(tool: string, args: Json): string {
  const sorted = (_key: string, value: unknown) =>
    isJsonObject(value) ? Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1))) : value
  return `${tool} ${JSON.stringify(args, sorted)}`
}

/** The beginning of any text, on one line. */
export function excerpt(text: string, maxLength = 200): string {
  const line = text
    .slice(0, 20 * maxLength)
    .replace(/\s+/g, ' ')
    .trim()
  return line.length > maxLength ? `${line.slice(0, maxLength).toWellFormed()}…` : line
}
