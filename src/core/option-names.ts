import { clip, InvalidOptionError } from './errors.ts'
import { headOf, translatedName } from './foreign-names.ts'
import { nearestName } from './nearest-name.ts'

/** The names of a type's options, as data: the compiler rejects a missing name and an unknown one. The values may be what else is known of them. */
export type OptionNames<Options> = Readonly<Record<keyof Options, unknown>>

/** Any of these fields, or `undefined` in their place, also with `exactOptionalPropertyTypes`. */
export type Optional<Fields> = { [Name in keyof Fields]?: Fields[Name] | undefined }

type Names = Readonly<Record<string, unknown>>

/** Other options, which may be given in the wrong place: their names, and whose they are. */
export interface OtherOptions {
  names: Names
  of: string
}

/**
 * Throws `invalid_option` for an unknown option: a mistyped one would be ignored in silence. One that is undefined counts as absent.
 * `of`: whose options they are; `at`: the option they are the value of; `other`: options that are looked through for a hint.
 */
export function checkOptionNames(options: object, names: Names, of: string, at?: string, other?: OtherOptions): void {
  if (typeof options !== 'object' || options === null) throw new InvalidOptionError(at ?? 'options', 'an object', options)
  // Not `Object.entries`: this is asked of every run.
  for (const name in options) if (!Object.hasOwn(names, name) && isGiven(options, name)) throw unknownOption(name, names, of, at, other)
}

function isGiven(options: object, name: string): boolean {
  return Object.hasOwn(options, name) && options[name as keyof typeof options] !== undefined
}

/**
 * The same for objects that may hold more than our options, such as those of a subclass: throws only for one that looks like a known option
 * mistyped, where that is not there itself.
 */
export function checkMistypedNames(options: object, names: Names, of: string, at?: string): void {
  checkMeantNames(options, names, of, at, (name) => nearestName(name, Object.keys(names)))
}

/** The same, and throws for an option by the name that it has in another library. */
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
 * For objects whose functions are called by their names, and which may have state of their own: throws for a function that would never be
 * called. Instances of classes may have further methods; theirs are only refused where one looks mistyped.
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

/** Whether it is an object literal, not an instance of a class. */
export function isPlainObject(value: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(value)
  return prototype === null || prototype === Object.prototype
}

/** Functions an object has itself, and those of its classes. */
function functionNames(taker: object): string[] {
  const own = Object.entries(taker).flatMap(([name, value]) => (typeof value === 'function' ? [name] : []))
  const inherited: string[] = []
  for (let at: object = Object.getPrototypeOf(taker); at && at !== Object.prototype; at = Object.getPrototypeOf(at)) {
    for (const [name, { value }] of Object.entries(Object.getOwnPropertyDescriptors(at)))
      if (typeof value === 'function' && name !== 'constructor') inherited.push(name)
  }
  return [...own, ...inherited]
}

/** A copy with the known options only. */
export function knownOptions<Options extends object>(options: Options, names: OptionNames<Options>): Options {
  return Object.fromEntries(Object.entries(options).filter(([name]) => Object.hasOwn(names, name))) as Options
}

/** Its value stays out of the message: what is mistyped may be a key. */
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
