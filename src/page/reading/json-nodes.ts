/** The keys and indexes on the path to a value. */
export type JsonPath = (string | number)[]

/** A node of the tree. A node is a JSON value, or a range of the entries of a long array or object. */
export interface JsonNode {
  id: number
  /** The value itself. For a range, the value that contains the range. */
  value: unknown
  /** The key of the value in its parent. Undefined for the root and for a range. */
  key: string | number | undefined
  range: [from: number, to: number] | undefined
  parent: JsonNode | undefined
  depth: number
  /** The keys, if the value is an object. */
  keys: string[] | undefined
  /** The child nodes. Undefined until they are needed. */
  parts: JsonNode[] | undefined
}

/** Maximum number of child nodes. If a value has more entries, they are grouped into ranges. */
const mostParts = 100

let lastId = 0

export function rootOf(value: unknown): JsonNode {
  return nodeOf(value, undefined, undefined)
}

function nodeOf(
  value: unknown,
  key: string | number | undefined,
  parent: JsonNode | undefined,
  range?: [from: number, to: number],
): JsonNode {
  const isObject = typeof value === 'object' && value !== null && !Array.isArray(value)
  const keys = range !== undefined ? parent?.keys : isObject ? Object.keys(value) : undefined
  return { id: ++lastId, value, key, range, parent, depth: parent === undefined ? 0 : parent.depth + 1, keys, parts: undefined }
}

/** Returns the number of parts of a value or range. */
export function sizeOf({ value, range, keys }: JsonNode) {
  if (range !== undefined) return range[1] - range[0]
  return Array.isArray(value) ? value.length : (keys?.length ?? 0)
}

export function partsOf(node: JsonNode): JsonNode[] {
  node.parts ??= makeParts(node)
  return node.parts
}

function makeParts(node: JsonNode) {
  const { value, range, keys } = node
  const [from, to] = range ?? [0, sizeOf(node)]
  let width = 1
  while ((to - from) / width > mostParts) width *= mostParts
  const count = Math.ceil((to - from) / width)
  return Array.from({ length: count }, (_, at) => {
    const start = from + at * width
    if (width > 1) return nodeOf(value, undefined, node, [start, Math.min(to, start + width)])
    const key = keys === undefined ? start : (keys[start] ?? '')
    return nodeOf(partOf(value, key), key, node)
  })
}

function partOf(value: unknown, key: string | number): unknown {
  return (value as Record<string | number, unknown>)[key]
}

/** Returns the nodes on the path to a value. The last node is that of the value itself, never a range. */
export function nodesTo(root: JsonNode, path: JsonPath) {
  const nodes = [root]
  for (const key of path) {
    let node = nodes.at(-1)
    const place = typeof key === 'number' ? key : (node?.keys?.indexOf(key) ?? -1)
    do {
      const next: JsonNode | undefined =
        node &&
        partsOf(node).find((part) => (part.range === undefined ? part.key === key : place >= part.range[0] && place < part.range[1]))
      if (next === undefined) return nodes
      nodes.push(next)
      node = next
    } while (node.range !== undefined)
  }
  return nodes
}

/** Returns the position of a value as JSONPath (RFC 9535). */
export function pathOf({ key, parent, range }: JsonNode): string {
  const before = parent === undefined ? '$' : pathOf(parent)
  if (range !== undefined || key === undefined) return before
  if (typeof key === 'number') return `${before}[${key}]`
  return /^[\p{L}_$][\p{L}\p{N}_$]*$/u.test(key) ? `${before}.${key}` : `${before}[${JSON.stringify(key)}]`
}

/** Iterates over all values in order, with their paths. All results share one array for the path, which changes with each value. */
export function* walk(root: unknown): Generator<{ path: JsonPath; value: unknown }> {
  const path: JsonPath = []
  const open: { value: unknown; keys: string[] | undefined; size: number; at: number }[] = []
  const enter = (value: unknown) => {
    if (typeof value !== 'object' || value === null) return false
    const keys = Array.isArray(value) ? undefined : Object.keys(value)
    open.push({ value, keys, size: Array.isArray(value) ? value.length : (keys?.length ?? 0), at: 0 })
    return true
  }
  yield { path, value: root }
  enter(root)
  for (let top = open.at(-1); top !== undefined; top = open.at(-1)) {
    if (top.at === top.size) {
      open.pop()
      path.pop()
      continue
    }
    const key = top.keys === undefined ? top.at : (top.keys[top.at] ?? '')
    top.at++
    path.push(key)
    yield { path, value: partOf(top.value, key) }
    if (!enter(partOf(top.value, key))) path.pop()
  }
}

/** Whether the size of a value is within the limits. Stops reading as soon as a limit is exceeded. */
export function isWithin(root: unknown, most: { values: number; characters: number }) {
  let [values, characters] = [0, 0]
  for (const { path, value } of walk(root)) {
    values++
    characters += String(path.at(-1) ?? '').length + (typeof value === 'string' ? value.length : 4)
    if (values > most.values || characters > most.characters) return false
  }
  return true
}

/** Maximum number of characters in the preview of a folded value. */
const mostPreview = 70

/** Describes the beginning of a value in a short text. */
export function previewOf(value: unknown, room: number = mostPreview): string {
  if (typeof value === 'string') return value.length > room ? `${JSON.stringify(value.slice(0, room))}…` : JSON.stringify(value)
  if (typeof value !== 'object' || value === null) return JSON.stringify(value) ?? 'undefined'
  const isList = Array.isArray(value)
  const keys = isList ? value.slice(0, room).keys() : Object.keys(value)
  let text = ''
  for (const key of keys) {
    if (text !== '') text += ', '
    if (text.length >= room) {
      text += '…'
      break
    }
    const name = isList ? '' : `${key}: `
    text += name + previewOf(partOf(value, key), Math.max(10, room - text.length - name.length))
  }
  return isList ? `[${text}]` : `{${text && ` ${text} `}}`
}
