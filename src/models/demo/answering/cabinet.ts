import { isJsonObject, type Json, type JsonObject } from '../../../messages.ts'
import type { Bounds, FileRef, FileSet, Measure, Search } from '../intents.ts'
import { globOf, isOfKind } from '../reading/kinds.ts'
import { emptyFact, placeOf } from './describe.ts'
import type { Desk } from './desk.ts'
import { type ListPlan, type Need, needOf } from './list-plan.ts'
import { all, andThen, failed, knownAs, none, type Outcome } from './outcome.ts'

/** A file as `list_files` tells of it. */
export interface ListedFile {
  path: string
  bytes: number
  lines?: number
  modified: string
}

/** What `list_files` says of a place. */
interface Listing {
  count: number
  totalBytes: number
  totalLines?: number
  files: ListedFile[]
  note?: string
}

/** The files of a set, as far as they are known. */
export interface Files {
  files: ListedFile[]
  /** Of the first few of an order: all that are as long as the first. */
  tied: ListedFile[]
  count: number
  /** False: there are more, `count` is the least there can be. */
  isWhole: boolean
  totalBytes: number
  totalLines: number
  /** What the list may lack, in words. */
  note?: string
}

/** Finds the files of sets, through the desk. */
export class Cabinet {
  readonly desk: Desk
  /** The user message that is being answered, counted from 0. */
  readonly turn: number
  readonly #plans: readonly ListPlan[]

  /** `plans`: one for each user message. */
  constructor(desk: Desk, plans: readonly ListPlan[], turn: number) {
    this.desk = desk
    this.#plans = plans
    this.turn = turn
  }

  /** What is listed of a set. `isShown`: a list of it is to be shown. */
  filesOf(set: FileSet, lines: boolean, isShown = false): Outcome<Files> {
    const need = needOf(set, lines, isShown)
    const found = this.#membership(set)
    const listing = this.#listing(need)
    return andThen(all<unknown>([found, listing]), () =>
      andThen(listing, (list) => andThen(found, (mentions) => choose(set, need, list, mentions))),
    )
  }

  /** The file meant. */
  fileOf(file: FileRef, lines: boolean): Outcome<ListedFile> {
    if (file.by === 'comparison') {
      const files = all(file.files.map((each) => this.fileOf(each, lines || file.measure === 'lines')))
      return andThen(files, (list) =>
        first(
          list.toSorted((a, b) => (file.order === 'desc' ? 1 : -1) * (sizeOf(b, file.measure) - sizeOf(a, file.measure))),
          'There is no such file',
        ),
      )
    }
    return andThen(this.filesOf(file.set, lines), ({ files, count }) => {
      if (file.by === 'set') return first(files, emptyFact(file.set))
      const exact = files.find(({ path }) => path === file.name)
      if (exact !== undefined) return knownAs(exact)
      if (count > 1)
        return failed(`${count} files are named ${file.name}: ${files.map(({ path }) => path).join(', ')}. Please say which one you mean.`)
      return first(
        files,
        `There is no file ${file.name} ${placeOf({ ...file.set, folder: file.set.folder === file.name ? '.' : file.set.folder })}`,
      )
    })
  }

  #listing(need: Need): Outcome<Listing> {
    const plan = this.#plans[need.set.turn]
    const args = plan?.argumentsFor(need) ?? {}
    return andThen(this.desk.askForObject(need.set.turn, 'list_files', args), readListing)
  }

  /** What else decides whether a file is in the set: a set around it, and what the file mentions. */
  #membership(set: FileSet): Outcome<((path: string) => boolean) | undefined> {
    const mentions = this.#mentioning(set)
    if (set.within === undefined) return mentions
    const outer = this.filesOf(set.within, false)
    return andThen(outer, ({ files }) =>
      andThen(mentions, (test) => knownAs((path: string) => files.some((file) => file.path === path) && (test?.(path) ?? true))),
    )
  }

  /** The paths of the files that have what is to be mentioned, or not; undefined when nothing is. */
  #mentioning(set: FileSet): Outcome<((path: string) => boolean) | undefined> {
    if (set.mentions.length === 0) return knownAs(undefined)
    const found = set.mentions.map(({ search, negated }) =>
      andThen(this.#pathsWith(search), (paths) => knownAs((path: string) => paths.has(path) !== negated)),
    )
    return andThen(all(found), (tests) => knownAs((path) => tests.every((test) => test(path))))
  }

  #pathsWith(search: Search): Outcome<ReadonlySet<string>> {
    return andThen(this.desk.askForObject(search.turn, 'search_files', searchArguments(search)), ({ matches, truncated }) => {
      if (!Array.isArray(matches)) return failed('`search_files` answered without a list of matches.')
      if (truncated === true) return failed(`“${search.query}” is on too many lines for me to tell all files that mention it.`)
      return knownAs(new Set(matches.flatMap((match) => (isJsonObject(match) && typeof match.path === 'string' ? [match.path] : []))))
    })
  }
}

/** The result of `list_files`, checked: another tool of that name may answer otherwise. */
function readListing({ count, totalBytes, totalLines, files, note }: JsonObject): Outcome<Listing> {
  if (!Array.isArray(files) || typeof count !== 'number') return failed('`list_files` answered with something that is no list of files.')
  return knownAs({
    count,
    totalBytes: typeof totalBytes === 'number' ? totalBytes : 0,
    files: files.flatMap(readFile),
    ...(typeof totalLines === 'number' ? { totalLines } : {}),
    ...(typeof note === 'string' ? { note } : {}),
  })
}

function readFile(file: Json): ListedFile[] {
  if (!isJsonObject(file) || typeof file.path !== 'string' || typeof file.bytes !== 'number') return []
  const { path, bytes, lines, modified } = file
  return [{ path, bytes, modified: typeof modified === 'string' ? modified : '', ...(typeof lines === 'number' ? { lines } : {}) }]
}

/** What is meant of what is listed. */
function choose(set: FileSet, need: Need, list: Listing, mentions: ((path: string) => boolean) | undefined): Outcome<Files> {
  const { conditions, without, top } = set
  const isFiltered = conditions.length > 0 || without.length > 0 || mentions !== undefined
  const fits = (file: ListedFile) =>
    conditions.every((condition) => isWithin(file[condition.measure], condition)) &&
    !without.some((kind) => isOfKind(file.path, kind)) &&
    (mentions === undefined || mentions(file.path))
  const kept = list.files.filter(fits)
  const [condition] = conditions
  const last = list.files.at(-1)
  // Sorted by what the condition measures, the list has them all as soon as one no longer fits.
  const sawBorder =
    condition !== undefined && need.sort === condition.measure && last !== undefined && !isWithin(last[condition.measure], condition)
  const chosen = top === undefined ? kept : kept.slice(top.skip, top.skip + top.most)
  const isPart = isFiltered || top !== undefined
  const wantsMore = top === undefined || kept.length < top.skip + top.most
  return knownAs({
    files: chosen,
    tied:
      top === undefined
        ? []
        : kept.filter((file) => chosen[0] !== undefined && sizeOf(file, top.measure) === sizeOf(chosen[0], top.measure)),
    count: top !== undefined && !isFiltered ? Math.min(Math.max(list.count - top.skip, 0), top.most) : isPart ? chosen.length : list.count,
    isWhole: !isFiltered || !wantsMore || sawBorder || list.files.length >= list.count,
    totalBytes: isPart ? sum(chosen, (file) => file.bytes) : list.totalBytes,
    totalLines: isPart ? sum(chosen, (file) => file.lines ?? 0) : (list.totalLines ?? 0),
    ...(list.note === undefined ? {} : { note: list.note }),
  })
}

function sum(files: readonly ListedFile[], read: (file: ListedFile) => number): number {
  return files.reduce((total, file) => total + read(file), 0)
}

/** Whether a measure is within bounds; one that is not known is not. */
export function isWithin(value: number | undefined, { least, most }: Bounds): boolean {
  return value !== undefined && (least === undefined || value >= least) && (most === undefined || value <= most)
}

/** A file's measure as a number; a point in time in milliseconds. */
export function sizeOf(file: ListedFile, measure: Measure | 'name'): number {
  if (measure === 'lines') return file.lines ?? 0
  if (measure === 'modified') return Date.parse(file.modified) || 0
  return measure === 'bytes' ? file.bytes : 0
}

/** The arguments of the call for a search; the same for everything that is asked about it. */
export function searchArguments({ query, regex, ignoreCase, folder, kinds }: Search): JsonObject {
  const pattern = globOf(kinds)
  return {
    query,
    ...(regex ? { regex: true } : {}),
    path: folder,
    ...(pattern === undefined ? {} : { pattern }),
    ...(ignoreCase ? { ignoreCase: true } : {}),
    limit: 400,
  }
}

function first(files: readonly ListedFile[], fact: string): Outcome<ListedFile> {
  const [file] = files
  return file === undefined ? none(fact) : knownAs(file)
}
