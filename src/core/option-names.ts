import { clip, InvalidOptionError } from './errors.ts'
import { headOf, translatedName } from './foreign-names.ts'
import { nearestName } from './nearest-name.ts'

/**
 * The names of a type's options, as data. The compiler rejects missing and unknown names. The values may hold more facts about each option.
 */
export type OptionNames<Options> = Readonly<Record<keyof Options, unknown>>

/** Makes all fields optional and allows `undefined` for each, even with `exactOptionalPropertyTypes`. */
export type Optional<Fields> = { [Name in keyof Fields]?: Fields[Name] | undefined }

type Names = Readonly<Record<string, unknown>>

/** Options of another object that may be given here by mistake: their names, and what that object is. */
export interface OtherOptions {
  names: Names
  of: string
}

/**
 * Throws `invalid_option` for an unknown option, because ignoring a mistyped one would hide the mistake. Options that are undefined count
 * as absent.
 *
 * `of`: what the options belong to, for the message. `at`: the path of the object that holds them. `other`: options that are searched for a
 * hint.
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
 * mistyped option that is not itself present.
 */
export function checkMistypedNames(options: object, names: Names, of: string, at?: string): void {
  checkMeantNames(options, names, of, at, (name) => nearestName(name, Object.keys(names)))
}

/** Like `checkMistypedNames`, but also throws for an option's name in another library. */
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
 * Checks an object whose functions are called by name, such as hooks. Throws for a function that would never be called. Instances of
 * classes may have other methods; those are refused only if they look mistyped.
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

/** Copies the known options only. */
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
