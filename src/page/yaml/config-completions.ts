/** A part of the schema of the configuration. */
export interface ConfigSchema {
  $ref?: string
  $defs?: Record<string, ConfigSchema>
  type?: string | string[]
  description?: string
  enum?: unknown[]
  properties?: Record<string, ConfigSchema>
  additionalProperties?: boolean | ConfigSchema
  items?: ConfigSchema
  oneOf?: ConfigSchema[]
  then?: ConfigSchema
}

export interface Suggestion {
  label: string
  /** The text that is inserted. */
  apply: string
  kind: 'key' | 'value'
  detail: string
  description: string
}

/**
 * A cursor position in a key or a value. `path` leads to the mapping or list around it. `typed` is the beginning of the key or value, up to
 * the cursor.
 */
interface Spot {
  path: string[]
  kind: 'key' | 'value'
  typed: string
  indent: number
  isFlow: boolean
}

/**
 * Suggests keys and values for the position after `before`, the text up to the cursor. `models` contains the names in the section `models`.
 */
export function suggestionsAt(
  before: string,
  after: string,
  schema: ConfigSchema,
  models: readonly string[],
): { typed: string; list: Suggestion[] } {
  const spot = spotAt(before)
  if (spot === undefined) return { typed: '', list: [] }
  const schemas = schemasAt(schema, spot.path)
  if (spot.kind === 'value') return { typed: spot.typed, list: [...valuesOf(schemas), ...modelsAt(spot.path, models)] }
  const known = spot.isFlow ? new Set<string>() : new Set(siblingsAt(before, after, spot.indent))
  const keys = schemas.flatMap(({ properties = {} }) => Object.entries(properties)).filter(([name]) => !known.has(name))
  const list = [...new Map(keys)].map(([name, inner]) => keyOf(name, resolved(schema, inner), spot))
  // If there are no keys to suggest, suggests values, because an item of a list may be a value.
  return { typed: spot.typed, list: list.length > 0 ? list : valuesOf(schemas) }
}

function keyOf(name: string, schema: ConfigSchema, { indent, isFlow }: Spot): Suggestion {
  const types = [schema.type ?? []].flat()
  const isBlock = !isFlow && types.length === 1 && (types[0] === 'object' || types[0] === 'array')
  const inner = types[0] === 'array' ? '- ' : ''
  return {
    label: name,
    apply: isBlock ? `${name}:\n${' '.repeat(indent + 2)}${inner}` : `${name}: `,
    kind: 'key',
    detail: types.join(' or '),
    description: schema.description ?? '',
  }
}

function valuesOf(schemas: readonly ConfigSchema[]): Suggestion[] {
  const values = schemas.flatMap(({ enum: choices = [], type }) => [
    ...choices,
    ...([type].flat().includes('boolean') ? [true, false] : []),
  ])
  return [...new Set(values.map(String))].map((label) => ({ label, apply: label, kind: 'value', detail: '', description: '' }))
}

/** Returns the names of models as suggestions for `model`, which may be the name of an entry in `models`. */
function modelsAt(path: readonly string[], models: readonly string[]): Suggestion[] {
  if (path.join('/') !== 'model') return []
  return models.map((label) => ({ label, apply: label, kind: 'value', detail: 'in `models`', description: '' }))
}

/** Returns all schemas that apply at a path. */
function schemasAt(root: ConfigSchema, path: readonly string[]): ConfigSchema[] {
  let found = alternatives(root, root)
  for (const part of path) {
    found = found.flatMap((schema) => {
      const { properties, additionalProperties, items } = schema
      const inner =
        properties !== undefined && Object.hasOwn(properties, part)
          ? properties[part]
          : (items ?? (typeof additionalProperties === 'object' ? additionalProperties : undefined))
      return inner === undefined ? [] : alternatives(root, inner)
    })
  }
  return found
}

function alternatives(root: ConfigSchema, given: ConfigSchema): ConfigSchema[] {
  const schema = resolved(root, given)
  return [
    schema,
    ...[...(schema.oneOf ?? []), ...(schema.then === undefined ? [] : [schema.then])].flatMap((one) => alternatives(root, one)),
  ]
}

function resolved(root: ConfigSchema, schema: ConfigSchema): ConfigSchema {
  const name = /^#\/\$defs\/(\w+)$/.exec(schema.$ref ?? '')?.[1]
  return name === undefined ? schema : { ...root.$defs?.[name], ...schema }
}

const keyAtStart = /^(["']?)([\w./-]+)\1:(?=\s|$)\s*/

interface Line {
  /** The columns of the dashes at the start of the line. */
  dashes: number[]
  column: number
  content: string
}

function lineOf(text: string): Line {
  const [prefix = ''] = /^\s*(?:-\s+|-$)*/.exec(text) ?? []
  return { dashes: [...prefix.matchAll(/-/g)].map(({ index }) => index), column: prefix.length, content: text.slice(prefix.length) }
}

function isEmpty({ content, dashes }: Line): boolean {
  return (content === '' && dashes.length === 0) || content.startsWith('#')
}

function spotAt(before: string): Spot | undefined {
  const lines = before.split('\n').map(lineOf)
  const line = lines.pop()
  if (line === undefined || /(^|\s)#/.test(line.content)) return undefined
  const { column, dashes, content } = line
  const path = [...parentsOf(lines, dashes[0] === undefined ? column : dashes[0] + 1), ...dashes.map(() => '0')]
  const key = keyAtStart.exec(content)
  const rest = key === null ? content : content.slice(key[0].length)
  const inner = key === null ? path : [...path, key[2] ?? '']
  if (/[{[]/.test(rest)) return flowSpot(rest, inner)
  if (/["']/.test(rest)) return undefined
  if (key !== null) return { path: inner, kind: 'value', typed: rest, indent: column, isFlow: false }
  // The text after a dash may be a value, or the first key of a mapping.
  const isItem = dashes.length > 0
  return { path, kind: isItem && rest !== '' && !/^[\w-]+$/.test(rest) ? 'value' : 'key', typed: rest, indent: column, isFlow: false }
}

/**
 * Returns the path to a line (keys and list positions), worked out from the `lines` above it. Only lines that begin before the column
 * `limit` can contain it.
 */
function parentsOf(lines: readonly Line[], limit: number): string[] {
  const path: string[] = []
  let left = limit
  for (const line of lines.toReversed()) {
    if (isEmpty(line) || left === 0) continue
    const { dashes, column, content } = line
    if (column === left && dashes.length > 0) {
      // The list item that contains the line starts here.
      path.unshift('0')
      left = (dashes[0] ?? 0) + 1
    } else if (column < left) {
      const [, , name] = keyAtStart.exec(content) ?? []
      if (name === undefined) continue
      path.unshift(name)
      left = column
      if (dashes.length > 0) {
        path.unshift('0')
        left = (dashes[0] ?? 0) + 1
      }
    }
  }
  return path
}

/** Finds the position of the cursor inside braces or brackets. */
function flowSpot(text: string, path: readonly string[]): Spot | undefined {
  const open: { kind: '{' | '['; path: string[]; key: string | undefined }[] = []
  let typed = ''
  let within: string[] = [...path]
  for (const character of text) {
    const top = open.at(-1)
    if (character === '{' || character === '[') {
      open.push({ kind: character, path: within, key: undefined })
      typed = ''
      if (character === '[') within = [...within, '0']
    } else if (character === '}' || character === ']') {
      open.pop()
      typed = ''
    } else if (top === undefined) continue
    else if (character === ',') {
      top.key = undefined
      within = top.kind === '[' ? [...top.path, '0'] : top.path
      typed = ''
    } else if (character === ':' && top.kind === '{') {
      top.key = typed.trim()
      within = [...top.path, top.key]
      typed = ''
    } else typed += character
  }
  const top = open.at(-1)
  if (top === undefined || /["']/.test(typed)) return undefined
  const kind = top.kind === '{' && top.key === undefined ? 'key' : 'value'
  return { path: kind === 'key' ? top.path : within, kind, typed: typed.trimStart(), indent: 0, isFlow: true }
}

/** Returns the keys that the mapping around the cursor already has. */
function siblingsAt(before: string, after: string, column: number): string[] {
  const above = before.split('\n').slice(0, -1).toReversed()
  const below = after.split('\n').slice(1)
  return [above, below].flatMap((texts) => {
    const names: string[] = []
    for (const line of texts.map(lineOf)) {
      if (isEmpty(line)) continue
      if (line.column < column) break
      const [, , name] = line.column === column ? (keyAtStart.exec(line.content) ?? []) : []
      if (name !== undefined) names.push(name)
      // The mapping ends at the first line of this item, or of the next item.
      if (line.column === column && line.dashes.length > 0) break
    }
    return names
  })
}
