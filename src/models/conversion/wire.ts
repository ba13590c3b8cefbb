import { isDeeperThan, jsonIn } from '../../core/json.ts'
import { isJsonObject, type JsonObject } from '../../core/messages.ts'

/** Which call ids a provider takes; others are replaced by a hash of `length` letters and digits. */
export interface CallIdRule {
  pattern: RegExp
  length: number
}

const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789'

/** The id itself where the rule takes it, else another in its place. */
export function fitCallId(id: string, { pattern, length }: CallIdRule): string {
  return pattern.test(id) ? id : hashedId(id, length)
}

/** The same for call and result and in every request. */
export function hashedId(id: string, length: number): string {
  const bytes = process.getBuiltinModule('node:crypto').createHash('sha512').update(id).digest()
  let fitted = ''
  for (let at = 0; at < length; at++) fitted += alphabet[(bytes[at] ?? 0) % alphabet.length]
  return fitted
}

/** What is sent back of arguments that are not a JSON object: the model's own text, or `{}`. */
export type MalformedArguments = 'keep' | 'empty'

/** `JSON.stringify` throws beyond some thousand levels; `JSON.parse` does not. */
const mostLevels = 1_000

/** A call's arguments for an API that takes only an object. */
export function argumentsObject(json: string): JsonObject {
  const args = objectIn(json)
  return args === undefined || isDeeperThan(mostLevels, args) ? {} : args
}

/** What the model wrote in place of an object stays in our records; in a request it would make all of it fail. */
export function objectIn(json: string): JsonObject | undefined {
  const value = jsonIn(json)
  return isJsonObject(value) ? value : undefined
}
