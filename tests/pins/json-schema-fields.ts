export interface Schema {
  $ref?: string
  properties?: Record<string, Schema>
  required?: string[]
  additionalProperties?: boolean | Schema
  items?: boolean | Schema
  anyOf?: Schema[]
  oneOf?: Schema[]
  allOf?: Schema[]
  type?: string | string[]
  enum?: unknown[]
  const?: unknown
}

/** Every field that a JSON Schema names, one a line, with its type. `*` stands for any key and `[]` for any item. */
export function fieldsOf(schema: Schema, at: string): string[] {
  const { $ref, properties = {}, required = [], additionalProperties, items, anyOf = [], oneOf = [], allOf = [] } = schema
  const own = Object.entries(properties).flatMap(([name, field]) => fieldsOf(field, `${at}.${name}${required.includes(name) ? '' : '?'}`))
  const any = typeof additionalProperties === 'object' ? fieldsOf(additionalProperties, `${at}.*`) : []
  const item = typeof items === 'object' ? fieldsOf(items, `${at}[]`) : []
  const parts = [...anyOf, ...oneOf, ...allOf].flatMap((part) => fieldsOf(part, at))
  const type = typeOf(schema)
  const line = $ref === undefined ? type : `${$ref.replace(/^#\/(?:\$defs|components\/schemas)\//, '→ ')}`
  return [...(line === '' ? [] : [`${at}: ${line}`]), ...own, ...any, ...item, ...parts]
}

function typeOf({ type = [], enum: values, const: only }: Schema): string {
  if (values !== undefined) return values.map((value) => JSON.stringify(value)).join(' | ')
  return only === undefined ? [type].flat().join(' | ') : JSON.stringify(only)
}
