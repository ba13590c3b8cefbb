import type { FileRef, FileSet, Question, Top } from '../intents.ts'
import { amount, showBytes, showNumber } from './amounts.ts'
import { describeOne, showTime } from './answer-numbers.ts'
import { type Answer, joinWords } from './answers.ts'
import type { Cabinet, Files, ListedFile } from './cabinet.ts'
import { describeSet, emptyFact, rankWord } from './describe.ts'
import { andThen, knownAs, none } from './outcome.ts'

/** `Yes, there are 3 Python files under src: …`. */
export function answerExists(set: FileSet, cabinet: Cabinet): Answer {
  return andThen(cabinet.filesOf(set, false), ({ count, files, isWhole }) => {
    if (count === 0) return knownAs(`No, ${emptyFact(set).charAt(0).toLowerCase()}${emptyFact(set).slice(1)}.`)
    const names = count === 1 && files[0] !== undefined ? `: ${files[0].path}` : ''
    return knownAs(
      `Yes, there ${count === 1 ? 'is' : 'are'} ${isWhole ? '' : 'at least '}${showNumber(count)} ${describeSet(set, count === 1)}${names}.`,
    )
  })
}

/** `The longest TypeScript file under src is src/a.ts with 120 lines.` After a sentence about the same files just `The longest is …`. */
export function answerRank(set: FileSet, cabinet: Cabinet, earlier: readonly Question[]): Answer {
  const { top } = set
  if (top === undefined) return none(emptyFact(set))
  const answer = andThen(cabinet.filesOf(set, top.measure === 'lines'), (found) => {
    if (found.files.length === 0) return none(emptyFact(set))
    return knownAs(top.most > 1 ? rankList(set, top, found) : rankOne(set, top, found, isSpokenOf(set, earlier)))
  })
  return answer.is === 'none' ? { ...answer, lacks: `no ${rankWord(top)} one` } : answer
}

/** Whether the sentence before was about the same files. */
function isSpokenOf(set: FileSet, earlier: readonly Question[]): boolean {
  const last = earlier.findLast((question) => question.ask !== 'unknown')
  const before =
    last?.ask === 'number' && 'set' in last.quantity
      ? last.quantity.set
      : last?.ask === 'rank' || last?.ask === 'list' || last?.ask === 'exists'
        ? last.set
        : undefined
  return before !== undefined && describeSet(before) === describeSet(set)
}

function rankOne(set: FileSet, top: Top, { files, tied }: Files, isShort: boolean): string {
  const [file] = files
  if (file === undefined) return ''
  const shown = detail(file, top.measure)
  if (tied.length > 1 && top.skip === 0) {
    const names = joinWords(tied.slice(0, 5).map(({ path }) => path)) + (tied.length > 5 ? ' and others' : '')
    return `The ${rankWord(top)} ${isShort ? 'ones' : describeSet(set)} are ${names}, ${shown}${top.measure === 'modified' ? '' : ' each'}.`
  }
  return `The ${rankWord(top)}${isShort ? '' : ` ${describeOne(set)}`} is ${file.path}${top.measure === 'modified' ? ',' : ''} ${shown}.`
}

function rankList(set: FileSet, top: Top, { files, isWhole }: Files): string {
  const ranked = files.map((file, at) => `${at + 1 + top.skip}. ${file.path} ${bracketed(file, [top.measure])}`)
  const fewer = files.length < top.most && isWhole
  const intro = fewer
    ? `There ${files.length === 1 ? 'is' : 'are'} only ${amount(files.length, describeOne(set), describeSet(set))}, the ${rankWord(top)} first:`
    : `The ${files.length === 1 ? '' : `${files.length} `}${rankWord(top)} ${describeSet(set, files.length === 1)}:`
  return [intro, ...ranked].join('\n')
}

function detail(file: ListedFile, measure: Top['measure']): string {
  if (measure === 'lines') return `with ${file.lines === undefined ? 'no lines that can be counted' : amount(file.lines, 'line')}`
  if (measure === 'modified') return `last modified on ${showTime(file.modified)}`
  return measure === 'bytes' ? `with ${showBytes(file.bytes)}` : 'by name'
}

function bracketed(file: ListedFile, show: readonly Top['measure'][]): string {
  const parts = show.flatMap((measure) => {
    if (measure === 'lines') return file.lines === undefined ? ['not text'] : [amount(file.lines, 'line')]
    if (measure === 'bytes') return [showBytes(file.bytes).replace(/ \((.*)\)$/, ', $1')]
    return measure === 'modified' ? [showTime(file.modified)] : []
  })
  return parts.length === 0 ? '' : `(${parts.join(', ')})`
}

const mostListed = 100

/** The files of a set, one a line, with what is to be shown of each. */
export function answerList({ set, show }: Extract<Question, { ask: 'list' }>, cabinet: Cabinet): Answer {
  return andThen(cabinet.filesOf(set, show.includes('lines'), true), ({ files, count, isWhole, note }) => {
    if (count === 0) return none(emptyFact(set))
    const listed = files.slice(0, mostListed).map((file) => `- ${file.path} ${bracketed(file, show)}`.trimEnd())
    const rest = count - listed.length
    const [only] = files
    if (count === 1 && only !== undefined && isWhole) return knownAs(`There is 1 ${describeOne(set)}: ${listed[0]?.slice(2) ?? only.path}.`)
    const more = rest > 0 ? [`… and ${isWhole ? '' : 'at least '}${showNumber(rest)} more.`] : isWhole ? [] : ['There may be more.']
    const intro =
      set.top !== undefined && Number.isFinite(set.top.most)
        ? `The first ${amount(listed.length, describeOne(set), describeSet(set))}:`
        : `There are ${isWhole ? '' : 'at least '}${showNumber(count)} ${describeSet(set)}:`
    return knownAs([intro, ...listed, ...more, ...(note === undefined ? [] : [note])].join('\n'))
  })
}

/** When a file was changed last. */
export function answerModified(file: FileRef, cabinet: Cabinet): Answer {
  return andThen(cabinet.fileOf(file, false), ({ path, modified }) => knownAs(`${path} was last modified on ${showTime(modified)}.`))
}
