import { clip, InvalidOptionError } from './errors.ts'
import { headOf, translatedName } from './foreign-names.ts'
import { nearestName } from './nearest-name.ts'

/** The names of a type's options, for checks at run time. The compiler rejects missing and unknown names. */
export type OptionNames<Options> = Readonly<Record<keyof Options, unknown>>

/** Makes all fields optional and allows `undefined` for each, even with `exactOptionalPropertyTypes`. */
export type Optional<Fields> = { [Name in keyof Fields]?: Fields[Name] | undefined }

type Names = Readonly<Record<string, unknown>>

/**
 * Options that belong to another object, but that callers may pass here by mistake. `names`: the names of these options. `of`: the other
 * object, as the error message describes it.
 */
export interface OtherOptions {
  names: Names
  of: string
}

/**
 * Throws `invalid_option` for an unknown option. Options that are undefined count as absent.
 *
 * `of`: the owner of the options, for the error message. `at`: the path of the object that contains the options. `other`: another object's
 * options. If the unknown option is one of these, the message says so.
 */
export function checkOptionNames(options: object, names: Names, of: string, at?: string, other?: OtherOptions): void {
  if (typeof options !== 'object' || options === null) throw new InvalidOptionError(at ?? 'options', 'an object', options)
  // A `for` loop is faster than `Object.entries`, and this is called for every run.
  for (const name in options) if (!Object.hasOwn(names, name) && isGiven(options, name)) throw unknownOption(name, names, of, at, other)
}

function isGiven(options: object, name: string): boolean {
  return Object.hasOwn(options, name) && options[name as keyof typeof options] !== undefined
}

/**
 * Like `checkOptionNames`, for objects that may have other fields, such as the options of a subclass. Throws only if a name looks like a
 * misspelling of an option that is absent.
 */
export function checkMistypedNames(options: object, names: Names, of: string, at?: string): void {
  checkMeantNames(options, names, of, at, (name) => nearestName(name, Object.keys(names)))
}

/** Like `checkMistypedNames`, but also throws for a name that another library uses for one of the options. */
export function checkOtherNames(options: object, names: Names, of: string, at?: string): void {
  checkMeantNames(options, names, of, at, (name) => meantName(name, names))
}

function checkMeantNames(options: object, names: Names, of: string, at: string | undefined, meantBy: (name: string) => string | undefined) {
  if (typeof options !== 'object' || options === null) throw new InvalidOptionError(at ?? 'options', 'an object', options)
  for (const name in options) {
    if (Object.hasOwn(names, name) || !isGiven(options, name)) continue
    const meant = meantBy(name)
    if (meant !== undefined && !(headOf(meant) in options)) throw unknownOption(name, names, of, at)
  }
}

function meantName(name: string, names: Names): string | undefined {
  return translatedName(name, names) ?? nearestName(name, Object.keys(names))
}

const checkedTakers = new WeakSet<object>()

/**
 * Checks the names of an object's functions, such as hooks. In an object literal, no unknown name is allowed, because the function would
 * never be called. An instance of a class may have other methods, so only names that look like misspellings are refused.
 */
export function checkCallbackNames(taker: object, names: Names, of: string, at: string): void {
  if (checkedTakers.has(taker)) return
  const isMine = !isPlainObject(taker)
  for (const name of functionNames(taker)) {
    if (Object.hasOwn(names, name)) continue
    const meant = nearestName(name, Object.keys(names))
    if (!isMine || (meant !== undefined && !(meant in taker))) throw unknownOption(name, names, of, at)
  }
  checkedTakers.add(taker)
}

/** Whether a value is an object literal, not an instance of a class. */
export function isPlainObject(value: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(value)
  return prototype === null || prototype === Object.prototype
}

/** The names of an object's own functions and of the methods it inherits. */
function functionNames(taker: object): string[] {
  const own = Object.entries(taker).flatMap(([name, value]) => (typeof value === 'function' ? [name] : []))
  const inherited: string[] = []
  for (let at: object = Object.getPrototypeOf(taker); at && at !== Object.prototype; at = Object.getPrototypeOf(at)) {
    for (const [name, { value }] of Object.entries(Object.getOwnPropertyDescriptors(at)))
      if (typeof value === 'function' && name !== 'constructor') inherited.push(name)
  }
  return [...own, ...inherited]
}

/** Copies only the options listed in `names`. */
export function knownOptions<Options extends object>(options: Options, names: OptionNames<Options>): Options {
  return Object.fromEntries(Object.entries(options).filter(([name]) => Object.hasOwn(names, name))) as Options
}

/** The message omits the value: an option with a mistyped name may hold an API key. */
function unknownOption(name: string, names: Names, of: string, at?: string, other?: OtherOptions): InvalidOptionError {
  const path = (one: string) => (at === undefined ? one : `${at}.${one}`)
  return new InvalidOptionError(path(clip(name)), `an option of ${of}${hintFor(name, names, path, other)}`)
}

function hintFor(name: string, names: Names, path: (name: string) => string, other: OtherOptions | undefined): string {
  const translated = translatedName(name, names)
  if (translated !== undefined) return `; did you mean \`${path(translated)}\`?`
  const elsewhere = other && (Object.hasOwn(other.names, name) ? name : translatedName(name, other.names))
  if (elsewhere !== undefined) return `; did you mean \`${elsewhere}\` of ${other?.of}?`
  const nearest = nearestName(name, Object.keys(names))
  return nearest === undefined ? `, which are ${Object.keys(names).join(', ')}` : `; did you mean \`${path(nearest)}\`?`
}

/**
 * Checks the value of an option and throws `invalid_option` if it is not allowed. Not called for undefined. `at` is the path of the option,
 * for the error message.
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

/** Accepts any value. Used for options that are checked elsewhere, or only by their types. */
export const unchecked: Check = () => {}

/** Accepts a value that has these methods. */
export function withMethods(expected: string, ...methods: readonly string[]): Check {
  return expecting(expected, (value) => methods.every((method) => typeof Reflect.get(Object(value), method) === 'function'))
}

export const boolean: Check = expecting('true or false', (value) => typeof value === 'boolean')
export const callback: Check = expecting('a function', (value) => typeof value === 'function')
export const textOrCallback: Check = expecting('a text or a function', (value) => typeof value === 'string' || typeof value === 'function')
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

/** Accepts an object whose fields pass `checks`. */
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
