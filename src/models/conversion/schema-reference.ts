import { isJsonObject, type Json, type JsonObject } from '../../core/messages.ts'

/**
 * Resolves a reference such as `#/$defs/name` or `#name` in `root`. Undefined if the target is missing or not an object.
 * https://www.rfc-editor.org/rfc/rfc6901#section-6, https://json-schema.org/draft/2020-12/json-schema-core#section-8.2.2
 */
export function referredSchema(ref: string, root: JsonObject): JsonObject | undefined {
  if (!ref.startsWith('#')) return undefined
  const fragment = decoded(ref.slice(1))
  if (fragment !== '' && !fragment.startsWith('/')) return anchored(fragment, root)
  let at: Json | undefined = root
  for (const step of fragment.split('/').slice(1)) at = childOf(at, step.replaceAll('~1', '/').replaceAll('~0', '~'))
  return isJsonObject(at) ? at : undefined
}

function childOf(value: Json | undefined, key: string): Json | undefined {
  if (Array.isArray(value)) return /^(?:0|[1-9]\d{0,9})$/.test(key) ? value[Number(key)] : undefined
  return isJsonObject(value) && Object.hasOwn(value, key) ? value[key] : undefined
}

/** A fragment should be percent-encoded, but many programs don't encode it. */
function decoded(fragment: string): string {
  try {
    return decodeURIComponent(fragment)
  } catch {
    return fragment
  }
}

/** Finds the schema with this `$anchor`. Skips schemas with their own `$id`, because their anchors are separate. */
function anchored(name: string, root: JsonObject): JsonObject | undefined {
  const open: Json[] = [root]
  for (let item = open.pop(); item !== undefined; item = open.pop()) {
    if (isJsonObject(item)) {
      if (item !== root && typeof item.$id === 'string') continue
      if (item.$anchor === name || item.$dynamicAnchor === name) return item
    }
    if (typeof item === 'object' && item !== null) for (const inner of Object.values(item)) if (inner !== undefined) open.push(inner)
  }
  return undefined
}
