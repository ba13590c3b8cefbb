import { createRequire } from 'node:module'
import type { MathNode } from 'mathjs'
import { messageOf, show } from '../../core/errors.ts'
import { type AnyTool, defineTool } from '../tool.ts'
import { type ExpressionNode, evaluate, percentOperator } from './calculator/evaluate.ts'
import { problem, toText } from './calculator/exact-number.ts'

/** What `calculate` returns. */
export interface Calculation {
  expression: string
  /** A text where a JavaScript number would lose digits. */
  result: number | string
}

const mostCharacters = 500
/** The parser goes as deep as parentheses do, and its stack is not endless. */
const deepestNesting = 50

const parameters = {
  type: 'object',
  properties: {
    expression: { type: 'string', minLength: 1, maxLength: mostCharacters, description: 'For example "(1.5 + 2) * 3 ^ 2", "15% of 80".' },
  },
  required: ['expression'],
  additionalProperties: false,
} as const

/** `calculate`: arithmetic, exact for decimals and long integers. Nothing is evaluated as code. */
export function calculateTool(): AnyTool {
  return defineTool({
    name: 'calculate',
    description:
      'Calculates an arithmetic expression exactly: + - * / ^ ! ( ), % as modulo (17 % 5) and percent (15% of 80, 200 + 5%), pi, e, sqrt, ' +
      'cbrt, abs, round(x, places), floor, ceil, trunc, min, max, sum, mean, median, mod, pow, gcd, lcm, exp, ln, log(x, base), log10, log2, ' +
      'sin, cos, tan (radians). No units, variables, or thousands separators.',
    parameters,
    effect: 'read',
    execute: ({ expression }: { expression: string }): Calculation => ({ expression, result: toText(evaluate(parse(expression))) }),
  })
}

/** What is used of mathjs's bundle, whose `create` is bound to all its functions, unlike the main entry's. */
interface MathBundle {
  create(config: { number: 'Fraction' }): { parse(text: string): MathNode }
}

let parser: ((text: string) => ExpressionNode) | undefined

function parse(expression: string): ExpressionNode {
  if (expression.length > mostCharacters) {
    throw problem(`Expected \`expression\` to have at most ${mostCharacters} characters, got ${expression.length}`)
  }
  const text = normalize(expression)
  refuseDeepNesting(text)
  if (parser === undefined) {
    // The bundle made for browsers is one file: it loads ten times as fast as the package's main entry, 60 ms to 650 ms.
    const math = createRequire(import.meta.url)('mathjs/lib/browser/math.js') as MathBundle
    parser = math.create({ number: 'Fraction' }).parse
  }
  try {
    return parser(text)
  } catch (error) {
    const hint = /\d,\d{3}(?!\d)/.test(expression) ? '. Write numbers without thousands separators' : ''
    throw problem(`Expected \`expression\` to be arithmetic, got ${show(expression)}: ${messageOf(error)}${hint}`)
  }
}

const spelledOtherwise: Readonly<Record<string, string>> = {
  '×': '*',
  '·': '*',
  '÷': '/',
  '−': '-',
  '–': '-',
  π: ' pi ',
  '**': '^',
  '√(': 'sqrt(',
}

/** Brings what people write into what the parser reads. */
function normalize(expression: string): string {
  const text = expression.replace(/[×·÷−–π]|\*\*|√\(/g, (found) => spelledOtherwise[found] ?? found)
  const unknown = /[^\w\s.+\-*/%^(),![\]]/u.exec(text)
  if (unknown !== null) throw problem(`Expected \`expression\` to be arithmetic, got ${show(expression)}, which has a ${show(unknown[0])}`)
  return (
    text
      .replace(/(?<=\d)_(?=\d)/g, '')
      .replace(/\b0(?:x[\da-f]+|o[0-7]+|b[01]+)\b/gi, (found) => BigInt(found).toString())
      // Fractions are parsed without exponents.
      .replace(/(?<![\w.])(\d+\.?\d*|\.\d+)e([+-]?\d+)(?![\w.])/gi, '($1*10^($2))')
      // Percent, where no operand follows; else modulo. `5% - 3` is percent, `5 % -3` is modulo; the parser takes both for modulo.
      .replace(/%\s*of\b/gi, `${percentOperator}*`)
      .replace(/%(?=\s*(?:[*/^,)\]%!]|$))|(?<!\s)%(?=\s*[+-])/g, percentOperator)
  )
}

function refuseDeepNesting(text: string): void {
  let depth = 0
  for (const char of text) {
    if (char === '(' || char === '[') depth++
    if (char === ')' || char === ']') depth--
    if (depth > deepestNesting) throw problem(`Expected at most ${deepestNesting} parentheses inside one another`)
  }
}
