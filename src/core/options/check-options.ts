import { InvalidOptionError } from '../errors.ts'
import { checkOptionNames, type OtherOptions } from '../option-names.ts'

/**
 * Checks the value of an option; throws `invalid_option` if it is not allowed. Not called for undefined. `at` is the path of the option,
 * for the message.
 */
export type Check = (value: unknown, at: string) => void

/** The check for each option of a type. The compiler rejects missing and unknown options. */
export type OptionChecks<Options> = Readonly<Record<keyof Options, Check>>

/** Throws `invalid_option` for an unknown option and for a value that is not allowed. See `checkOptionNames` for the parameters. */
export function checkOptions(
  options: object,
  checks: Readonly<Record<string, Check>>,
  of: string,
  at?: string,
  other?: OtherOptions,
): void {
  checkOptionNames(options, checks, of, at, other)
  checkValues(options, checks, at)
}

/** Throws `invalid_option` for a value that is not allowed. */
export function checkValues(options: object, checks: Readonly<Record<string, Check>>, at?: string): void {
  for (const name in options) {
    const value: unknown = Reflect.get(options, name)
    if (value !== undefined && Object.hasOwn(checks, name)) checks[name]?.(value, at === undefined ? name : `${at}.${name}`)
  }
}

/** Creates a check. `expected` completes the message "Expected `option` to be …". */
export function expecting(expected: string, isAllowed: (value: unknown) => boolean): Check {
  return (value, at) => {
    if (!isAllowed(value)) throw new InvalidOptionError(at, expected, value)
  }
}

/** Used for options that are checked elsewhere, or only by their types. */
export const unchecked: Check = () => {}

export const boolean: Check = expecting('true or false', (value) => typeof value === 'boolean')
export const callback: Check = expecting('a function', (value) => typeof value === 'function')
export const text: Check = expecting('a string, not empty', (value) => typeof value === 'string' && value !== '')
export const names: Check = expecting('an array or a set of names', isListOfNames)
export const amount: Check = expecting('a number > 0', isPositive)
export const milliseconds: Check = expecting('a number of milliseconds > 0', isPositive)

export function integer(least: number): Check {
  return expecting(`an integer ≥ ${least}`, (value) => isInteger(value, least))
}

/** Accepts an integer, or `Infinity` for no limit. */
export function integerOrNone(least: number): Check {
  return expecting(`an integer ≥ ${least}`, (value) => value === Number.POSITIVE_INFINITY || isInteger(value, least))
}

export function oneOf(...values: readonly string[]): Check {
  const quoted = values.map((value) => `'${value}'`)
  const expected = [quoted.slice(0, -1).join(', '), ...quoted.slice(-1)].filter((part) => part !== '').join(' or ')
  return expecting(expected, (value) => values.includes(value as string))
}

/** Accepts an object with its own options. */
export function optionsOf(checks: Readonly<Record<string, Check>>, of: string): Check {
  return (value, at) => checkOptions(value as object, checks, of, at)
}

function isPositive(value: unknown): boolean {
  return typeof value === 'number' && value > 0
}

function isInteger(value: unknown, least: number): boolean {
  return Number.isSafeInteger(value) && (value as number) >= least
}

function isListOfNames(value: unknown): boolean {
  if (typeof value !== 'object' || value === null || !(Symbol.iterator in value)) return false
  return Array.isArray(value) || value instanceof Set ? [...value].every((name) => typeof name === 'string') : true
}
