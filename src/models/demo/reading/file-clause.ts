import type { FileRef, FileSet, Measure, Quantity, Question, Top } from '../intents.ts'
import type { Discourse } from './discourse.ts'
import { areApart, fileNamed, setsOf, topOf } from './file-sets.ts'
import type { Slots } from './slots.ts'

/** What a clause about files asks. Undefined when it says too little to tell. */
export function readFileClause(slots: Slots, discourse: Discourse): Question[] | undefined {
  const files = namedFiles(slots, discourse)
  if (slots.range !== undefined || wantsContents(slots, files)) return readContents(slots, discourse, files)
  if (files.length > 0) return askOfFiles(slots, files, discourse)
  if (slots.tops.length > 0) return askOfTops(slots, discourse)
  const sized = impliedMeasures(slots, discourse)
  const sets = setsOf(slots, discourse, true)
  if (slots.measures.includes('modified')) return lists(slots, discourse, ['modified'])
  if (slots.expected !== undefined)
    return sets.map((set) => ({ ask: 'check', quantity: { of: 'count', set }, bounds: slots.expected ?? { text: '' } }))
  if (sized.length > 0) {
    if (slots.asks.has('each') || (!slots.aggregate && (slots.asks.has('list') || (slots.asks.has('which') && slots.noun === 'file'))))
      return lists(slots, discourse, sized)
    return numbers(sized.flatMap((measure) => sets.map((set): Quantity => ({ of: slots.aggregate ?? 'total', set, measure }))))
  }
  if (slots.asks.has('count')) {
    const counts = numbers(sets.map((set) => ({ of: 'count', set })))
    return slots.asks.has('list') && hasSet(slots) && !slots.asks.has('each') && wantsList(slots)
      ? [...counts, ...(lists(slots, discourse, []) ?? [])]
      : counts
  }
  if (slots.asks.has('share') || slots.asks.has('difference')) return undefined
  if (slots.asks.has('exists') && !slots.asks.has('which') && hasSet(slots)) return sets.map((set) => ({ ask: 'exists', set }))
  if (asksForList(slots)) return lists(slots, discourse, [])
  // `TypeScript files under src`, without a word of what about them.
  if (slots.kinds.length > 0 && slots.places.length > 0 && discourse.frame === undefined) return lists(slots, discourse, [])
  return undefined
}

/** `what is the name of this project` names a place, and no files. */
function asksForList(slots: Slots): boolean {
  const asks = (['list', 'give', 'which', 'find', 'where'] as const).some((ask) => slots.asks.has(ask))
  const names =
    slots.noun !== undefined || slots.kinds.length > 0 || slots.refs.has('them') || slots.places.some(({ path }) => path !== '.')
  return asks && (names || (slots.asks.has('read') && slots.places.length > 0))
}

/** What a clause has to say so that it can be answered as it stands, rather than as a variation of the one before. */
export function hasSet(slots: Slots): boolean {
  return slots.noun !== undefined || slots.kinds.length > 0 || slots.places.length > 0 || slots.refs.has('them')
}

/** The numbers that words stand for: `its line count`, `the number of Python files under lib`, `a.ts`. */
export function quantitiesOf(slots: Slots, discourse: Discourse): Quantity[] | undefined {
  if (slots.range !== undefined || slots.strange !== undefined || slots.unknown.length > 0) return undefined
  const files = namedFiles(slots, discourse)
  const measures = numericMeasures(slots)
  if (files.length > 0)
    return measures.length === 0 ? undefined : files.flatMap((file) => measures.map((measure) => ({ of: 'file', file, measure })))
  const sets = setsOf(slots, discourse, true)
  if (slots.tops.length > 0) {
    return slots.tops.flatMap((top) => sets.flatMap((set) => measuresOfTop(slots, top, topOf(set, top))))
  }
  const sized = sizedMeasures(slots)
  if (sized.length > 0) return sized.flatMap((measure) => sets.map((set): Quantity => ({ of: slots.aggregate ?? 'total', set, measure })))
  return hasSet(slots) || slots.asks.has('count') ? sets.map((set) => ({ of: 'count', set })) : undefined
}

/** `the line count of the longest`; for several, what they have together. */
function measuresOfTop(slots: Slots, top: Top, set: FileSet): Quantity[] {
  const measures = numericMeasures(slots)
  const implied: Measure[] = top.measure === 'lines' || top.measure === 'bytes' ? [top.measure] : []
  return (measures.length > 0 ? measures : implied).map((measure): Quantity => {
    if (top.most > 1 && (measure === 'lines' || measure === 'bytes')) return { of: slots.aggregate ?? 'total', set, measure }
    return { of: 'file', file: { by: 'set', set }, measure }
  })
}

function numericMeasures(slots: Slots): Measure[] {
  return slots.measures.filter((measure) => measure !== 'modified')
}

function sizedMeasures(slots: Slots): ('lines' | 'bytes')[] {
  return slots.measures.filter((measure) => measure === 'lines' || measure === 'bytes')
}

/** `the 3 longest …, and their total`: of lines. */
function impliedMeasures(slots: Slots, { set }: Discourse): ('lines' | 'bytes')[] {
  const sized = sizedMeasures(slots)
  const measure = set?.top?.measure
  const isTotal = sized.length === 0 && slots.aggregate !== undefined && slots.refs.has('them') && !slots.asks.has('count')
  return isTotal && (measure === 'lines' || measure === 'bytes') ? [measure] : sized
}

/** The files a clause names, or the one it calls `it`. */
function namedFiles(slots: Slots, discourse: Discourse): FileRef[] {
  const folder = slots.places.find(({ isFile }) => !isFile)?.path ?? discourse.topic
  const named = slots.places.filter(({ isFile }) => isFile).map(({ path }): FileRef => fileNamed(path, discourse.turn, folder))
  if (named.length > 0 || !slots.refs.has('it') || discourse.file === undefined) return named
  const speaksOfFile = slots.kinds.length === 0 && slots.places.length === 0 && slots.tops.length === 0
  const wants = slots.measures.length > 0 || slots.range !== undefined || slots.asks.has('read') || slots.conditions.length > 0
  // `its size` may be that of all files spoken of; words and contents only a single one has.
  const isSingle =
    slots.range !== undefined || slots.asks.has('read') || slots.measures.some((measure) => measure !== 'lines' && measure !== 'bytes')
  return speaksOfFile && wants && (isSingle || discourse.subject !== 'set') ? [discourse.file] : []
}

/** `show a.ts` wants its text, `show the lines of a.ts` a number. */
function wantsContents(slots: Slots, files: readonly FileRef[]): boolean {
  if (slots.measures.length > 0 || slots.conditions.length > 0) return false
  if (files.length === 0) return slots.asks.has('read') && slots.tops.length > 0
  return (
    slots.asks.has('read') || ((slots.asks.has('list') || slots.asks.has('give')) && !slots.asks.has('find') && !slots.asks.has('where'))
  )
}

/** The text of the files named, of the first of an order, or of the file spoken of. */
function readContents(slots: Slots, discourse: Discourse, files: readonly FileRef[]): Question[] | undefined {
  const range = slots.range === undefined ? {} : { range: slots.range }
  const tops = slots.tops.flatMap((top) =>
    setsOf(slots, discourse, false).map((set): FileRef => ({ by: 'set', set: topOf(set, { ...top, most: 1 }) })),
  )
  const last = discourse.file !== undefined && (slots.refs.has('it') || !hasSet(slots)) ? [discourse.file] : []
  const wanted = files.length > 0 ? files : tops.length > 0 ? tops : last
  return wanted.length === 0 ? undefined : wanted.map((file) => ({ ask: 'read', file, ...range }))
}

/** What is asked of files known by their names. */
function askOfFiles(slots: Slots, files: readonly FileRef[], discourse: Discourse): Question[] | undefined {
  const [top] = slots.tops
  if (slots.sort !== undefined) return undefined
  if (top !== undefined && files.length > 1) return [compareFiles(files, top)]
  const [condition] = slots.conditions
  if (condition !== undefined) {
    return files.map((file) => ({ ask: 'check', quantity: { of: 'file', file, measure: condition.measure }, bounds: condition }))
  }
  if (slots.aggregate !== undefined && files.length > 1 && numericMeasures(slots).length > 0) {
    const quantities = numericMeasures(slots).map((measure) => files.map((file): Quantity => ({ of: 'file', file, measure })))
    return quantities.flatMap((items): Question[] => [
      ...items.map((quantity): Question => ({ ask: 'number', quantity })),
      { ask: 'number', quantity: { of: 'sum', items } },
    ])
  }
  if (slots.measures.length > 0) {
    return slots.measures.flatMap((measure) =>
      files.map(
        (file): Question =>
          measure === 'modified' ? { ask: 'modified', file } : { ask: 'number', quantity: { of: 'file', file, measure } },
      ),
    )
  }
  if (slots.asks.has('count')) return undefined
  const sets = files.flatMap((file) => (file.by === 'name' ? [file.set] : []))
  if (slots.asks.has('exists')) return sets.map((set) => ({ ask: 'exists', set }))
  if (slots.asks.has('where') || slots.asks.has('find')) return sets.map((set) => ({ ask: 'list', set, show: [] }))
  return discourse.frame === undefined ? files.map((file) => ({ ask: 'read', file })) : undefined
}

/** `the biggest of a.ts, b.ts and c.ts`. */
function compareFiles(files: readonly FileRef[], { measure, order, word }: Top): Question {
  const unit = measure === 'name' ? 'lines' : measure
  const sides = files.map((file): Quantity => ({ of: 'file', file, measure: unit }))
  return { ask: 'compare', sides, wants: order === 'desc' ? 'more' : 'less', form: 'which', word }
}

/** Which files come first, or what they measure. */
function askOfTops(slots: Slots, discourse: Discourse): Question[] {
  const [condition] = slots.conditions
  const isCheck = slots.asks.has('yes-no') && condition !== undefined
  const open = isCheck ? { ...slots, conditions: [] } : slots
  const sets = setsOf(open, discourse, false)
  return slots.tops.flatMap((top) =>
    sets.flatMap((set): Question[] => {
      const chosen = topOf(set, top)
      const file: FileRef = { by: 'set', set: chosen }
      if (isCheck) return [{ ask: 'check', quantity: { of: 'file', file, measure: condition.measure }, bounds: condition }]
      if (slots.measures.length === 0) return [{ ask: 'rank', set: chosen }]
      if (top.most > 1 && slots.aggregate === undefined) return [{ ask: 'list', set: chosen, show: slots.measures.filter(isListed) }]
      const quantities = measuresOfTop(slots, top, chosen).map((quantity): Question => ({ ask: 'number', quantity }))
      return [...quantities, ...(slots.measures.includes('modified') ? [{ ask: 'modified' as const, file }] : [])]
    }),
  )
}

function isListed(measure: Measure): measure is 'lines' | 'bytes' | 'modified' {
  return measure === 'lines' || measure === 'bytes' || measure === 'modified'
}

function wantsList(slots: Slots): boolean {
  return slots.unknown.length === 0 && slots.asks.has('list')
}

/** The files themselves, in the order wanted. */
function lists(slots: Slots, discourse: Discourse, show: ('lines' | 'bytes' | 'modified')[]): Question[] {
  const { sort, limit } = slots
  return setsOf(slots, discourse, false).map((set): Question => {
    const top: Top | undefined =
      sort !== undefined || limit !== undefined
        ? { measure: sort?.measure ?? 'name', order: sort?.order ?? 'asc', skip: 0, most: limit ?? Number.POSITIVE_INFINITY, word: 'first' }
        : set.top
    const shown = [
      ...new Set([
        ...show,
        ...slots.conditions.map(({ measure }) => measure),
        ...(sort === undefined || sort.measure === 'name' ? [] : [sort.measure]),
      ]),
    ]
    const isRanked = sort === undefined && limit === undefined && top !== undefined && top.measure !== 'name' && show.length === 0
    if (isRanked) return { ask: 'rank', set: topOf(set, top) }
    return { ask: 'list', set: top === undefined ? set : topOf(set, top), show: shown }
  })
}

/** Each number, and what several of the same sort make together. */
function numbers(quantities: Quantity[]): Question[] {
  const asked = quantities.map((quantity): Question => ({ ask: 'number', quantity }))
  const sets = quantities.flatMap((quantity) => (quantity.of === 'count' || quantity.of === 'total' ? [quantity.set] : []))
  const alike = new Set(quantities.map((quantity) => `${quantity.of} ${'measure' in quantity ? quantity.measure : ''}`)).size === 1
  if (quantities.length < 2 || sets.length !== quantities.length || !alike || !areApart(sets)) return asked
  return [...asked, { ask: 'number', quantity: { of: 'sum', items: quantities } }]
}
