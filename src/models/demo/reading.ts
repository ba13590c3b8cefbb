import { jsonIn } from '../../core/json.ts'
import { isJsonObject, type Json, type JsonObject } from '../../core/messages.ts'
import type { ToolDefinition } from '../../tools/tool.ts'

/** A tool call, and its result if there is one. */
export interface MadeCall {
  tool: string
  args: JsonObject
  result?: { text: string; isError: boolean }
}

/** The meaning of a clause whose words were all understood. */
export type Reading = Question | { says(tools: readonly ToolDefinition[]): string; isGreeting?: true }

/** The meaning of a clause that one call answers. */
export interface Question {
  tool: string
  /** The arguments of the call. A function if they depend on the previous call, which may be in an earlier message. */
  args: JsonObject | ((before: MadeCall | undefined) => JsonObject | Unresolved)
  /** The sentence that answers the clause. Undefined if the result does not have the expected form. */
  tell(result: Json | undefined, args: JsonObject, text: string): string | undefined
}

/** Why arguments can't be determined: no result yet (`'waiting'`), an unusable result (`'dead end'`), or a sentence with the reason. */
export type Unresolved = 'waiting' | 'dead end' | `I ${string}`

const unimportant = `a an the is are do does have has of in to we you i me my all any there here what which find list show give display see
  total exactly currently now please`.split(/\s+/)

/** The words of a clause. Each reader removes the words that it knows. The clause is understood if only unimportant words are left. */
export class Words {
  #left: string
  /** Returns a part as the user typed it, without its quotes. In the clause itself, placeholders replace quoted texts. */
  readonly unquote: (part: string) => string

  constructor(clause: string, unquote: (part: string) => string) {
    this.#left = ` ${clause} `
    this.unquote = unquote
  }

  /** Removes the first match and returns its groups. Patterns match whole words: they begin and end with a space. */
  take(pattern: RegExp): (string | undefined)[] | undefined {
    const found = pattern.exec(this.#left)
    if (found !== null) this.#left = `${this.#left.slice(0, found.index)} ${this.#left.slice(found.index + found[0].length)}`
    return found?.slice(1)
  }

  left(ignored: readonly string[] = unimportant): string[] {
    return this.#left.split(' ').filter((word) => word !== '' && !ignored.includes(word.toLowerCase()))
  }
}

/** Returns the number in a result. Undefined if the result has none. */
export function numberIn({ tool, args, result }: MadeCall, unit?: 'lines' | 'bytes'): string | undefined {
  const value = jsonIn(result?.text ?? '')
  const [file] = isJsonObject(value) && Array.isArray(value.files) ? value.files : []
  const counted = args.lines === true ? 'totalLines' : 'count'
  let number = isJsonObject(value) ? value[tool === 'list_files' ? counted : 'result'] : value
  if (tool === 'list_files' && args.sort !== undefined) {
    number = isJsonObject(file) ? file[unit ?? (args.sort === 'size' ? 'bytes' : 'lines')] : undefined
  } else if (unit !== undefined) return undefined
  return /^-?\d+(\.\d+)?$/.test(String(number)) ? String(number) : undefined
}

/** Returns the start of a text, on one line. */
export function excerpt(text: string, maxLength: number): string {
  const line = text.slice(0, 4 * maxLength).replace(/\s+/g, ' ')
  return line.length > maxLength ? `${line.slice(0, maxLength).toWellFormed()}…` : line
}
