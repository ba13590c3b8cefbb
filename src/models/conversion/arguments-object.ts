import { isJsonObject, type JsonObject } from '../../core/messages.ts'

/** What is sent back of arguments that are not a JSON object: the model's own text, or `{}`. */
export type MalformedArguments = 'keep' | 'empty'

/** A call's arguments for an API that takes only an object; what the model wrote instead is `{}` there, and stays in our records. */
export function argumentsObject(json: string): JsonObject {
  try {
    const value: unknown = JSON.parse(json)
    return isJsonObject(value) ? value : {}
  } catch {
    // Sent as it is it would make the whole request fail.
    return {}
  }
}

/** A call's arguments for an API that takes a text. No server takes an empty one in a history, and some take none that is not an object. */
export function argumentsText(json: string, malformed: MalformedArguments): string {
  if (json.trim() === '') return '{}'
  if (malformed === 'keep') return json
  try {
    return isJsonObject(JSON.parse(json)) ? json : '{}'
  } catch {
    // What the model wrote stays in our records; here it would make the whole request fail.
    return '{}'
  }
}
