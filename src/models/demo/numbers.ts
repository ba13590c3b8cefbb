const small =
  'zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen'
const tens = 'twenty thirty forty fifty sixty seventy eighty ninety'
const words = new Map<string, number>([
  ...small.split(' ').map((word, value): [string, number] => [word, value]),
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

/** `seven` and `twenty-five`. `one` is left to the grammar: it is a pronoun more often (`the longest one`). */
export function numberWord(word: string): number | undefined {
  if (word === 'one') return undefined
  const whole = words.get(word)
  if (whole !== undefined) return whole
  const [ten = '', one = ''] = word.split('-')
  const [high, low] = [words.get(ten), words.get(one)]
  return high !== undefined && low !== undefined && high >= 20 && low > 0 && low < 10 ? high + low : undefined
}

export function scaleWord(word: string): number | undefined {
  return scales.get(word)
}

/** 1 for `first` and `1st`, 2 for `second` … */
export function ordinalOf(word: string): number | undefined {
  const index = ordinals.indexOf(word)
  return index === -1 ? undefined : index + 1
}

/** A number as it is shown in an answer: up to six digits behind the point. */
export function showNumber(value: number): string {
  if (!Number.isFinite(value)) return String(value)
  if (Number.isInteger(value) && Math.abs(value) < 1e21) return value.toString()
  const rounded = Number(value.toFixed(6))
  return rounded === 0 ? value.toPrecision(6) : String(rounded)
}

const units = ['bytes', 'KB', 'MB', 'GB', 'TB']

/** `812 bytes`, `12345 bytes (12.1 KB)`; 1 KB is 1024 bytes. */
export function showBytes(bytes: number): string {
  const exact = bytes === 1 ? '1 byte' : `${showNumber(bytes)} bytes`
  let value = bytes
  let unit = 0
  while (value >= 1024 && unit < units.length - 1) {
    value /= 1024
    unit++
  }
  return unit === 0 ? exact : `${exact} (${value.toFixed(1)} ${units[unit] ?? ''})`
}

const byteUnits = new Map([
  ['k', 1024],
  ['m', 1024 ** 2],
  ['g', 1024 ** 3],
])

/** How many bytes a unit has: `kb`, `kilobytes`, `MiB`, … */
export function bytesOfUnit(word: string): number {
  return byteUnits.get(/^(k|m|g)/.exec(word)?.[1] ?? '') ?? 1
}

/** `1 file`, `2 files`, `no files`. */
export function amount(count: number, one: string, many: string = `${one}s`): string {
  return `${count === 0 ? 'no' : showNumber(count)} ${count === 1 ? one : many}`
}
