import { isDeepStrictEqual } from 'node:util'
import type { Document, Node, Pair, YAMLMap } from 'yaml'
import { isJsonObject, type Json, type JsonObject } from '../../core/messages.ts'

/** Edits a document so that it contains `wanted`. Unchanged values keep their formatting and comments. */
export async function editDocument(document: Document, wanted: JsonObject): Promise<string> {
  const { isAlias, isMap, isScalar } = await import('../../core/yaml.ts')
  const edit = (map: YAMLMap, object: JsonObject): void => {
    // Keys are read directly, because the lookup method of the map would compare each key with every other key.
    const keyOf = ({ key }: Pair) => String(isScalar(key) ? key.value : key)
    map.items = map.items.filter((pair) => Object.hasOwn(object, keyOf(pair)))
    const pairs = new Map(map.items.map((pair) => [keyOf(pair), pair]))
    for (const [key, value] of Object.entries(object)) {
      const pair = pairs.get(key)
      const node = pair?.value as Node | undefined
      if (node !== undefined && isDeepStrictEqual(node.toJS(document), value)) continue
      if (isMap(node) && isJsonObject(value)) edit(node, value)
      // Changes the value in its node. A new node would lose a comment after the value, which usually still applies.
      else if (isScalar(node) && isPlain(value)) node.value = value
      else {
        const fresh = withComments(document.createNode(value), isAlias(node) ? undefined : node)
        if (pair === undefined) map.items.push(document.createPair(key, fresh))
        else pair.value = fresh
      }
    }
  }
  if (!isMap(document.contents)) document.contents = document.createNode({}) as never
  if (isMap(document.contents)) edit(document.contents, wanted)
  return document.toString({ lineWidth: 0 })
}

function isPlain(value: Json): boolean {
  return typeof value !== 'object' || value === null
}

function withComments(fresh: Node, old: Node | undefined): Node {
  if (old?.comment) fresh.comment = old.comment
  if (old?.commentBefore) fresh.commentBefore = old.commentBefore
  return fresh
}
