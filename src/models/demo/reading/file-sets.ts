import type { FileRef, FileSet, Search, Top } from '../intents.ts'
import type { Discourse } from './discourse.ts'
import { isOfKind, type Kind, kindOfName } from './kinds.ts'
import type { Slots } from './slots.ts'

/** Kinds and the folders they are looked for in: each kind in each folder, but for `either`, which counts them as one. */
interface Group {
  kinds: Kind[]
  folders: string[]
  either: boolean
}

/**
 * The sets of files a clause speaks of. `TypeScript files under src and tests` are two, `TypeScript files under src and Python files under
 * lib` as well; `TypeScript or Python files` are one. What the clause leaves open is taken from what was spoken of before: everything for
 * `which of them`, the place within a sentence, and the whole workspace otherwise. `apart: false` keeps kinds joined by `and` together.
 */
export function setsOf(slots: Slots, discourse: Discourse, apart: boolean): FileSet[] {
  const inherited = inheritedSet(slots, discourse)
  const groups = groupsOf(slots)
  const sets: FileSet[] = []
  for (const group of groups) {
    const folders = group.folders.length > 0 ? group.folders : [inherited?.folder ?? '.']
    const kinds: Kind[][] =
      group.kinds.length > 0
        ? apart && !group.either
          ? group.kinds.map((kind) => [kind])
          : [group.kinds]
        : [inheritsKinds(slots, discourse) ? (inherited?.kinds ?? []) : []]
    for (const folder of folders) for (const each of kinds) sets.push(setOf(slots, discourse, folder, each, inherited))
  }
  return sets
}

function setOf(slots: Slots, discourse: Discourse, folder: string, kinds: Kind[], inherited: FileSet | undefined): FileSet {
  const whole = inherited !== undefined && (slots.refs.has('them') || saysNothing(slots))
  const without = slots.kinds.filter(({ excluded }) => excluded).map(({ kind }) => kind)
  return {
    turn: discourse.turn,
    folder,
    kinds,
    without: whole ? [...inherited.without, ...without] : without,
    conditions: whole ? [...inherited.conditions, ...slots.conditions] : slots.conditions,
    recursive: !slots.flat,
    what: slots.noun === 'folder' && kinds.length === 0 ? 'folder' : 'file',
    mentions: whole ? inherited.mentions : [],
    ...(whole ? inheritedTop(slots, inherited) : {}),
  }
}

/** `list them` means the 3 longest again; `which of them have more than 100 lines` chooses among these. */
function inheritedTop(slots: Slots, inherited: FileSet): Pick<FileSet, 'top' | 'within'> {
  const { top } = inherited
  if (top === undefined || top.most <= 1) return inherited.within === undefined ? {} : { within: inherited.within }
  const chooses = slots.conditions.length + slots.kinds.length + slots.places.length + slots.tops.length > 0
  return chooses ? { within: inherited } : { top }
}

/** Whether the clause leaves entirely open which files it means: `which is the longest?`. */
function saysNothing(slots: Slots): boolean {
  return slots.kinds.length === 0 && slots.places.length === 0 && !(slots.noun !== undefined && slots.asks.has('count'))
}

/** The files spoken of before, where the clause refers to them or leaves open which it means. */
function inheritedSet(slots: Slots, discourse: Discourse): FileSet | undefined {
  // `Which file is the longest?` in the same message speaks of the files before; in another one `How many files …` does not.
  const isOpen = saysNothing(slots) && (slots.noun === undefined || (slots.tops.length > 0 && discourse.set?.turn === discourse.turn))
  const mayInherit = discourse.sentenceHasSet || slots.refs.has('them') || slots.refs.has('it') || isOpen
  return mayInherit ? discourse.set : undefined
}

/** Whether the kinds are those spoken of before. */
function inheritsKinds(slots: Slots, discourse: Discourse): boolean {
  if (slots.refs.has('them')) return true
  // `how many files` means files of any kind; `how many are`, `which file` speak of those before.
  if (slots.noun === undefined) return true
  return slots.noun === 'file' && slots.places.length === 0 && slots.tops.length > 0 && discourse.set?.turn === discourse.turn
}

/** A kind that follows a folder begins a new group. */
function groupsOf(slots: Slots): Group[] {
  const folders = slots.places.filter(({ isFile }) => !isFile)
  // `the src folder of this project` is one place.
  const named = folders.some(({ path }) => path !== '.') ? folders.filter(({ path }) => path !== '.') : folders
  const items = [
    ...slots.kinds.filter(({ excluded }) => !excluded).map(({ at, kind, either }) => ({ at, kind, either, folder: undefined })),
    ...named.map(({ at, path }) => ({ at, folder: path, kind: undefined, either: false })),
  ].sort((a, b) => a.at - b.at)
  const first: Group = { kinds: [], folders: [], either: false }
  const groups = [first]
  let group = first
  for (const item of items) {
    if (item.kind !== undefined && group.kinds.length > 0 && group.folders.length > 0) {
      group = { kinds: [], folders: [], either: false }
      groups.push(group)
    }
    if (item.kind !== undefined) group.kinds.push(item.kind)
    if (item.folder !== undefined) group.folders.push(item.folder)
    group.either ||= item.either
  }
  const withFolder = groups.find(({ folders }) => folders.length > 0)
  for (const each of groups) if (each.folders.length === 0) each.folders = withFolder?.folders ?? []
  return groups
}

/** The files a search finds. */
export function setOfSearch(search: Search): FileSet {
  const { turn, folder, kinds } = search
  return { turn, folder, kinds, without: [], conditions: [], mentions: [{ search, negated: false }], recursive: true, what: 'file' }
}

/** The set with only its first files in some order. */
export function topOf(set: FileSet, top: Top): FileSet {
  return { ...set, top }
}

/** The file of that name. A name without a folder is looked for everywhere below `folder`. */
export function fileNamed(path: string, turn: number, folder = '.'): FileRef & { by: 'name' } {
  const slash = path.lastIndexOf('/')
  const base = slash === -1 ? path : path.slice(slash + 1)
  const set: FileSet = {
    turn,
    folder: slash === -1 ? folder : path,
    kinds: slash === -1 ? [kindOfName(base)] : [],
    without: [],
    conditions: [],
    mentions: [],
    recursive: true,
    what: 'file',
  }
  return { by: 'name', name: slash === -1 && folder !== '.' ? `${folder}/${path}` : path, set }
}

/** False when a file could be in both: adding their numbers up would count it twice. */
export function areApart(sets: readonly FileSet[]): boolean {
  return sets.every((a, index) => sets.slice(index + 1).every((b) => !sharesFolder(a.folder, b.folder) || !sharesKind(a.kinds, b.kinds)))
}

function sharesFolder(a: string, b: string): boolean {
  return a === b || a === '.' || b === '.' || a.startsWith(`${b}/`) || b.startsWith(`${a}/`)
}

/** By example: the names one kind takes as a rule, tried on the other. */
function sharesKind(a: readonly Kind[], b: readonly Kind[]): boolean {
  if (a.length === 0 || b.length === 0) return true
  const overlaps = (x: Kind, y: Kind) => x.globs.some((glob) => isOfKind(glob.replaceAll('*', 'x'), y))
  return a.some((x) => b.some((y) => overlaps(x, y) || overlaps(y, x)))
}
