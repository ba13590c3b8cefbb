import { isDeepStrictEqual } from 'node:util'
import type { Document, Node, YAMLMap } from 'yaml'
import { isJsonObject, type Json, type JsonObject } from '../../messages.ts'

/** Makes the document say `wanted`; what says it already is left as it is written, with its comments. */
export async function editDocument(document: Document, wanted: JsonObject): Promise<string> {
  const { isAlias, isMap, isScalar } = await import('yaml')
  const edit = (map: YAMLMap, object: JsonObject): void => {
    const keys = map.items.map(({ key }) => String(isScalar(key) ? key.value : key))
    for (const key of keys) if (!Object.hasOwn(object, key)) map.delete(key)
    for (const [key, value] of Object.entries(object)) {
      const node = map.get(key, true) as Node | undefined
      if (node !== undefined && isDeepStrictEqual(node.toJS(document), value)) continue
      if (isMap(node) && isJsonObject(value)) edit(node, value)
      // The comment behind a value belongs to its key more than to the value.
      else if (isScalar(node) && isPlain(value)) node.value = value
      else map.set(key, withComments(document.createNode(value), isAlias(node) ? undefined : node))
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
