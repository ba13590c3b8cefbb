import { visibleLines } from '../../core/text/visible.ts'
import type { JsonSchema } from '../types.ts'

/** How a form asks for a value: the kind of field for a JSON Schema, and the plans of the fields inside it. */
export type Plan = { schema: JsonSchema; isRequired: boolean } & (
  | { kind: 'text'; isLong: boolean }
  | { kind: 'number' }
  | { kind: 'choice'; choices: readonly unknown[] }
  | { kind: 'json' }
  | { kind: 'object'; fields: ReadonlyMap<string, Plan> }
  | { kind: 'list'; item: () => Plan }
)

/** The keywords of a schema that affect its form. Their values are unknown, because servers may send anything. */
interface Schema extends JsonSchema {
  $ref?: unknown
  if?: unknown
  patternProperties?: unknown
}

interface Place {
  /** The whole schema, which contains the targets of `$ref`. */
  root: Schema
  isRequired: boolean
  depth: number
  /** How many more fields the form may have. Values beyond this limit are entered as JSON. */
  room: { left: number }
}

const deepest = 4
/** Maximum number of fields. It is needed because a schema that refers to itself may have very many fields. */
const mostFields = 200
const mostChoices = 50
/** Maximum number of items of a list that have fields at first. */
const mostItems = 50

/**
 * Plans the fields of a form. Texts, numbers, booleans, choices, lists and objects get their own fields; any other value is entered as
 * JSON.
 */
export function planOf(schema: JsonSchema): Plan {
  return planAt(schema, { root: schema, isRequired: true, depth: 0, room: { left: mostFields } })
}

function planAt(given: JsonSchema, place: Place): Plan {
  const schema = resolved(given, place.root)
  const { isRequired, depth } = place
  const common = { schema, isRequired }
  const choices = Array.isArray(schema.enum) ? schema.enum : schema.const !== undefined ? [schema.const] : undefined
  if (choices !== undefined && choices.length <= mostChoices) return { ...common, kind: 'choice', choices }
  if (depth < deepest) {
    if (schema.type === 'object' && isPlainObject(schema) && takeRoom(schema, place.room)) {
      const required = new Set(schema.required)
      const plans = Object.entries(schema.properties ?? {}).map(([name, inner]): [string, Plan] => [
        name,
        planAt(inner, { ...place, isRequired: required.has(name), depth: depth + 1 }),
      ])
      return { ...common, kind: 'object', fields: new Map(plans) }
    }
    const { items } = schema
    if (schema.type === 'array' && items !== undefined && !Array.isArray(items)) {
      let item: Plan | undefined
      const planItem = () => planAt(items, { ...place, isRequired: true, depth: depth + 1, room: { left: mostFields } })
      return { ...common, kind: 'list', item: () => (item ??= planItem()) }
    }
  }
  if (schema.type === 'boolean') return { ...common, kind: 'choice', choices: [true, false] }
  if (schema.type === 'string') return { ...common, kind: 'text', isLong: (schema.maxLength ?? 0) > 200 }
  if (schema.type === 'number' || schema.type === 'integer') return { ...common, kind: 'number' }
  return { ...common, kind: 'json' }
}

/** Resolves references within the schema. If the type is a list of null and one other type, uses only the other type. */
function resolved(schema: JsonSchema, root: Schema): Schema {
  let found: unknown = schema
  for (let step = 0; step < 10 && isRecord(found) && typeof found.$ref === 'string' && found.$ref.startsWith('#/'); step++) {
    found = pointerParts(found.$ref).reduce<unknown>((inner, key) => (isRecord(inner) ? inner[key] : undefined), root)
  }
  if (!isRecord(found)) return {}
  const types = Array.isArray(found.type) ? found.type.filter((type) => type !== 'null') : []
  return types.length === 1 ? { ...found, type: types[0] } : found
}

/** Whether fields can represent the whole schema. */
function isPlainObject(schema: Schema): boolean {
  const hasNames = Object.keys(schema.properties ?? {}).length > 0
  const isOpen = typeof schema.additionalProperties === 'object' || (!hasNames && schema.additionalProperties !== false)
  return !isOpen && [schema.anyOf, schema.oneOf, schema.allOf, schema.if, schema.patternProperties].every((part) => part === undefined)
}

/** Whether the form has room for a field for each property. If so, reserves the room. */
function takeRoom(schema: Schema, room: Place['room']): boolean {
  const wanted = Object.keys(schema.properties ?? {}).length
  if (wanted > room.left) return false
  room.left -= wanted
  return true
}

/** Returns the initial value of a form, which contains defaults and required values. */
export function firstValue(plan: Plan, given: unknown = plan.schema.default): unknown {
  if (plan.kind === 'object' && (given === undefined || isRecord(given))) {
    const values = [...plan.fields].map(([name, field]): [string, unknown] => [name, firstValue(field, given?.[name])])
    const all = { ...given, ...Object.fromEntries(values.filter(([, value]) => value !== undefined)) }
    return Object.keys(all).length > 0 || plan.isRequired ? all : undefined
  }
  if (given !== undefined || !plan.isRequired) return given
  return plan.kind === 'list' ? [] : plan.kind === 'text' ? '' : undefined
}

/** Whether the field of a plan can show a value. */
export function fits(plan: Plan, value: unknown): boolean {
  if (value === undefined) return true
  switch (plan.kind) {
    case 'text':
      // A text with invisible characters doesn't fit, because the field would not show them. Such a text is edited as JSON, with escapes.
      return typeof value === 'string' && visibleLines(value) === value
    case 'number':
      // A string fits, because the form keeps invalid numbers as strings.
      return typeof value === 'number' || typeof value === 'string'
    case 'choice':
      return plan.choices.includes(value)
    case 'object':
      return isRecord(value)
    case 'list':
      return Array.isArray(value) && value.length <= mostItems
    case 'json':
      return true
  }
}

/** Returns the path of the field that shows an error at `pointer`, a JSON Pointer. Returns undefined if no field shows it. */
export function fieldAt(plan: Plan, value: unknown, pointer: string): string | undefined {
  let field = plan
  let inner = value
  let at = ''
  for (const part of pointerParts(pointer)) {
    if (!fits(field, inner)) return at
    if (field.kind === 'object') {
      const next = field.fields.get(part)
      if (next === undefined) return undefined
      field = next
    } else if (field.kind === 'list') {
      if (!Array.isArray(inner) || inner[Number(part)] === undefined) return undefined
      field = field.item()
    } else return at
    inner = isRecord(inner) || Array.isArray(inner) ? Reflect.get(inner, part) : undefined
    at = pointerTo(at, part)
  }
  return field.kind === 'object' ? undefined : at
}

export function pointerTo(pointer: string, key: string): string {
  return `${pointer}/${key.replaceAll('~', '~0').replaceAll('/', '~1')}`
}

function pointerParts(pointer: string): string[] {
  return pointer
    .split('/')
    .slice(1)
    .map((part) => part.replaceAll('~1', '/').replaceAll('~0', '~'))
}

export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
