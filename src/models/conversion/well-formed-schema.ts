import type { JsonObject } from '../../core/messages.ts'
import { mapSchemas } from './map-schemas.ts'

/**
 * Converts a JSON Schema to forms that every API accepts. Some APIs refuse a whole request if the schema of a single tool has another form.
 *
 * - An array has `items`: https://github.com/zed-industries/zed/pull/47578
 * - A tuple uses `prefixItems`, as in draft 2020-12: https://github.com/openclaw/openclaw/issues/98588
 * - Schemas are objects, not `true` or `false`.
 */
export function wellFormedSchema(schema: JsonObject): JsonObject {
  return mapSchemas(schema, formArray)
}

function formArray({ items, additionalItems, ...schema }: JsonObject): JsonObject {
  const isTuple = Array.isArray(items)
  const prefixItems = isTuple ? items : schema.prefixItems
  const further = isTuple ? additionalItems : items
  if (isTuple) schema.prefixItems = items
  if (further === false) {
    const most = Array.isArray(prefixItems) ? prefixItems.length : 0
    return { ...schema, items: {}, maxItems: typeof schema.maxItems === 'number' ? Math.min(schema.maxItems, most) : most }
  }
  if (further !== undefined) return { ...schema, items: further }
  return isTuple || [schema.type].flat().includes('array') ? { ...schema, items: {} } : schema
}
