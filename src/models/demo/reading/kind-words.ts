import { bothKinds, isKindNoun, isKnownEnding, type Kind, kindOfEnding, kindOfGlob, kindOfName, kindOfWord } from './kinds.ts'
import { type Clause, phrase } from './phrases.ts'
import type { Token } from './tokens.ts'
import { isGrammarWord, isOneOf } from './words.ts'

/** A kind of files a clause names, and where. */
interface PlacedKind {
  at: number
  kind: Kind
  /** `not tests`, `except images`. */
  excluded: boolean
  /** `or` before or behind it: a file of either kind counts. */
  either: boolean
}

/** What a clause says of kinds. */
export interface KindWords {
  kinds: PlacedKind[]
  /** Words that say which files are meant, in a way that is not known here. */
  strange?: string
}

const byName: [string, (name: string) => Kind][] = [
  ['whose|with name|names that? ends|end|ending with|in name:@name', kindOfEnding],
  ['that|which|whose? name|names? ends|end|ending in|with|on @the? name:@name', kindOfEnding],
  ['ending|ends|end in|with|on @the? name:@name', kindOfEnding],
  ['with|of|having|has|have @the? file? extension|ending|suffix|extensions|endings of? name:@name', kindOfEnding],
  [
    'whose|with name|names that? starts|start|starting|begins|begin|beginning with name:@name',
    (name) => ({ ...kindOfGlob(`${name}*`), after: `whose names start with ${name}` }),
  ],
  ['starting|beginning with name:@name', (name) => ({ ...kindOfGlob(`${name}*`), after: `whose names start with ${name}` })],
  [
    'whose|with name|names contains|contain|containing|includes|include|including name:@name',
    (name) => ({ ...kindOfGlob(`*${name}*`), after: `with ${name} in their names` }),
  ],
  ['with name:@name in their|the|its name|names', (name) => ({ ...kindOfGlob(`*${name}*`), after: `with ${name} in their names` })],
  ['matching|like @the? pattern|glob? name:@glob', kindOfGlob],
  ['@file named|called name:@name', (name) => (/[*?]/.test(name) ? kindOfGlob(name) : kindOfName(name))],
]
const namePhrases = byName.map(([text, make]) => ({ wanted: phrase(text), make }))
/** `ending in .ts or .tsx`. */
const alternative = phrase(',? or|and name:@ending')

/** Takes the kinds of files a clause names. */
export function takeKinds(clause: Clause): KindWords {
  const kinds: PlacedKind[] = []
  for (const { wanted, make } of namePhrases) {
    for (const found of clause.takeEach(wanted)) {
      const named = found.captured.name?.[0]
      if (named === undefined) continue
      kinds.push({ at: found.start, kind: make(named.text), excluded: false, either: false })
      let end = found.end
      for (let more = clause.matchAt(alternative, end); more; more = clause.matchAt(alternative, end)) {
        const other = more.captured.name?.[0]
        if (other) kinds.push({ at: more.start, kind: make(other.text), excluded: false, either: true })
        clause.take(more.start, more.end)
        end = more.end
      }
    }
  }
  let strange: string | undefined
  let lastAt: number | undefined
  for (let at = 0; at < clause.tokens.length; at++) {
    const run = readKindRun(clause, at)
    if (run === undefined) {
      strange ??= strangeKind(clause, at)
      continue
    }
    // `TypeScript files (*.ts)`: what is in brackets says it more exactly.
    if (clause.tokens[at - 1]?.kind === 'open' && kinds.at(-1)?.at === lastAt) kinds.pop()
    kinds.push({ at, kind: run.kind, excluded: isExcluded(clause, at), either: isEither(clause, at, run.end) })
    lastAt = at
    clause.take(at, run.end)
    if (isOneOf('file', clause.token(run.end)?.word)) clause.take(run.end)
    at = run.end - 1
  }
  kinds.sort((a, b) => a.at - b.at)
  return strange === undefined ? { kinds } : { kinds, strange }
}

/** `TypeScript`, `TypeScript test`, `.ts`, `*.test.ts`, `md`: kinds that stand side by side are one. */
function readKindRun(clause: Clause, from: number): { kind: Kind; end: number } | undefined {
  let kind: Kind | undefined
  let at = from
  for (; ; at++) {
    const next = kindAt(clause, at)
    if (next === undefined) break
    const both = kind === undefined ? next : bothKinds(kind, next)
    if (both === undefined) break
    kind = both
    // `non-test TypeScript files`: only the one word is excluded.
    if (/^non-$/i.test(clause.tokens[from - 1]?.text ?? '')) return { kind, end: at + 1 }
  }
  return kind === undefined ? undefined : { kind, end: at }
}

/** The kind a single word names. */
function kindAt(clause: Clause, at: number): Kind | undefined {
  const token = clause.token(at)
  if (token === undefined) return undefined
  const isQuoted = token.kind === 'quoted'
  if (token.kind === 'glob' || (isQuoted && /^[\w.{},-]*\*[\w.{},*-]*$/.test(token.text))) return kindOfGlob(token.text)
  if (token.kind === 'ending' || (isQuoted && /^\.[\w.-]+$/.test(token.text))) return kindOfEnding(token.text)
  if (token.kind !== 'word') return undefined
  const kind = kindOfWord(token.word)
  if (kind !== undefined) return meansKind(clause, at, token) ? kind : undefined
  return isKnownEnding(token.word) && !isGrammarWord(token.word) && leadsToFiles(clause, at) ? kindOfEnding(`.${token.word}`) : undefined
}

/** Words that are kinds only where `files` follows, or a capital shows it. */
const ambiguous =
  /^(go|c|code|source|sources|text|log|shell|swift|dart|test|testing|spec|style|styles|sound|map|bash|java|perl|rust|ruby|font|image|picture|photo|video|archive|stylesheet|logs|sounds)$/

/** Whether a word that can name a kind does so here. */
function meansKind(clause: Clause, at: number, token: Token): boolean {
  if (leadsToFiles(clause, at)) return true
  const before = clause.tokens[at - 1]?.word
  if (isKindNoun(token.word)) return !standsAsFolder(clause, at)
  if (isOneOf('strictPlace', before)) return false
  return !ambiguous.test(token.word) || (/^(Go|C|Swift|Dart|Java|Perl|Rust|Ruby|Shell|Bash)$/.test(token.text) && at > 0)
}

/** `under tests` and `src and tests` name a folder, `number of tests` and `images and tests` do not. */
function standsAsFolder(clause: Clause, at: number): boolean {
  let before = at - 1
  if (isOneOf('folder', clause.tokens[at + 1]?.word) || isOneOf('folder', clause.tokens[before]?.word)) return true
  const word = () => clause.tokens[before]?.word
  // `src and tests have …`, once its parts are read one by one.
  if (at === 0 && isOneOf('has', clause.tokens[1]?.word)) return true
  while (isOneOf('det', word())) before--
  if (isOneOf('place', word())) return word() !== 'of'
  if (!/^(and|or|,|&)$/.test(word() ?? '')) return false
  while (/^(and|or|,|&)$/.test(word() ?? '')) before--
  const other = clause.tokens[before]
  return (
    other !== undefined &&
    (other.kind === 'path' || (other.kind === 'word' && !isGrammarWord(other.word) && kindOfWord(other.word) === undefined))
  )
}

/** Whether `files` follows, perhaps behind more kinds: `TypeScript, JavaScript and test files`. */
function leadsToFiles(clause: Clause, at: number): boolean {
  let next = at + 1
  for (; next < clause.tokens.length; next++) {
    const token = clause.token(next)
    if (token === undefined) return false
    const isKind =
      token.kind === 'ending' ||
      token.kind === 'glob' ||
      (token.kind === 'word' && (kindOfWord(token.word) !== undefined || (isKnownEnding(token.word) && !isGrammarWord(token.word))))
    if (!isKind && token.kind !== 'comma' && !/^(and|or|&)$/.test(token.word)) break
  }
  return isOneOf('file', clause.token(next)?.word)
}

const negations = /^(not|excluding|except|without|besides|exclude|ignoring|ignore|non|omitting)$/

/** `not`, `except` or the like before it. Takes that word. */
function isExcluded(clause: Clause, at: number): boolean {
  for (let before = at - 1; before >= 0; before--) {
    const word = clause.token(before)?.word ?? ''
    if (negations.test(word) || (word === 'than' && clause.tokens[before - 1]?.word === 'other')) {
      clause.take(before)
      if (word === 'than') clause.take(before - 1)
      return true
    }
    if (!isOneOf('det', word) && word !== 'for' && word !== 'be') return false
  }
  return false
}

function isEither(clause: Clause, start: number, end: number): boolean {
  return clause.tokens[start - 1]?.word === 'or' || clause.tokens[end]?.word === 'or'
}

/** `frobnicated files`: it would be wrong to answer as if the word were not there. */
function strangeKind(clause: Clause, at: number): string | undefined {
  const token = clause.token(at)
  if (token?.kind !== 'word' || isGrammarWord(token.word) || kindOfWord(token.word) !== undefined) return undefined
  return isOneOf('file', clause.token(at + 1)?.word) ? token.text : undefined
}
