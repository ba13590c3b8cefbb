import type { FileRef, FileSet, Page, Quantity, Question, Search, ToolRequest } from '../intents.ts'
import { setOfSearch } from './file-sets.ts'
import type { Slots } from './slots.ts'

/** What the clauses so far have spoken of: what `it`, `those`, `both counts` and `and under tests?` refer to. */
export interface Discourse {
  /** The user message being read, counted from 0. */
  turn: number
  /** True while a clause of the same sentence has named files: later clauses speak of the same place. */
  sentenceHasSet: boolean
  /** The folder the sentence began with: `In src/tools, how long is runner.ts?` */
  topic?: string
  set?: FileSet
  file?: FileRef
  search?: Search
  page?: Page
  call?: ToolRequest
  /** The numbers spoken of, oldest first. `implied`: not asked for as such, as the lines of the longest file. */
  numbers: { quantity: Quantity; implied: boolean; turn: number }[]
  /** What the last clause was about; `and in tests?` repeats it. */
  frame?:
    | { of: 'files'; slots: Slots }
    | { of: 'search'; questions: Question[] }
    | { of: 'clock'; questions: Question[] }
    | { of: 'compare'; questions: Question[] }
  /** Whether a page, a file or something else was spoken of last: `its size`. */
  subject?: 'set' | 'file' | 'page' | 'call'
}

/** Nothing has been spoken of yet. */
export function startDiscourse(): Discourse {
  return { turn: 0, sentenceHasSet: false, numbers: [] }
}

/** Takes note of what a question speaks of. */
export function noteQuestion(discourse: Discourse, question: Question): void {
  switch (question.ask) {
    case 'number':
      noteNumber(discourse, question.quantity, false)
      noteSubject(discourse, question.quantity)
      return
    case 'check':
      noteNumber(discourse, question.quantity, true)
      noteSubject(discourse, question.quantity)
      return
    case 'exists':
      noteNumber(discourse, { of: 'count', set: question.set }, true)
      noteSet(discourse, question.set)
      return
    case 'list':
      noteNumber(discourse, { of: 'count', set: question.set }, true)
      noteSet(discourse, question.set)
      // The first of a list is as good an `it` as any; a list of one file has no other.
      discourse.file = { by: 'set', set: question.set }
      return
    case 'rank':
      noteSet(discourse, question.set)
      noteFile(discourse, { by: 'set', set: question.set })
      if (question.set.top?.most === 1 && question.set.top.measure !== 'name') {
        noteNumber(discourse, { of: 'file', file: { by: 'set', set: question.set }, measure: question.set.top.measure }, true)
      }
      return
    case 'compare':
      noteComparison(discourse, question)
      return
    case 'search':
      discourse.search = question.search
      noteSet(discourse, setOfSearch(question.search))
      noteNumber(discourse, { of: 'search', search: question.search, unit: question.form === 'files' ? 'files' : 'times' }, true)
      return
    case 'read':
    case 'modified':
      noteFile(discourse, question.file)
      return
    case 'page':
      discourse.page = question.page
      discourse.subject = 'page'
      return
    case 'call':
      discourse.call = question.call
      discourse.subject = 'call'
      noteNumber(discourse, { of: 'call', call: question.call }, true)
      return
    case 'clock':
    case 'talk':
    case 'unknown':
      return
  }
}

/** Of files compared, the winner is `it` from then on. */
function noteComparison(discourse: Discourse, { sides, wants }: Extract<Question, { ask: 'compare' }>): void {
  for (const side of sides) noteNumber(discourse, side, true)
  const files = sides.flatMap((side) => (side.of === 'file' ? [side] : []))
  const [first] = files
  if (first !== undefined && files.length === sides.length) {
    noteFile(discourse, {
      by: 'comparison',
      files: files.map(({ file }) => file),
      measure: first.measure,
      order: wants === 'less' ? 'asc' : 'desc',
    })
  }
  const side = sides.find((each) => each.of === 'count' || each.of === 'total')
  if (side !== undefined && 'set' in side) noteSet(discourse, side.set)
}

/** Takes note of what a number is about: `its` and `those` mean that from now on. */
export function noteSubject(discourse: Discourse, quantity: Quantity): void {
  switch (quantity.of) {
    case 'count':
    case 'total':
    case 'average':
      noteSet(discourse, quantity.set)
      return
    case 'file':
      noteFile(discourse, quantity.file)
      return
    case 'search':
      discourse.search = quantity.search
      noteSet(discourse, setOfSearch(quantity.search))
      return
    case 'page':
      discourse.page = quantity.page
      discourse.subject = 'page'
      return
    default:
      return
  }
}

function noteNumber(discourse: Discourse, quantity: Quantity, implied: boolean): void {
  discourse.numbers.push({ quantity, implied, turn: discourse.turn })
}

/** `those` are these files from now on. */
export function noteSet(discourse: Discourse, set: FileSet): void {
  discourse.set = set
  discourse.subject = 'set'
  discourse.sentenceHasSet = true
}

function noteFile(discourse: Discourse, file: FileRef): void {
  if (file.by === 'set') noteSet(discourse, file.set)
  discourse.file = file
  discourse.subject = 'file'
}
