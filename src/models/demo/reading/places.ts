import { isFileName, looksLikeFile } from './file-names.ts'
import { isKindNoun, kindOfWord } from './kinds.ts'
import type { Clause } from './phrases.ts'
import type { Token } from './tokens.ts'
import { isGrammarWord, isOneOf } from './words.ts'

/** A folder or file a clause names, and where in the clause. */
export interface Place {
  at: number
  path: string
  isFile: boolean
}

/**
 * Takes the places of a clause: `under src`, `in ./src/ and tests`, `the src folder`, `folder tests`, `src/a.ts`, `of this project`,
 * `does lib have`. Whether such a folder exists is for the tool to find out.
 */
export function takePlaces(clause: Clause): Place[] {
  const places: Place[] = []
  for (let at = 0; at < clause.tokens.length; at++) {
    if (!clause.isFree(at)) continue
    const found = placeAt(clause, at)
    if (found === undefined) continue
    places.push({ at: found.name, path: normalise(found.path, clause.tokens), isFile: found.isFile })
    clause.take(at, found.end)
    for (let next = joined(clause, found.end); next !== undefined; next = joined(clause, next.end)) {
      places.push({ at: next.name, path: normalise(next.path, clause.tokens), isFile: next.isFile })
      clause.take(next.start, next.end)
      at = next.end
    }
    at = Math.max(at, found.end - 1)
  }
  return places
}

/** A place as it is read: the token of its name, and where its words end. */
interface NamedPlace {
  path: string
  isFile: boolean
  name: number
  end: number
}

/** The place whose words begin at `at`. */
function placeAt(clause: Clause, at: number): NamedPlace | undefined {
  const token = clause.token(at)
  if (token === undefined) return undefined
  if (token.kind === 'path' || (token.kind === 'quoted' && (token.text.includes('/') || isFileName(token.text)))) return ofPath(clause, at)
  if (isOneOf('place', token.word)) return afterPlaceWord(clause, at)
  if (isOneOf('folder', token.word)) return afterFolderWord(clause, at)
  if (isFolderName(clause, at) && isOneOf('folder', clause.token(at + 1)?.word)) return { ...named(token, at), end: at + 2 }
  if (at === 0 && isFolderLikeKind(clause, 0) && isOneOf('has', clause.token(1)?.word)) return { ...named(token, at), end: 1 }
  const before = clause.tokens[at - 1]?.word
  const asksWhat = /^(what|which|who|where|when|why)$/.test(clause.tokens[at - 2]?.word ?? '')
  if (!asksWhat && (isOneOf('is', before) || isOneOf('does', before) || isOneOf('has', before)) && isUnknownName(clause, at))
    return { ...named(token, at), end: at + 1 }
  if (token.word === 'everywhere' || token.word === 'anywhere') return { path: '.', isFile: false, name: at, end: at + 1 }
  return undefined
}

function ofPath(clause: Clause, at: number): NamedPlace | undefined {
  const token = clause.token(at)
  if (token === undefined) return undefined
  const followed = isOneOf('folder', clause.token(at + 1)?.word) || clause.token(at + 1)?.word === 'file'
  return { ...named(token, at), end: followed ? at + 2 : at + 1 }
}

function named(token: Token, at: number): Omit<NamedPlace, 'end'> {
  return { path: token.text, isFile: isFilePath(token), name: at }
}

/** `under src`, `in the src folder`, `of this project`, behind the word that says where. */
function afterPlaceWord(clause: Clause, at: number): NamedPlace | undefined {
  let next = at + 1
  const strict = isOneOf('strictPlace', clause.token(at)?.word)
  while (isOneOf('det', clause.token(next)?.word)) next++
  // `in total`, `for each of`: no place.
  const token = clause.token(next)
  if (token === undefined) return undefined
  if (token.kind === 'path') return ofPath(clause, next)
  const then = clause.token(next + 1)
  if (isOneOf('project', token.word) || ((token.word === 'top' || token.word === 'current') && isOneOf('folder', then?.word))) {
    const ends = isOneOf('folder', then?.word) || isOneOf('project', then?.word) ? next + 2 : next + 1
    return { path: '.', isFile: false, name: next, end: ends }
  }
  if (token.kind === 'quoted') return { ...named(token, next), end: isOneOf('folder', then?.word) ? next + 2 : next + 1 }
  if (isOneOf('folder', token.word)) {
    const after = afterFolderWord(clause, next)
    if (after) return after
    // `in this folder`: the one we are in.
    return next > at + 1 && /^(this|current|the)$/.test(clause.token(next - 1)?.word ?? '')
      ? { path: '.', isFile: false, name: next, end: next + 1 }
      : undefined
  }
  if (isOneOf('folder', then?.word) && isFolderName(clause, next)) return { ...named(token, next), end: next + 2 }
  const isName = strict ? isFolderName(clause, next) : isUnknownName(clause, next) || isFolderLikeKind(clause, next)
  if (!isName || (clause.token(at)?.word === 'of' && isKindNoun(token.word))) return undefined
  return { ...named(token, next), end: next + 1 }
}

/** `folder tests`, `the directory called lib`. */
function afterFolderWord(clause: Clause, at: number): NamedPlace | undefined {
  const next = /^(named|called)$/.test(clause.token(at + 1)?.word ?? '') ? at + 2 : at + 1
  const token = clause.token(next)
  if (token === undefined) return undefined
  if (token.kind === 'path' || token.kind === 'quoted') return { ...named(token, next), isFile: false, end: next + 1 }
  return isUnknownName(clause, next) || isFolderLikeKind(clause, next) ? { ...named(token, next), end: next + 1 } : undefined
}

/** `… and tests`, `, lib`, `or under docs`, behind a place. */
function joined(clause: Clause, from: number): (NamedPlace & { start: number }) | undefined {
  let next = from
  while (isOneOf('also', clause.token(next)?.word) || clause.token(next)?.kind === 'comma') next++
  if (next === from) return undefined
  if (isOneOf('place', clause.token(next)?.word)) {
    const place = afterPlaceWord(clause, next)
    return place && { ...place, start: from }
  }
  while (isOneOf('det', clause.token(next)?.word)) next++
  const token = clause.token(next)
  if (token === undefined) return undefined
  const isPlace = token.kind === 'path' || token.kind === 'quoted' || isUnknownName(clause, next) || isFolderLikeKind(clause, next)
  if (!isPlace) return undefined
  const folderWord = isOneOf('folder', clause.token(next + 1)?.word)
  return { ...named(token, next), end: folderWord ? next + 2 : next + 1, start: from }
}

/** Any word but those that can't be a name at all, unless it says what kind of files follow: `under test files`. */
function isFolderName(clause: Clause, at: number): boolean {
  const token = clause.token(at)
  if (token?.kind === 'quoted') return true
  if (
    token?.kind !== 'word' ||
    isOneOf('det', token.word) ||
    isOneOf('file', token.word) ||
    isOneOf('them', token.word) ||
    isOneOf('it', token.word)
  )
    return false
  if (
    isOneOf('which', token.word) ||
    isOneOf('place', token.word) ||
    isOneOf('also', token.word) ||
    isOneOf('is', token.word) ||
    /^(many|total|all|there|here|other|one|ones|same)$/.test(token.word)
  )
    return false
  return !precedesFiles(clause, at)
}

/** A word the grammar has no use for: it can only be a name. */
function isUnknownName(clause: Clause, at: number): boolean {
  const token = clause.token(at)
  if (token?.kind !== 'word' || isGrammarWord(token.word) || kindOfWord(token.word) !== undefined) return false
  return /[\p{L}\p{N}]/u.test(token.word) && !precedesFiles(clause, at)
}

/** Kinds that are at least as often the name of a folder: `in tests`, `in images`. */
function isFolderLikeKind(clause: Clause, at: number): boolean {
  const word = clause.token(at)?.word ?? ''
  return (
    /^(tests?|specs?|images|pictures|photos|videos|sounds|fonts|logs?|styles|stylesheets|sources?|archives?|shell|sql)$/.test(word) &&
    !precedesFiles(clause, at)
  )
}

function precedesFiles(clause: Clause, at: number): boolean {
  let next = at + 1
  while (clause.token(next)?.kind === 'word' && kindOfWord(clause.token(next)?.word ?? '') !== undefined) next++
  return isOneOf('file', clause.token(next)?.word)
}

function isFilePath({ kind, text }: Token): boolean {
  return kind === 'ending' || (kind !== 'word' && looksLikeFile(text))
}

/** `./src/` → `src`. A request all in capitals does not mean its folders to be so. */
function normalise(path: string, tokens: readonly Token[]): string {
  const clean = path
    .replaceAll('\\', '/')
    .replace(/^(?:\.\/+)+(?=.)/, '')
    .replace(/(?<=.)\/+$/, '')
  const shouted =
    !/\p{Ll}/u.test(path) && tokens.length > 2 && tokens.every((token) => token.kind !== 'word' || !/\p{Ll}/u.test(token.text))
  return shouted && !/\./.test(clean) ? clean.toLowerCase() : clean
}
