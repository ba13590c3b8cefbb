import { checkCallbackNames, type OptionNames } from '../../core/check-options.ts'
import { InvalidOptionError } from '../../core/errors.ts'
import type { AroundEntry, PlanEntry } from '../types/middleware.ts'

const entryNames: OptionNames<PlanEntry & AroundEntry> = { name: true, onFailure: true, request: true, call: true }

/** Throws `invalid_option` if the option is not a list of valid entries. */
export function checkEntries(option: 'plan' | 'around', entries: readonly (PlanEntry<never> | AroundEntry<never>)[] | undefined): void {
  if (entries === undefined) return
  if (!Array.isArray(entries)) throw new InvalidOptionError(option, 'an array of entries', entries)
  for (const [at, entry] of entries.entries()) {
    const where = `${option}[${at}]`
    if (typeof entry?.name !== 'string' || entry.name === '')
      throw new InvalidOptionError(`${where}.name`, 'a string, not empty', entry?.name)
    checkCallbackNames(entry, entryNames, `an entry of \`${option}\``, where)
    const { onFailure } = entry
    if (onFailure !== undefined && onFailure !== 'refuse' && onFailure !== 'skip')
      throw new InvalidOptionError(`${where}.onFailure`, "'refuse' or 'skip'", onFailure)
    for (const name of ['request', 'call'] as const) {
      if (entry[name] !== undefined && typeof entry[name] !== 'function')
        throw new InvalidOptionError(`${where}.${name}`, 'a function', entry[name])
    }
  }
}
