import type { FileSet, Question, Search } from '../intents.ts'
import type { Discourse } from './discourse.ts'
import { setOfSearch, setsOf } from './file-sets.ts'
import { kindOfName } from './kinds.ts'
import { type Clause, type Phrase, phrase } from './phrases.ts'
import { type SearchForm, type SearchWords, takeSearch } from './search-words.ts'
import { readSlots, type Slots } from './slots.ts'
import type { Token } from './tokens.ts'

/** `how many files contain it`, `and how often?`: the text searched for before. */
const againRules: [SearchForm, Phrase][] = [
  ['mentions', phrase('mention|mentions|contain|contains|include|includes|use|uses|import|imports it|that|them|this')],
  ['times', phrase('how often does|is? it? is|occur|occurs|appear|appears|used? used? $')],
  ['times', phrase('how many times does|is? it? is|occur|occurs|appear|appears|used? used? $')],
]
/** Reads a clause that searches for text: its questions, or undefined when it searches for nothing. Takes the words it understands. */
export function readSearchClause(clause: Clause, discourse: Discourse): { questions: Question[]; slots: Slots } | undefined {
  const again = searchAgain(clause, discourse)
  if (again !== undefined) return again
  const found = takeSearch(clause)
  if (found === undefined) return undefined
  const slots = readSlots(clause)
  // `does it mention …`, of a file whose name is not known yet: that would take a search that waits for a list.
  if (slots.refs.has('it') && discourse.subject === 'file' && discourse.file?.by !== 'name') return undefined
  const searches = found.texts.flatMap(({ token, negated }) =>
    searchesOf(token, found, slots, discourse).map((search) => ({ search, negated })),
  )
  if (searches.length === 0) return undefined
  const isJoint =
    searches.length > 1 &&
    found.form === 'mentions' &&
    (clause.tokens.some(({ word }) => word === 'both') || searches.some(({ negated }) => negated))
  const [set] = isJoint ? setsOf(slots, discourse, false) : []
  if (set !== undefined) return { slots, questions: askOfFiles({ ...set, mentions: searches }, slots) }
  return { slots, questions: searches.flatMap(({ search, negated }) => askOfSearch(search, negated, found, slots, discourse)) }
}

/** The same search once more, with another question about it. */
function searchAgain(clause: Clause, discourse: Discourse): { questions: Question[]; slots: Slots } | undefined {
  const { search } = discourse
  const form = againRules.find(([, wanted]) => clause.takePhrase(wanted) !== undefined)?.[0]
  if (search === undefined || form === undefined) return undefined
  const slots = readSlots(clause)
  if (form === 'times') return { slots, questions: [{ ask: 'number', quantity: { of: 'search', search, unit: 'times' } }] }
  const counts = slots.asks.has('count')
  return {
    slots,
    questions: [counts ? { ask: 'number', quantity: { of: 'search', search, unit: 'files' } } : { ask: 'search', search, form: 'files' }],
  }
}

const definitionWords = 'function|class|interface|type|const|let|var|enum|def|fn|func|struct|trait|impl|module|namespace'

/** The query, or the regular expression that finds it where it has to stand. */
function patternOf({ text, kind }: Token, { form, definition }: SearchWords): { query: string; regex: boolean } {
  const isRegex = kind === 'regex'
  const pattern = isRegex ? text : text.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&')
  if (form === 'starts') return { query: `^\\s*${pattern}`, regex: true }
  if (form === 'ends') return { query: `${pattern}\\s*$`, regex: true }
  if (definition && !isRegex) return { query: `\\b(${definitionWords})\\s+${pattern}\\b`, regex: true }
  return { query: text, regex: isRegex }
}

/** The searches for one text: one for each file or folder named. */
function searchesOf(query: Token, found: SearchWords, slots: Slots, discourse: Discourse): Search[] {
  const pattern = patternOf(query, found)
  const make = (folder: string, kinds: Search['kinds'], isFile = false): Search => ({
    turn: discourse.turn,
    ...pattern,
    ignoreCase: found.ignoreCase,
    folder,
    isFile,
    kinds,
  })
  const spoken =
    slots.refs.has('it') && discourse.subject === 'file' && discourse.file?.by === 'name' ? [{ path: discourse.file.name }] : []
  const named = slots.places.filter(({ isFile }) => isFile)
  const files = named.length > 0 ? named : spoken
  if (files.length > 0) return files.map(({ path }) => (path.includes('/') ? make(path, [], true) : make('.', [kindOfName(path)])))
  // `where is foo used` speaks of all files, not of the kind that was spoken of before.
  const anew: Slots = slots.noun === undefined && !slots.refs.has('them') ? { ...slots, noun: 'file' } : slots
  return setsOf(anew, discourse, false).map((set) => make(set.folder, set.kinds))
}

/** What is asked of a search: the files that mention, how often, where. */
function askOfSearch(search: Search, negated: boolean, { form, isAsked }: SearchWords, slots: Slots, discourse: Discourse): Question[] {
  if (form === 'starts' || form === 'ends') return [{ ask: 'number', quantity: { of: 'search', search, unit: 'lines' } }]
  if (form === 'times' || form === 'lines') return [{ ask: 'number', quantity: { of: 'search', search, unit: form } }]
  if (form === 'places') return [{ ask: 'search', search, form: 'places' }]
  const isPlain =
    !negated &&
    !slots.kinds.some(({ excluded }) => excluded) &&
    slots.conditions.length === 0 &&
    slots.tops.length === 0 &&
    slots.measures.length === 0 &&
    !slots.asks.has('each')
  const set: FileSet = { ...(setsOf(slots, discourse, false)[0] ?? setOfSearch(search)), mentions: [{ search, negated }] }
  if (isPlain) {
    if (slots.asks.has('count')) return [{ ask: 'number', quantity: { of: 'search', search, unit: 'files' } }]
    return [{ ask: 'search', search, form: isAsked || slots.asks.has('yes-no') || slots.asks.has('exists') ? 'yes-no' : 'files' }]
  }
  return askOfFiles(set, slots)
}

/** Of files that are chosen by more than what they mention. */
function askOfFiles(set: FileSet, slots: Slots): Question[] {
  const [top] = slots.tops
  if (top !== undefined) return [{ ask: 'rank', set: { ...set, top } }]
  if (slots.measures.some((measure) => measure === 'lines' || measure === 'bytes') && !slots.asks.has('each')) {
    const measure = slots.measures.includes('lines') ? 'lines' : 'bytes'
    return [{ ask: 'number', quantity: { of: slots.aggregate ?? 'total', set, measure } }]
  }
  if (slots.asks.has('count')) return [{ ask: 'number', quantity: { of: 'count', set } }]
  return [{ ask: 'list', set, show: slots.conditions.map(({ measure }) => measure) }]
}
