import type { Token } from './tokens.ts'

const ones =
  'zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen'
const tens = 'twenty thirty forty fifty sixty seventy eighty ninety'
const smallNumbers = new Map<string, number>([
  ...ones.split(' ').map((word, value): [string, number] => [word, value]),
  ...tens.split(' ').map((word, index): [string, number] => [word, (index + 2) * 10]),
])
const scales = new Map([
  ['dozen', 12],
  ['hundred', 100],
  ['thousand', 1_000],
  ['million', 1_000_000],
  ['billion', 1_000_000_000],
])
const ordinals = 'first second third fourth fifth sixth seventh eighth ninth tenth'.split(' ')
const byteScales: Record<string, number> = { k: 1024, m: 1024 ** 2, g: 1024 ** 3 }

/** 1 for `first`, 2 for `second` … */
export function ordinalOf(word: string): number | undefined {
  const index = ordinals.indexOf(word)
  return index === -1 ? undefined : index + 1
}

/** How many bytes a unit has: `kb`, `kilobytes`, `MiB`, … */
export function bytesOfUnit(word: string): number {
  return byteScales[/^[kmg]/i.exec(word)?.[0].toLowerCase() ?? ''] ?? 1
}

/** `seven` and `twenty-five`. `one` is left to the grammar: it is a pronoun more often (`the longest one`). */
function smallNumber(token: Token | undefined): number | undefined {
  if (token?.kind !== 'word' || token.word === 'one') return undefined
  const whole = smallNumbers.get(token.word)
  if (whole !== undefined) return whole
  const [high = 0, low = 0] = token.word.split('-').map((word) => smallNumbers.get(word))
  return high >= 20 && low > 0 && low < 10 ? high + low : undefined
}

function scaleOf(token: Token | undefined): number | undefined {
  return token?.kind === 'word' ? scales.get(token.word) : undefined
}

/** `twenty-five`, `two hundred and fifty`, `3 million`, `a dozen` become one number. */
export function joinNumbers(tokens: readonly Token[]): Token[] {
  const joined: Token[] = []
  for (let at = 0; at < tokens.length; at++) {
    const token = tokens[at]
    const run = readRun(tokens, at)
    if (token === undefined) break
    if (run === undefined) {
      joined.push(token)
      continue
    }
    const text = String(run.value)
    joined.push({ kind: 'number', text, word: text, value: run.value, start: token.start, end: tokens[run.end - 1]?.end ?? token.end })
    at = run.end - 1
  }
  return joined
}

/** The number that begins at `from` with a number word, or with digits and a scale. */
function readRun(tokens: readonly Token[], from: number): { value: number; end: number } | undefined {
  let total = 0
  let part = tokens[from]?.kind === 'number' ? tokens[from].value : undefined
  const first = part === undefined ? from : from + 1
  let at = first
  for (; at < tokens.length; at++) {
    const small = smallNumber(tokens[at])
    const scale = scaleOf(tokens[at])
    if (small !== undefined && mayFollow(part, small)) {
      part = (part ?? 0) + small
    } else if (scale !== undefined && scale <= 100) {
      part = (part ?? 1) * scale
    } else if (scale !== undefined) {
      total += (part ?? 1) * scale
      part = undefined
    } else if (tokens[at]?.word !== 'and' || scaleOf(tokens[at - 1]) === undefined || smallNumber(tokens[at + 1]) === undefined) {
      break
    }
  }
  return at === first ? undefined : { value: total + (part ?? 0), end: at }
}

/** `hundred five` and `twenty five` go on, `three four` are two numbers. */
function mayFollow(part: number | undefined, small: number): boolean {
  return part === undefined || (part % 100 === 0 && part > 0) || (part % 10 === 0 && part % 100 >= 20 && small < 10)
}
