import { isJsonObject, type JsonObject } from '../messages.ts'

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
