import { isDeeperThan, jsonIn } from '../../core/json.ts'
import { isJsonObject, type JsonObject, legalName, type ToolCall } from '../../core/messages.ts'

/** The call ids that a provider accepts. Any other id is replaced by a hash of `length` letters and digits. */
interface TakenIds {
  pattern: RegExp
  length: number
}

/**
 * The rule for call ids: either a pattern of the accepted ids, or a template from which all ids are generated. In the template, `NAME` is
 * the name of the tool, and `INDEX` counts the calls of the conversation from 0.
 */
export type CallIdRule = { pattern: string; length: number } | { template: string }

/** The call ids that all known providers accept, including providers that document no rule. */
export const usualCallIds: CallIdRule = { pattern: '^[a-zA-Z0-9_-]{1,64}$', length: 32 }

const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789'

export function fitCallId(id: string, { pattern, length }: TakenIds): string {
  return pattern.test(id) ? id : hashedId(id, length)
}

/** The call ids of one request. */
export class CallIds {
  readonly #template: string | undefined
  readonly #taken: TakenIds | undefined
  readonly #given = new Map<string, string>()
  #calls = 0

  /** `rule`: null accepts any id. Throws if the pattern is not a regular expression. */
  constructor(rule: CallIdRule | null) {
    if (rule === null) return
    if ('template' in rule) this.#template = rule.template
    else this.#taken = { pattern: new RegExp(rule.pattern), length: rule.length }
  }

  /** Call this once for each tool call, in the order of the conversation. */
  ofCall({ id, function: { name } }: ToolCall): string {
    const index = String(this.#calls++)
    const numbered = this.#template?.replace(/NAME|INDEX/g, (word) => (word === 'NAME' ? legalName(name) : index))
    const fitted = numbered ?? this.#fit(id)
    this.#given.set(id, fitted)
    return fitted
  }

  ofResult(id: string): string {
    return this.#given.get(id) ?? this.#fit(id)
  }

  #fit(id: string): string {
    return this.#taken === undefined ? id : fitCallId(id, this.#taken)
  }
}

/** The same id always gets the same hash, so a call and its result match in every request. */
function hashedId(id: string, length: number): string {
  const bytes = process.getBuiltinModule('node:crypto').createHash('sha512').update(id).digest()
  let fitted = ''
  for (let at = 0; at < length; at++) fitted += alphabet[(bytes[at] ?? 0) % alphabet.length]
  return fitted
}

/** What to send if the arguments of an earlier call are not a JSON object: the model's text (`'keep'`) or `{}` (`'empty'`). */
export type MalformedArguments = 'keep' | 'empty'

/** Maximum nesting of arguments. `JSON.parse` accepts deeper data, but `JSON.stringify` throws at several thousand levels. */
const mostLevels = 1_000

/** Parses a call's arguments for an API that accepts only an object. Returns `{}` for any other text. */
export function argumentsObject(json: string): JsonObject {
  const args = objectIn(json)
  return args === undefined || isDeeperThan(mostLevels, args) ? {} : args
}

/** Undefined if the text is not a JSON object. */
export function objectIn(json: string): JsonObject | undefined {
  const value = jsonIn(json)
  return isJsonObject(value) ? value : undefined
}
