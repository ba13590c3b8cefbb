import { isJsonObject, type JsonObject } from '../messages.ts'

/** A text and its replacement. */
export interface TextEdit {
  before: string
  after: string
}

/** Argument names that editing tools use for a text and its replacement. */
const editNames = [
  ['old_string', 'new_string'],
  ['oldString', 'newString'],
  ['oldText', 'newText'],
  ['old_str', 'new_str'],
  ['old_text', 'new_text'],
] as const

/**
 * Returns the text replacements in a call's arguments, and the other arguments. A replacement is recognized by the names in `editNames`,
 * either directly in the arguments or in a list `edits`.
 */
export function editsIn(args: JsonObject): { edits: TextEdit[]; others: JsonObject } {
  const { edits: list, ...fields } = args
  if (!Array.isArray(list) || list.length === 0) return editIn(args, editNames)
  const own = editIn(fields, editNames)
  const listed = list.map((one) => editIn(isJsonObject(one) ? one : {}, editNames))
  const isShown = listed.every(({ edits, others }) => edits.length > 0 && Object.keys(others).length === 0)
  return {
    edits: [...own.edits, ...listed.flatMap(({ edits }) => edits)],
    // Leaves out `edits` only if the replacements contain everything in it.
    others: isShown ? own.others : { ...own.others, edits: list },
  }
}

/** Returns the texts `before` and `after` of `about` as an edit, and the other fields of `about`. */
export function changeIn(about: unknown): { edits: TextEdit[]; others: JsonObject } {
  return isJsonObject(about) ? editIn(about, [['before', 'after']]) : { edits: [], others: {} }
}

function editIn(fields: JsonObject, names: readonly (readonly [string, string])[]): { edits: TextEdit[]; others: JsonObject } {
  const others = { ...fields }
  const edits: TextEdit[] = []
  for (const [old, fresh] of names) {
    const [before, after] = [fields[old], fields[fresh]]
    if (typeof before !== 'string' || typeof after !== 'string') continue
    edits.push({ before, after })
    delete others[old]
    delete others[fresh]
  }
  return { edits, others }
}
