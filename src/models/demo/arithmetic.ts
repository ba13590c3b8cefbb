import { isJsonObject } from '../../core/messages.ts'
import { type MadeCall, numberIn, type Question, type Unresolved } from './reading.ts'

const numbers = 'zero one two three four five six seven eight nine ten eleven twelve'.split(' ')
const numberWord = new RegExp(`(?<![\\w-])(?:${numbers.join('|')})(?![\\w-])`, 'g')
/** Words that refer to the number in an earlier result. */
const earlier =
  /\b(?:(?:its|their|this|that) (line count|number of lines|lines|length|size|bytes)|(?:the )?(?:it|that|this|result|answer|count|total)(?: (?:number|result|count))?)\b/g
const operand = '(?:that|\\d+(?:\\.\\d+)?|\\([^()]*\\))'
/** An operand that is not followed by a power or modulo. */
const alone = `(${operand}%?)(?! *[\\d.^%])`

/** Replaces words with operators. If a clause starts with an operator, its first operand is the earlier result, `that`. */
const rewrites: [RegExp, string][] = [
  [/\b\d{4}-\d\d?-\d\d?\b|\b\d\d?([/.-])\d\d?\1\d{4}\b/, 'a date'],
  [/(?<=\b\d{1,3}(?:,\d{3})*),(?=\d{3}(?:,\d{3})*(?![\d,]))/g, ''],
  [/^(?:what (?:is|are)|how much (?:is|are)|calculate|compute|solve|what about) | ?(?:=|equals)$/g, ''],
  [/ ?\bpercent\b/g, '%'],
  [new RegExp(`^add (.+)(?: to|(?<!%) and) (-?${operand})$`), '($2) + ($1)'],
  [new RegExp(`^subtract (.+) from (-?${operand})$`), '($2) - ($1)'],
  [new RegExp(`^(multiply|divide(?=.* by )) (.+) (?:by|and|with) (-?${operand}%?)$`), '($2) $1 by ($3)'],
  [/^(?=(?:times|multipl(?:y|ied) by|divided? by|plus|minus|add|subtract|to the power of) |[*+/^×÷])/, 'that '],
  [/^(double|half|halve)$/, '$1 that'],
  [/[×·]|(?<=[\d)]|that)(?<!\b0) ?x ?(?=[\d(]|that)|\bmultipl(?:y|ied) by\b|\btimes\b/g, ' * '],
  [/÷|\bdivided? by\b/g, ' / '],
  [/[−–]|\bminus\b|\bsubtract\b/g, ' - '],
  [/\bplus\b|\badd\b/g, ' + '],
  [/\*\*|\bto the power of\b/g, ' ^ '],
  [/ squared\b/g, ' ^ 2'],
  [new RegExp(`(?:the )?\\bsquare root of ${alone}`, 'g'), 'sqrt($1)'],
  [new RegExp(`\\b(?:double|twice) ${alone}`, 'g'), '($1 * 2)'],
  [new RegExp(`\\b(?:half|halve)(?: of)? ${alone}`, 'g'), '($1 / 2)'],
  [/(?<=^|[-+*/] +)\((that|[\d.]+%?|\([^()]*\))\)(?= +[-+*/]|$)|^\(([^()]*)\)$/g, '$1$2'],
]

const token = /that|sqrt|of|\d+(?:\.\d+)?|[-+*/^%()]/g
const value = '-? ?(?:that|[\\d.]+|#)(?: %)?'
const chain = `${value}(?: (?:[-+*/^%]|(?<=% )of) ${value})*`
const brackets = new RegExp(`(?:sqrt )?\\( ${chain} \\)`, 'g')

/** Converts a clause to an expression for `calculate`. Undefined if any part is not arithmetic. */
function toExpression(words: string): string | undefined {
  const text = rewrites.reduce((each, [pattern, sign]) => each.replace(pattern, sign), words)
  if (text.replace(token, '').trim() !== '' || /\d\.\d+\.|\d \d|% ?-\d|[-+] *\(+[^()]*%(?! *[\dot(])/.test(text)) return undefined
  const tokens = (text.match(token) ?? []).join(' ')
  // Folds brackets from the inside until only a chain of operands is left.
  let folded = tokens
  for (let depth = 0; depth < 20 && folded.includes('('); depth++) folded = folded.replace(brackets, '#')
  if (!new RegExp(`^${chain}$`).test(folded) || !/. [-+*/^(]|% (?:of )?[\d#t(]/.test(tokens)) return undefined
  return tokens.replace(/(?<=sqrt) |(?<=\() | (?=\))| (?=%(?: of| [-+*/^)]|$))/g, '').replace(/(?<=^|\(|[*/^] )- /g, '-')
}

/** Reads arithmetic in signs or words, which may refer to the previous result. */
export function readArithmetic(clause: string): Question | undefined {
  let unit: 'lines' | 'bytes' | undefined
  const referring = clause
    .toLowerCase()
    .replace(numberWord, (word) => String(numbers.indexOf(word)))
    .replace(earlier, (_, measure?: string) => {
      if (measure !== undefined) unit = /size|bytes/.test(measure) ? 'bytes' : 'lines'
      return 'that'
    })
  const expression = toExpression(referring)
  if (expression === undefined) return undefined
  return { tool: 'calculate', args: expression.includes('that') ? (before) => argsOver(before, expression, unit) : { expression }, tell }
}

function argsOver(before: MadeCall | undefined, expression: string, unit?: 'lines' | 'bytes'): { expression: string } | Unresolved {
  if (before === undefined) return "I don't know which number you mean"
  if (before.result === undefined) return 'waiting'
  if (before.result.isError) return 'dead end'
  const number = numberIn(before, unit)
  if (number !== undefined) return { expression: expression.replaceAll('that', number.startsWith('-') ? `(${number})` : number) }
  return numberIn({ ...before, args: {} }) === '0' ? 'dead end' : "I don't know which number you mean"
}

const tell: Question['tell'] = (result, { expression }) => {
  const value = isJsonObject(result) ? String(result.result) : ''
  if (!/^-?\d[\d.]*(?:e[-+]?\d+)?$/i.test(value)) return undefined
  const rounded = /\.\d{7,}$/.test(value) ? String(Number(Number(value).toFixed(6))) : value
  const shown = String(expression).replaceAll('*', '×').replaceAll('/', '÷').replaceAll(' % ', ' mod ')
  return `${shown} ${rounded === value ? '=' : '≈'} ${rounded}.`
}
