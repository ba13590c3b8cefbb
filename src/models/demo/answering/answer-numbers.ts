import type { FileSet, Measure, Quantity, Question } from '../intents.ts'
import { amount, showBytes, showNumber } from './amounts.ts'
import type { Answer } from './answers.ts'
import { type Cabinet, isWithin } from './cabinet.ts'
import { capital, countFiles, describeSet, emptyFact, lackOf, placeOf, placeOfSearch, quote, rankWord } from './describe.ts'
import { all, andThen, knownAs, none, type Outcome } from './outcome.ts'
import { type Amount, calculate, measure, readFile, searchFor, showResult } from './quantities.ts'

/** Says what a number is, in a sentence. */
export function answerNumber(quantity: Quantity, cabinet: Cabinet, earlier: readonly Question[] = []): Answer {
  const sentence = andThen(measure(quantity, cabinet), (found) =>
    quantity.of === 'count' && found.value === 0 && found.isLeast !== true
      ? none(emptyFact(quantity.set))
      : sentenceOf(quantity, found, cabinet, earlier),
  )
  const note = andThen(sentence, (text) => andThen(noteOf(quantity, cabinet), (more) => knownAs(text + more)))
  return note.is === 'none' && quantity.of !== 'count' ? { ...note, lacks: lackOf(quantity) } : note
}

/** What a list may lack, as the tool tells. */
function noteOf(quantity: Quantity, cabinet: Cabinet): Outcome<string> {
  if (quantity.of !== 'count' && quantity.of !== 'total' && quantity.of !== 'average') return knownAs('')
  return andThen(cabinet.filesOf(quantity.set, 'measure' in quantity && quantity.measure === 'lines'), ({ note }) =>
    knownAs(note === undefined ? '' : ` (${note})`),
  )
}

/** A number in a sentence that says of what. */
function sentenceOf(quantity: Quantity, found: Amount, cabinet: Cabinet, earlier: readonly Question[] = []): Outcome<string> {
  const least = found.isLeast === true ? 'at least ' : ''
  switch (quantity.of) {
    case 'literal':
      return knownAs(`That is ${quantity.text}.`)
    case 'count':
      return knownAs(
        `There ${found.value === 1 && least === '' ? 'is' : 'are'} ${least}${showNumber(found.value)} ${describeSet(quantity.set, found.value === 1)}.`,
      )
    case 'total':
    case 'average':
      return andThen(cabinet.filesOf(quantity.set, quantity.measure === 'lines'), ({ count }) => {
        const shown = quantity.measure === 'lines' ? amount(found.value, 'line') : showBytes(found.value)
        const has = count === 1 ? 'has' : 'have'
        const counted =
          quantity.set.top === undefined
            ? `${showNumber(count)} ${describeSet(quantity.set, count === 1)}`
            : `${showNumber(count)} ${quantity.set.top.word} ${describeSet(quantity.set, count === 1)}`
        return knownAs(
          `The ${counted} ${has} ${least}${shown}${quantity.of === 'average' ? ' on average' : count === 1 ? '' : ' in total'}.`,
        )
      })
    case 'file':
      return andThen(nameOf(quantity, cabinet, earlier), (name) =>
        knownAs(`${name} has ${least}${showMeasure(found.value, quantity.measure)}.`),
      )
    case 'search':
      return andThen(searchFor(quantity.search, cabinet), ({ lines, files, times }) => {
        const what = quote(quantity.search)
        const where = placeOfSearch(quantity.search)
        if (lines === 0) return knownAs(`${capital(what)} does not occur ${where}.`)
        if (quantity.unit === 'files')
          return knownAs(`${countFiles(quantity.search, files)} ${files === 1 ? 'mentions' : 'mention'} ${what}.`)
        if (quantity.unit === 'lines')
          return knownAs(
            `${amount(lines, 'line')} ${where} ${lines === 1 ? 'contains' : 'contain'} ${what}${quantity.search.isFile ? '' : `, in ${amount(files, 'file')}`}.`,
          )
        const counted = times === undefined ? `on ${amount(lines, 'line')}` : `${amount(times, 'time')}, on ${amount(lines, 'line')}`
        return knownAs(`${capital(what)} occurs ${counted} ${quantity.search.isFile ? where : `in ${countFiles(quantity.search, files)}`}.`)
      })
    case 'page':
      return knownAs(`${quantity.page.url} has ${least}${showMeasure(found.value, quantity.measure)}.`)
    case 'call':
      return knownAs(`The result of ${quantity.call.tool} is ${showNumber(found.value)}.`)
    case 'sum':
      // That nothing and nothing makes nothing need not be said.
      if (found.value === 0) return knownAs('')
      return knownAs(`That makes ${least}${showSum(found.value, quantity)} together.`)
    case 'formula':
      return andThen(calculate(quantity.formula, cabinet), ({ shown, result }) => {
        const spelled = shown.replaceAll('*', '×').replaceAll(' / ', ' ÷ ')
        return knownAs(
          `${spelled} ${isRounded(result) ? '≈' : '='} ${showResult(result)}${quantity.formula.percent ? `, so ${Number(result.value.toFixed(2))} %` : ''}.`,
        )
      })
  }
}

function isRounded({ value, exact }: Amount): boolean {
  return exact !== undefined ? !/^-?\d+$/.test(exact) : Number(showNumber(value)) !== value
}

function showSum(value: number, quantity: Extract<Quantity, { of: 'sum' }>): string {
  const [first] = quantity.items
  if (first === undefined || !('measure' in first)) return showNumber(value)
  return showMeasure(value, first.measure)
}

function showMeasure(value: number, wanted: Measure): string {
  if (wanted === 'bytes') return showBytes(value)
  return amount(value, { lines: 'line', words: 'word', characters: 'character', modified: 'time' }[wanted])
}

/** `src/a.ts`, or `src/a.ts, the longest TypeScript file under src,` where it was found by an order. */
function nameOf(
  { file, measure: wanted }: Extract<Quantity, { of: 'file' }>,
  cabinet: Cabinet,
  earlier: readonly Question[],
): Outcome<string> {
  const isText = wanted === 'words' || wanted === 'characters'
  const path =
    isText && file.by === 'name'
      ? andThen(readFile(file, undefined, cabinet), (read) => knownAs(read.path))
      : andThen(cabinet.fileOf(file, wanted === 'lines'), (found) => knownAs(found.path))
  if (file.by !== 'set' || file.set.top === undefined || earlier.some((question) => question.ask === 'rank' && question.set === file.set))
    return path
  const { set } = file
  return andThen(path, (known) =>
    knownAs(
      `${known}, the ${rankWord(file.set.top ?? { measure: 'lines', order: 'desc', skip: 0, most: 1, word: '' })} ${describeOne(set)},`,
    ),
  )
}

/** `TypeScript file under src`. */
export function describeOne(set: FileSet): string {
  return describeSet(set, true)
}

/** `Yes: src/a.ts has 120 lines, more than 100.` */
export function answerCheck({ quantity, bounds }: Extract<Question, { ask: 'check' }>, cabinet: Cabinet): Answer {
  return andThen(measure(quantity, cabinet), (found) => {
    const holds = isWithin(found.value, bounds)
    const sentence =
      quantity.of === 'count' && found.value === 0 ? knownAs(`${emptyFact(quantity.set)}.`) : sentenceOf(quantity, found, cabinet)
    return andThen(sentence, (text) =>
      knownAs(`${holds ? 'Yes' : 'No'}: ${lowerFirst(text.replace(/\.$/, ''))}, ${holds ? '' : 'not '}${bounds.text}.`),
    )
  })
}

/** `src/…` keeps its case, `There are …` does not. */
function lowerFirst(text: string): string {
  return /^(There|The) /.test(text) ? text.charAt(0).toLowerCase() + text.slice(1) : text
}

/** `There are more under src: 12 TypeScript files under src, 7 TypeScript files under tests (5 more).` */
export function answerCompare({ sides, wants, form, word }: Extract<Question, { ask: 'compare' }>, cabinet: Cabinet): Answer {
  // No files have no lines: to compare, that is 0.
  const amounts = all(sides.map((side) => measured(side, cabinet)))
  return andThen(amounts, (found) =>
    andThen(all(sides.map((side, at) => describeSide(side, found[at]?.value ?? 0, cabinet))), (described) => {
      const values = found.map(({ value }) => value)
      const best = wants === 'less' ? Math.min(...values) : Math.max(...values)
      const winners = values.flatMap((value, at) => (value === best ? [at] : []))
      const [first = 0, second = 0] = values
      const [winner = 0] = winners
      const isTie = winners.length > 1
      const facts = described.map(({ fact }) => fact).join(', ')
      const [side] = sides
      const unit = side?.of === 'file' && side.measure === 'modified' ? undefined : Math.abs(first - second)
      const gap =
        sides.length === 2 && !isTie && unit !== undefined
          ? ` (difference: ${side !== undefined && 'measure' in side && side.measure === 'bytes' ? showBytes(unit) : showNumber(unit)})`
          : ''
      if (form === 'yes-no') {
        const holds = wants === 'less' ? first < second : wants === 'same' ? first === second : first > second
        return knownAs(`${holds ? 'Yes' : 'No'}: ${facts}${gap}.`)
      }
      if (isTie) return knownAs(`${winners.length === values.length ? 'They are equal' : 'There is a tie'}: ${facts}.`)
      return knownAs(`${verdict(sides, described, winner, wants === 'less' ? 'fewer' : 'more', word)}: ${facts}${gap}.`)
    }),
  )
}

function measured(side: Quantity, cabinet: Cabinet): Outcome<Amount> {
  const found = measure(side, cabinet)
  return found.is === 'none' && (side.of === 'total' || side.of === 'count') ? knownAs({ value: 0 }) : found
}

/** A side of a comparison in words. */
interface DescribedSide {
  name: string
  fact: string
}

function describeSide(side: Quantity, value: number, cabinet: Cabinet): Outcome<DescribedSide> {
  switch (side.of) {
    case 'count':
      return knownAs({ name: describeSet(side.set), fact: `${amount(value, describeSet(side.set, true), describeSet(side.set))}` })
    case 'total':
    case 'average':
      return knownAs({ name: describeSet(side.set), fact: `the ${describeSet(side.set)} have ${showMeasure(value, side.measure)}` })
    case 'file':
      return andThen(cabinet.fileOf(side.file, side.measure === 'lines'), ({ path, modified }) => {
        const rank =
          side.file.by === 'set' && side.file.set.top !== undefined
            ? ` (the ${rankWord(side.file.set.top)} ${describeOne(side.file.set)})`
            : ''
        return knownAs({
          name: path,
          fact:
            side.measure === 'modified'
              ? `${path} was modified on ${showTime(modified)}`
              : `${path}${rank} has ${showMeasure(value, side.measure)}`,
        })
      })
    default:
      return knownAs({ name: showNumber(value), fact: showNumber(value) })
  }
}

/** What tells the winner from the others: its place, its kind, or its name. */
function verdict(sides: readonly Quantity[], described: readonly DescribedSide[], winner: number, more: string, word: string): string {
  const side = sides[winner]
  const name = described[winner]?.name ?? ''
  if (side?.of === 'count') {
    const places = new Set(sides.map((each) => (each.of === 'count' ? each.set.folder : '')))
    return places.size === sides.length ? `There are ${more} ${placeOf(side.set)}` : `There are ${more} ${name}`
  }
  if (side?.of === 'file') return /^(more|fewer|less|greater|)$/.test(word) ? `${name} has ${more}` : `${name} is the ${word} one`
  if (side?.of === 'total' || side?.of === 'average') return `The ${name} have ${more}`
  return `${name} is ${more === 'more' ? 'larger' : 'smaller'}`
}

/** An ISO time as it is shown: `2026-01-02 at 10:20 UTC`. */
export function showTime(iso: string): string {
  const [, date, time] = /^(\d{4}-\d{2}-\d{2})T(\d{2}:\d{2})/.exec(iso) ?? []
  return date === undefined || time === undefined ? iso || 'an unknown date' : `${date} at ${time}${iso.endsWith('Z') ? ' UTC' : ''}`
}
