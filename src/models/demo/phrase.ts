/** A word, name, number or sign of a request. */
export interface Token {
  /** As it was typed; of a quoted text what is between the quotes. */
  raw: string
  /** What patterns are compared with: the word in lower case, a number's digits, or what it is: `<file>`, `<path>`, `<text>` … */
  form: string
  start: number
}

/** Part of a request. A pattern fits the whole of it or not at all, so no word is passed over. */
export class Phrase {
  readonly tokens: readonly Token[]
  /** The forms, a space between each two. */
  readonly text: string

  constructor(tokens: readonly Token[]) {
    this.tokens = tokens
    this.text = tokens.map(({ form }) => form).join(' ')
  }

  /** As it was typed. */
  get raw(): string {
    return this.tokens.map(({ raw }) => raw).join(' ')
  }

  slice(from: number, to?: number): Phrase {
    return new Phrase(this.tokens.slice(from, to))
  }

  /** The named groups of a pattern as phrases; undefined where it does not fit. */
  match(pattern: RegExp): Record<string, Phrase | undefined> | undefined {
    const found = pattern.exec(this.text)
    const spans: Record<string, [number, number] | undefined> = found?.indices?.groups ?? {}
    const groups = Object.entries(spans).map(([name, span]) => {
      if (span === undefined) return [name, undefined]
      const first = this.text.slice(0, span[0]).split(' ').length - 1
      const words = this.text.slice(...span).trim()
      return [name, this.slice(first, first + words.split(' ').length)]
    })
    return found === null ? undefined : Object.fromEntries(groups)
  }
}

/** Names of files that are said without their ending. */
export const bareNames = 'readme|licen[sc]e|changelog|dockerfile|makefile|contributing'
const macros: Record<string, string> = {
  FILE: '(?<file>.+?)',
  NAMED: `(?<file>(?:file )?(?:called |named )?(?:<file>|<filetext>|${bareNames})(?: file)?)`,
  TERM: '(?:(?:word|text|string|function|class|type|method|variable) )?(?<term><text>|<filetext>|<file>|<path>|[^ <>]+)',
  PLACE: '(?<place>.+?)',
  REST: '(?<rest>.+?)',
  PROJECT: '(?:it|this|(?:this |my |our )?(?:project|package|repo|repository|codebase|code|app|module|program|library))',
}

/** A pattern for a whole phrase. The words in capitals stand for what can be filled in; all but PROJECT are groups. */
export function frame(source: string): RegExp {
  return new RegExp(`^(?:${source.replace(/\b[A-Z]{4,}\b/g, (name) => macros[name] ?? name)})$`, 'd')
}

/** Words that change nothing in the questions the demo knows. */
const fillers = new Set('a an the please pls kindly there here all any just exactly actually really currently me us now'.split(' '))
// A Map: `__proto__` is a word like any other.
const contractions = new Map(Object.entries({ whats: 'what is', wheres: 'where is', whos: 'who is', im: 'i am' }))
const webAddress = /^[\w-]+(\.[\w-]+)*\.(com|org|net|edu|gov|io|dev|app)(\/|$)/i

const kinds: [form: string, pattern: RegExp][] = [
  ['', /\s+|['’]s\b|:(?=\s|$)/y],
  ['<url>', /https?:\/\/[^\s"'`<>”]+(?<![.,;:!?)])/iy],
  ['<text>', /"([^"\n]+)"|“([^”\n]+)”|`([^`\n]+)`|(?<!\w)'([^'\n]+)'(?!\w)/y],
  ['<glob>', /(?:[\w.-]+\/)*[\w.-]*(?<![\d)])\*+(?:\/\*+)*\.[A-Za-z{][\w{},.]*(?<![.,])/y],
  ['<path>', /(?=[\w@./~-]*[A-Za-z.])(?:~?\.{0,2}\/)?(?:[\w@.-]+\/)*[\w@.-]*\/[\w@.-]*(?<!\w\.)/y],
  ['<file>', /(?:[\w-]+\.)+[A-Za-z]\w{0,9}(?![\w-])|(?<!\w)\.[A-Za-z][\w-]*(?:\.[\w-]+)*/y],
  ['number', /\d{1,3}(?:,\d{3})+(?:\.\d+)?(?![\d,])|\d+(?:\.\d+)?|\.\d+/y],
  ['word', /[\p{L}_][\p{L}\p{M}\w]*(?:['’-][\p{L}\w]+)*/uy],
  ['.', /[.?!;。？！]+(?=\s|$)|\n/y],
  ['sign', /\*\*|[\s\S]/y],
]

/** The tokens of a request. `endOfCall` tells where a spelled-out call ends that begins at `at`: a token of its own. */
export function tokenize(text: string, endOfCall: (at: number) => number | undefined): Token[] {
  const tokens: Token[] = []
  for (let at = 0; at < text.length; ) {
    const last = tokens.at(-1)
    const end = last === undefined || isSeparator(last) ? endOfCall(at) : undefined
    if (end !== undefined) tokens.push({ raw: text.slice(at, end), form: '<call>', start: at })
    const [form, pattern] = kinds.find(([, each]) => matchAt(each, text, at) !== undefined) ?? []
    const match = end === undefined && pattern !== undefined ? matchAt(pattern, text, at) : undefined
    if (form && match) tokens.push(...tokensOf(form, match, at))
    at = end ?? at + (match?.[0].length ?? 1)
  }
  return tokens
}

/** What a sticky pattern finds at a place. */
export function matchAt(pattern: RegExp, text: string, at: number): RegExpExecArray | undefined {
  pattern.lastIndex = at
  return pattern.exec(text) ?? undefined
}

/** Whether a clause may end before it. */
export function isSeparator({ form }: Token): boolean {
  return form === 'and' || form === ',' || form === 'then' || form === '.'
}

function tokensOf(kind: string, match: RegExpExecArray, start: number): Token[] {
  const raw = match.slice(1).find((group) => group !== undefined) ?? match[0]
  const token = (form: string): Token => ({ raw, form, start })
  if (kind === 'number') return [token(raw.replaceAll(',', ''))]
  if (kind === '<text>') return [token(/^[\w@./ -]+\.\w+$/.test(raw) ? '<filetext>' : kind)]
  if (kind === 'sign') return [token({ '×': '*', '÷': '/', '−': '-', '**': '^' }[raw] ?? raw)]
  if (kind === '<path>' || kind === '<file>')
    return [token(webAddress.test(raw) ? '<url>' : /\.[A-Za-z]\w*$/.test(raw) ? '<file>' : '<path>')]
  if (kind !== 'word') return [token(kind)]
  const word = raw.toLowerCase().replaceAll('’', "'")
  const whole =
    contractions.get(word) ?? word.replace(/^(what|where|how|who|that|it|there|here|let)'s$/, '$1 is').replace(/'(s|re|d|ve|ll)$/, '')
  const forms = whole.split(' ').filter((form) => !fillers.has(form))
  return forms.map((form) => ({ ...token(String(numberOf(form) ?? form)), raw: forms.length > 1 ? form : raw }))
}

const ones = `zero _ two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen
  nineteen`.split(/\s+/)
const tens = '_ _ twenty thirty forty fifty sixty seventy eighty ninety'.split(' ')

/** The number a word says, such as `seven` or `twenty-five`. `one` is none: it is a pronoun more often. */
function numberOf(word: string): number | undefined {
  const [high = '', low] = word.split('-')
  if (low !== undefined) return tens.includes(high) && ones.indexOf(low) > 0 ? tens.indexOf(high) * 10 + ones.indexOf(low) : undefined
  return ones.includes(word) ? ones.indexOf(word) : tens.includes(word) ? tens.indexOf(word) * 10 : undefined
}

/** The words that are worth finding behind a slip of the keyboard. */
const correctable = `what which where when time many files file lines line longest largest biggest shortest smallest newest folder folders
  directory list show read find search count length version license dependencies scripts typescript javascript python markdown today
  times divided multiplied minus percent project mention words`.split(/\s+/)

/** The tokens with swapped letters put right, and what was read as what. */
export function correctTypos(tokens: readonly Token[]): { tokens: Token[]; notes: string[] } {
  const notes: string[] = []
  const letters = (word: string) => word.charAt(0) + [...word].sort().join('')
  const corrected = tokens.map((token) => {
    const form = /^[a-z]{4,}$/.test(token.form) ? correctable.find((word) => letters(word) === letters(token.form)) : undefined
    if (form === undefined || form === token.form) return token
    notes.push(`“${token.raw}” as “${form}”`)
    return { ...token, form }
  })
  return { tokens: corrected, notes }
}
