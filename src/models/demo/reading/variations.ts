import type { Question } from '../intents.ts'
import type { Discourse } from './discourse.ts'
import { readFileClause } from './file-clause.ts'
import { setsOf } from './file-sets.ts'
import type { Slots } from './slots.ts'
import type { Token } from './tokens.ts'
import { isEmptyWord } from './words.ts'

/** A clause that only names another place, kind or file: `and under tests?`, `what about Python?`. */
export function isVariation(slots: Slots): boolean {
  const asks = [...slots.asks].filter((ask) => ask !== 'which')
  const names = slots.places.length + slots.kinds.length + slots.conditions.length > 0
  return (
    names &&
    !slots.refs.has('it') &&
    asks.length === 0 &&
    slots.measures.length === 0 &&
    slots.tops.length === 0 &&
    slots.range === undefined &&
    slots.expected === undefined &&
    !(slots.asks.has('which') && slots.noun === 'file')
  )
}

/** The clause before, with what this one names in its place. Undefined when there is nothing to vary. */
export function readVariation(slots: Slots, tokens: readonly Token[], discourse: Discourse): Question[] | undefined {
  const { frame } = discourse
  if (slots.places.length + slots.kinds.length + slots.conditions.length === 0) return undefined
  if (frame?.of === 'files') {
    const before = frame.slots
    const asFolder =
      slots.kinds.length === 1 && slots.places.length === 0 && before.places.some(({ isFile }) => !isFile) ? bareWord(tokens) : undefined
    const kinds = asFolder === undefined ? slots.kinds : []
    const places = asFolder === undefined ? slots.places : [{ at: 0, path: asFolder, isFile: false }]
    const merged: Slots = {
      ...before,
      places: places.length > 0 ? places : before.places,
      kinds: kinds.length > 0 ? kinds : before.kinds,
      conditions: slots.conditions.length > 0 ? slots.conditions : before.conditions,
      refs: slots.refs,
    }
    discourse.frame = { of: 'files', slots: merged }
    return readFileClause(merged, discourse)
  }
  if (frame?.of === 'search' && slots.places.length > 0) {
    const [set] = setsOf(slots, discourse, false)
    return frame.questions.map((question) => (set === undefined ? question : movedSearch(question, set.folder, discourse.turn)))
  }
  return undefined
}

/** `and tests?` after a question about a folder: most likely a folder too. */
function bareWord(tokens: readonly Token[]): string | undefined {
  const content = tokens.filter(({ kind, word }) => kind === 'word' && (!isEmptyWord(word) || word === 'files'))
  const [only] = content
  return content.length === 1 &&
    only !== undefined &&
    /^[a-z]+$/.test(only.text) &&
    /^(tests?|specs?|images|docs|logs|fonts|styles)$/.test(only.word)
    ? only.text
    : undefined
}

/** The same search in another folder. */
function movedSearch(question: Question, folder: string, turn: number): Question {
  if (question.ask === 'search') return { ...question, search: { ...question.search, folder, turn } }
  if (question.ask !== 'number' || question.quantity.of !== 'search') return question
  return { ask: 'number', quantity: { ...question.quantity, search: { ...question.quantity.search, folder, turn } } }
}
