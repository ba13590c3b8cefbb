import { type AnyTool, defineTool } from '../tool.ts'
import { evaluate } from './calculator/evaluate.ts'
import { toText } from './calculator/exact-number.ts'

/** The result of `calculate`. */
export interface Calculation {
  /** The expression, as the model gave it. */
  expression: string
  /** The result. It is a string if a JavaScript number would lose digits. */
  result: number | string
}

const maxCharacters = 500
const parameters = {
  type: 'object',
  properties: {
    expression: { type: 'string', minLength: 1, maxLength: maxCharacters, description: 'For example "(1.5 + 2) * 3 ^ 2", "15% of 80".' },
  },
  required: ['expression'],
  additionalProperties: false,
} as const

/** Creates the tool `calculate`: arithmetic that is exact for decimals and long integers. Never evaluates code. */
export function calculateTool(): AnyTool {
  return defineTool({
    name: 'calculate',
    description:
      'Calculates an arithmetic expression exactly: + - * / ^ ! ( ), % as modulo (17 % 5) and percent (15% of 80, 200 + 5%), pi, e, sqrt, ' +
      'cbrt, abs, round(x, places), floor, ceil, trunc, min, max, sum, mean, median, mod, pow, gcd, lcm, exp, ln, log(x, base), log10, log2, ' +
      'sin, cos, tan (radians). No units, variables, or thousands separators.',
    parameters,
    effect: 'read',
    execute: ({ expression }: { expression: string }): Calculation => ({ expression, result: toText(evaluate(expression)) }),
  })
}
