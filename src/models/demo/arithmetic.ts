import { frame, type Phrase, type Token } from './phrase.ts'
import { type Desk, type Plan, type Reader, type Reading, Stopped, unreadable } from './plans.ts'

/** Words for what `calculate` writes in signs. */
const signs: [RegExp, string][] = [
  [/\bsquare root of (\S+)/g, 'sqrt( $1 )'],
  [/\b(multiplied by|times|x)(?= )/g, '*'],
  [/\b(divided by|over)(?= )/g, '/'],
  [/\bto power of\b/g, '^'],
  [/\bplus\b/g, '+'],
  [/\b(minus|less)\b/g, '-'],
  [/\b(modulo|mod)\b/g, 'mod'],
  [/(\S+) squared\b/g, '$1 ^ 2'],
  [/(\S+) percent of\b/g, '$1 % of'],
  [/\bhalf (?:of )?(\S+)/g, '$1 / 2'],
  [/\b(?:double|twice) (\S+)/g, '$1 * 2'],
  [/\btriple (\S+)/g, '$1 * 3'],
]
/** An expression as one operand. */
function group(expression: string): string {
  return / /.test(expression) ? `( ${expression} )` : expression
}

/** Brings an expression in words into signs; numbers that are still to be found stand in it as `@0`, `@1` … */
function toSigns(text: string): string {
  return signs.reduce((each, [words, sign]) => each.replace(words, sign), text)
}

const operand = '-? ?(?:@\\d+|[\\d.]+|#)!?'
const operator = ' (?:[-+*/^]|mod|% of|%) '
const chain = `${operand}(?:${operator}${operand})*`

/** Whether it is arithmetic, whole and with something to calculate: brackets are folded from the inside. */
function isArithmetic(expression: string): boolean {
  const inside = new RegExp(
    `(?:\\b(?:sqrt|cbrt|abs|round|floor|ceil|ln|log10|max|min|mean|sin|cos|tan) ?)?\\( ?${chain}(?: , ${chain})* ?\\)`,
    'g',
  )
  let folded = expression
  for (let depth = 0; depth < 20 && inside.test(folded); depth++) folded = folded.replace(inside, '#')
  return new RegExp(`^${chain}$`).test(folded) && /[-+*/^%!(]|mod/.test(expression.replace(/^-/, ''))
}

type Operand = (desk: Desk) => string
const pronoun = frame('(?:(?:it|that|this|result|answer|count|total)|(?:that|this) (?:number|result|count))')

function inBrackets(number = ''): string {
  return number.startsWith('-') ? `(${number})` : number
}

const lastNumber: Operand = (desk) => inBrackets(desk.lastNumber())
const isPart = /^(plus|minus|less|times|x|over|divided|multiplied|by|squared|cubed|mod|modulo|percent|[-+*/^%!(),])$/

/** An operand has at most this many words. */
const maxOperand = 12

/** The tokens as text, what is a number only when tools were asked as `@n`. */
function readOperands(phrase: Phrase, read: (phrase: Phrase) => Reading | undefined): { text: string; operands: Operand[] } {
  const operands: Operand[] = []
  const words: string[] = []
  const hasOperand = (token: Token) => /^[\d.]+$/.test(token.form)
  for (let at = 0; at < phrase.tokens.length; ) {
    let length = phrase.tokens.slice(at).findIndex(({ form }) => isPart.test(form))
    if (length === -1) length = phrase.tokens.length - at
    for (length = Math.min(length, maxOperand); length > 0; length--) {
      const part = phrase.slice(at, at + length)
      const reading = pronoun.test(part.text) || part.tokens.every(hasOperand) ? undefined : read(part)
      if (reading === undefined && !pronoun.test(part.text)) continue
      words.push(`@${operands.length}`)
      operands.push(reading === undefined ? lastNumber : numberOf(reading))
      break
    }
    if (length === 0) words.push(phrase.tokens[at]?.form === 'one' ? '1' : (phrase.tokens[at]?.form ?? ''))
    at += Math.max(1, length)
  }
  return { text: words.join(' '), operands }
}

function numberOf({ plan }: Reading): Operand {
  return (desk) => {
    const { number, text, isDeadEnd } = plan(desk)
    if (isDeadEnd) throw new Stopped('failed', text)
    if (number === undefined) throw new Stopped('cannot', 'I know no number for that.')
    return inBrackets(number)
  }
}

const calculate =
  (signs: string, operands: readonly Operand[]): Plan =>
  (desk) => {
    const numbers = operands.map((operand) => operand(desk))
    const expression = signs
      .replace(/@(\d+)/g, (_, index) => numbers[Number(index)] ?? '')
      .replace(/\( /g, '(')
      .replace(/ (?=[),!])/g, '')
      .replace(/ % of /g, '% of ')
      .replace(/(?<=^|[(*/^] ?)- (?=\S)/g, '-')
      .replace(/ mod /g, ' % ')
    const { result } = desk.object('calculate', { expression })
    if (typeof result !== 'number' && typeof result !== 'string') throw unreadable('calculate')
    const value = String(result)
    const rounded = /\.\d{7,}$/.test(value) ? String(Number(Number(value).toFixed(6))) : value
    const shown = expression.replaceAll('*', '×').replaceAll('/', '÷').replaceAll(' % ', ' mod ')
    return { text: `${shown} ${rounded === value ? '=' : '≈'} ${rounded}.`, number: value }
  }

const question = frame(
  '(?:(?:what is|how much is|how much are|what are|calculate|compute|evaluate|solve|work out|find) )?REST(?: =| equals)?',
)
/** One of these is in whatever can be calculated. */
const arithmeticWord =
  /(?<=^| )([-+*/^%!(]|plus|minus|less|times|x|over|divided?|mult\w+|squared?|half|halve|double|twice|triple|add|subtract|mod|modulo|percent|root|power)(?= |$)/
/** Commands, and what goes on from the number told last, as expressions. */
const commands: [RegExp, string][] = [
  [/^add (.+) (?:to|and) (.+)$/, '$2 + $1'],
  [/^subtract (.+) from (.+)$/, '$2 - $1'],
  [/^multiply (.+) by (.+)$/, '$1 * $2'],
  [/^divide (.+) by (.+)$/, '$1 / $2'],
  [/^(?:add|plus|\+) (.+)$/, 'that + $1'],
  [/^(?:subtract|minus) (.+)$/, 'that - $1'],
  [/^(?:times|multiplied by|multiply by|x|\*) (.+)$/, 'that * $1'],
  [/^(?:divided by|divide by|over|\/) (.+)$/, 'that / $1'],
  [/^(double|triple|half|twice)$/, '$1 that'],
  [/^halve (.+)$/, 'half $1'],
  [/^square (?!root)(.+)$/, '$1 squared'],
]

/** Arithmetic in signs and words, over earlier results too. What else is a number is read with `read`. */
export function arithmeticReader(read: Reader): Reader {
  return (phrase, before) => {
    if (!arithmeticWord.test(phrase.text)) return undefined
    const asked = phrase.match(question)?.rest ?? phrase
    const { text, operands } = readOperands(asked, (part) => read(part, before))
    const [pattern, meant = ''] = commands.find(([command]) => command.test(text)) ?? []
    const [, first = '', second = ''] = pattern?.exec(text) ?? []
    const said = pattern === undefined ? text : meant.replace('$1', group(first)).replace('$2', group(second))
    const expression = toSigns(said.replace(/\bthat\b/, `@${operands.length}`))
    const numbers = /\bthat\b/.test(said) ? [...operands, lastNumber] : operands
    return isArithmetic(expression) ? { plan: calculate(expression, numbers) } : undefined
  }
}
