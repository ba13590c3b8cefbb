import { isJsonObject, type Json, type JsonObject } from '../../core/messages.ts'

/** Resolves a reference such as `#/$defs/name` in `root`: https://www.rfc-editor.org/rfc/rfc6901. Undefined if it leads nowhere. */
export function referredSchema(ref: string, root: JsonObject): JsonObject | undefined {
  if (!ref.startsWith('#')) return undefined
  let at: Json | undefined = root
  for (const step of ref.split('/').slice(1)) {
    const key = step.replaceAll('~1', '/').replaceAll('~0', '~')
    at = isJsonObject(at) && Object.hasOwn(at, key) ? at[key] : undefined
  }
  return isJsonObject(at) ? at : undefined
}
