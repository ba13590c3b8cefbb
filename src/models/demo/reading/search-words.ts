import { looksLikeFile } from './file-names.ts'
import { isKindNoun, kindOfWord } from './kinds.ts'
import { type Clause, type Found, type Phrase, phrase } from './phrases.ts'
import type { Token } from './tokens.ts'
import { isEmptyWord, isOneOf, wordSet } from './words.ts'

/** What is wanted of a search: the places, how often, the lines, or the files. `starts` and `ends`: lines that do. */
export type SearchForm = 'places' | 'times' | 'lines' | 'starts' | 'ends' | 'mentions'

const ends =
  'thrown|raised|set|created|tested|documented|emitted|exported|instantiated|printed|caught|handled|occur|occurs|occurring|appear|appears|appearing|used|mentioned|show|come|called|imported|referenced|found|written|repeated|present'
/** The rules that find what is searched for; `query` is the text. Those that need quotes stand in for words that are too common alone. */
const rules: [SearchForm, string][] = [
  ['times', `how often do|does|is|are|did|was query:... ${ends} up?`],
  ['times', `how many times do|does|is|are|did|was query:... ${ends} up?`],
  ['times', 'how many|much? occurrences|occurrence|usages|uses|mentions|matches|hits|instances of|for|to query:...'],
  ['times', 'number|count of? the? occurrences|occurrence|usages|uses|mentions|matches|hits|instances|times of|for|to? query:...'],
  ['times', 'the? occurrences|usages|mentions|matches|hits|instances of|for query:...'],
  [
    'lines',
    'how many @line contain|contains|containing|mention|mentions|mentioning|have|has|include|including|match|matching|with query:...',
  ],
  ['starts', '@line that|which? start|starts|starting|begin|begins|beginning with query:...'],
  ['ends', '@line that|which? end|ends|ending with|in query:...'],
  ['starts', 'how many @line place:... start|starts|begin|begins with query:...'],
  ['ends', 'how many @line place:... end|ends with query:...'],
  ['lines', 'how many @line place:... contain|contains|mention|mentions|have|has|include|match query:...'],
  ['lines', '@line that|which? contain|containing|mention|mentioning|include|including|match|matching query:...'],
  ['places', `where place:... is|are query:... ${ends}`],
  ['places', `where is|are|do|does|did|was query:... defined|declared|implemented|${ends}`],
  ['places', 'where do|does we|you|they|i|it|the? project|code? use|mention|call|import|define|reference query:...'],
  ['places', 'search|grep|look|scan|greps|searching|check @file? for query:...'],
  ['places', 'search|grep|look|scan place:... for query:...'],
  ['places', 'search|grep query:...'],
  [
    'mentions',
    'do|does|did not mention|contain|include|reference|use|import|call|match|have the? word|words|text|string|term|phrase|identifier|name? query:...',
  ],
  ['mentions', 'without the? word|words|text|string|term|phrase|any|mention? of? query:...'],
  [
    'mentions',
    'mention|mentions|mentioning|reference|references|referencing|import|imports|importing|refer|refers|referring to? query:...',
  ],
  ['mentions', 'contain|contains|containing|include|includes|including|match|matches|matching|use|uses|using|call|calls|calling query:...'],
  ['mentions', 'with|have|has|having the? word|words|text|string|term|phrase|identifier|name query:...'],
  ['mentions', 'is|are query:... mentioned|used|referenced|imported|contained|called'],
  ['places', 'where is|are @the? query:... $'],
]
const quotedRules: [SearchForm, string][] = [
  ['mentions', 'with|have|has|having|say|says query:@quoted'],
  ['places', 'find|locate|get|where is|are? query:@quoted'],
]
const compiled = (table: [SearchForm, string][]): { form: SearchForm; wanted: Phrase; negated: boolean }[] =>
  table.map(([form, text]) => ({ form, wanted: phrase(text), negated: / not |^without/.test(text) }))
const wordRules = compiled(rules)
const exactRules = compiled(quotedRules)
const findRule: Phrase = phrase('find|locate query:...')
/** With one of these, only the place that defines is wanted, not those that use. */
const definedRule = phrase('defined|declared|implemented')
const todoRule = phrase('how many|much? query:todo|todos|fixme|fixmes|hack|hacks|xxx comments|comment|notes|markers|s?')
const caseRules = [
  'ignoring|ignore the? case',
  'case insensitive|insensitively',
  'case-insensitive|case-insensitively',
  'regardless of case',
  'in any case',
  'upper or lower case',
].map(phrase)

/** One text that is searched for. */
interface SearchText {
  token: Token
  /** The files don't have it. */
  negated: boolean
}

/** What a clause says of a search, but for where. */
export interface SearchWords {
  form: SearchForm
  texts: SearchText[]
  ignoreCase: boolean
  definition: boolean
  /** The clause starts with `does`: it wants a yes or a no. */
  isAsked: boolean
}

/** What a clause searches for; undefined when it searches for nothing. Takes the words it understands, but for the place. */
export function takeSearch(clause: Clause): SearchWords | undefined {
  const ignoreCase = caseRules.some((wanted) => clause.takePhrase(wanted) !== undefined)
  const found = findText(clause)
  return found && { ...found, ignoreCase }
}

function findText(clause: Clause): Omit<SearchWords, 'ignoreCase'> | undefined {
  const todo = clause.takePhrase(todoRule)?.captured.query?.[0]
  if (todo) {
    const bare = todo.text.replace(/s$/i, '').toUpperCase()
    return { form: 'times', texts: [{ token: { ...todo, text: bare }, negated: false }], definition: false, isAsked: false }
  }
  for (const { form, wanted, negated } of [...wordRules, ...exactRules]) {
    const found = clause.find(wanted)
    const search = found && take(clause, found, form, negated)
    if (search) return search
  }
  const found = clause.find(findRule)
  // `find foo` searches for text; `find the longest file`, `find package.json` and `find all tests` don't.
  const [first] = found?.captured.query ?? []
  return found && first?.kind === 'word' && !isEmptyWord(first.word) ? take(clause, found, 'places', false) : undefined
}

/** What may stand before the text without belonging to it: `the word foo`, `any calls to foo`. */
const leadWords = wordSet(`
  both either the a an any some all word words string text term phrase identifier name function class type variable
  constant method interface module library package call calls to of use uses for occurrence occurrences mention mentions
  reference references`)

/** The texts a rule has found, if they are such as one searches for. */
function take(clause: Clause, found: Found, form: SearchForm, negated: boolean): Omit<SearchWords, 'ignoreCase'> | undefined {
  const [begin, ...more] = found.captured.query ?? []
  if (begin === undefined) return undefined
  const first = clause.tokens.indexOf(begin)
  let start = first
  let end = first + 1 + more.length
  // A rule whose query stands last has taken one word; the rest of it goes on to the next place, comma or the end.
  if (end === found.end) while (end < clause.tokens.length && clause.isFree(end) && !endsQuery(clause, end)) end++
  while (start < end - 1 && clause.tokens[start]?.kind === 'word' && leadWords.has(clause.tokens[start]?.word ?? '')) start++
  const tokens = clause.tokens.slice(start, end)
  const quoted = tokens.filter((token) => token.kind === 'quoted' || token.kind === 'regex')
  if (tokens.length === 0 || (quoted.length === 0 && !isText(clause, tokens, end))) return undefined
  // `where is 'a.ts'` looks for the file.
  if (form === 'places' && /^where$/.test(clause.tokens[found.start]?.word ?? '') && quoted.some(({ text }) => looksLikeFile(text)))
    return undefined
  // Where to search is read with the other places.
  const place: readonly (Token | undefined)[] = found.captured.place ?? []
  for (let at = found.start; at < Math.max(found.end, end); at++) if (!place.includes(clause.tokens[at])) clause.take(at)
  const definition = clause.anew().find(definedRule) !== undefined && form === 'places'
  const texts = quoted.length > 0 ? quoted.map((token): SearchText => ({ token, negated: isNegated(tokens, token) })) : split(tokens)
  return {
    form,
    texts: negated ? texts.map(({ token }) => ({ token, negated })) : texts,
    definition,
    isAsked: /^(do|does|did|is|are)$/.test(clause.tokens.find(({ word }) => !/^(and|then|also|but|,|so)$/.test(word))?.word ?? ''),
  }
}

/** Where an unquoted text is over: at the next place, comma or `and`. */
function endsQuery(clause: Clause, at: number): boolean {
  const token = clause.token(at)
  return (
    token === undefined ||
    token.kind === 'comma' ||
    (token.kind === 'word' &&
      (isOneOf('place', token.word) || /^(and|or|but|anywhere|everywhere|ignoring|somewhere|at|times?)$/.test(token.word)) &&
      !joinsQueries(clause, at))
  )
}

/** `foo and bar`: two queries. */
function joinsQueries(clause: Clause, at: number): boolean {
  const next = clause.token(at + 1)
  return (
    /^(and|or|but|not)$/.test(clause.token(at)?.word ?? '') &&
    next !== undefined &&
    (next.kind === 'quoted' || next.kind === 'regex' || (next.kind === 'word' && !isEmptyWord(next.word)))
  )
}

/** Not text to search for: `contain Python files`, `have more lines`. */
function isText(clause: Clause, tokens: readonly Token[], end: number): boolean {
  const [first] = tokens
  const last = tokens.at(-1)
  if (first === undefined || last === undefined) return false
  if (tokens.every((token) => token.kind === 'word' && isEmptyWord(token.word))) return false
  if (tokens.some((token) => token.kind === 'glob' || token.kind === 'ending')) return false
  if (isOneOf('file', last.word) || isOneOf('folder', last.word) || isOneOf('file', clause.token(end)?.word)) return false
  if (tokens.some((token) => token.kind === 'number' || isOneOf('comparative', token.word) || isOneOf('superlative', token.word)))
    return tokens.length === 1 && first.kind === 'number'
  if (isKindNoun(last.word)) return false
  return (
    !(kindOfWord(last.word) !== undefined && /^(any|some|a|an|more)$/.test(clause.tokens[clause.tokens.indexOf(first) - 1]?.word ?? '')) &&
    !isOneOf('line', last.word)
  )
}

/** `foo and bar` is two queries, `tool call` is one; `foo but not bar` leaves the second out. */
function split(tokens: readonly Token[]): SearchText[] {
  const queries: Token[][] = [[]]
  for (const token of tokens) {
    if (/^(and|or|but|,)$/.test(token.word)) queries.push([])
    else queries.at(-1)?.push(token)
  }
  return queries.flatMap((words) => {
    const content = words[0]?.word === 'not' ? words.slice(1) : words
    const [first] = content
    return first === undefined ? [] : [{ token: { ...first, text: content.map(({ text }) => text).join(' ') }, negated: content !== words }]
  })
}

function isNegated(tokens: readonly Token[], token: Token): boolean {
  return tokens[tokens.indexOf(token) - 1]?.word === 'not'
}
