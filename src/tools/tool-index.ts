import { isJsonObject } from '../core/messages.ts'
import type { ToolDefinition, ToolFunction } from './tool.ts'

/** Limits of a search, which compares each word with every tool. */
const maxWords = 24
const maxQueryLength = 1_000

/** Finds tools by the words of their names, descriptions and arguments. */
export class ToolIndex {
  readonly #tools: readonly IndexedTool[]

  constructor(definitions: readonly ToolDefinition[]) {
    this.#tools = definitions.map(indexed)
  }

  /** The best matches first. `more`: how many others match, less well. */
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

/** A word in the name counts three points, elsewhere one, and the beginning of a word half a point. */
function scoreOf({ nameWords, otherWords }: IndexedTool, words: Iterable<string>): number {
  let score = 0
  for (const word of words) {
    if (nameWords.has(word)) score += 3
    else if (otherWords.has(word)) score += 1
    else if (word.length > 2 && [...nameWords, ...otherWords].some((known) => known.startsWith(word))) score += 0.5
  }
  return score
}
