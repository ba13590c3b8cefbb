import { Pauses } from '../../yield-to-event-loop.ts'
import { compileName, type NamePattern, splitNames } from './name-pattern.ts'
import { PathPattern } from './path-pattern.ts'

// Our own reader: the package `ignore` makes regular expressions of rules, and one of `**/a/` ten times takes it more than a minute.

interface IgnoreRule {
  negated: boolean
  foldersOnly: boolean
  /** A name anywhere below the rule's file, or a path from there. */
  target: NamePattern | PathPattern
  /** Characters of the rule: what a try costs at worst, for each character of a name. */
  length: number
}

interface RuleFile {
  /** The folder the rules are relative to: absolute, `/` separators, no slash at the end. */
  folder: string
  rules: IgnoreRule[]
  above: RuleFile | undefined
}

/**
 * What git ignores (https://git-scm.com/docs/gitignore), as a chain of rule files from the repository down to one folder. Immutable:
 * every folder with a file of its own gets a longer chain. Paths are absolute with `/` separators.
 *
 * The parents of a path are not checked: a walk does not enter an ignored folder.
 */
export class IgnoreRules {
  static readonly none: IgnoreRules = new IgnoreRules(undefined)
  readonly #last: RuleFile | undefined

  private constructor(last: RuleFile | undefined) {
    this.#last = last
  }

  /** These rules and those of one more file, which win over them. Yields to the event loop. */
  async with(folder: string, text: string, pauses: Pauses = new Pauses()): Promise<IgnoreRules> {
    const rules: IgnoreRule[] = []
    let from = text.startsWith('\uFEFF') ? 1 : 0
    for (let lines = 0; from < text.length; lines++) {
      if (lines % 256 === 0) await pauses.take()
      const end = text.indexOf('\n', from)
      const line = asBytes(text.slice(from, end < 0 ? text.length : end))
      from = end < 0 ? text.length : end + 1
      const rule = line.length > maxRuleLength ? undefined : parseRule(line.replace(/\r$/, ''))
      if (rule !== undefined) rules.push(rule)
    }
    return rules.length === 0 ? this : new IgnoreRules({ folder, rules, above: this.#last })
  }

  /** Whether a path is ignored. Yields now and then, as there may be very many rules. */
  *check(path: string, isFolder: boolean): Generator<undefined, boolean> {
    if (this.#last === undefined) return false
    const name = asBytes(path.slice(path.lastIndexOf('/') + 1))
    let tried = 0
    for (let file: RuleFile | undefined = this.#last; file !== undefined; file = file.above) {
      let names: string[] | undefined
      for (let at = file.rules.length - 1; at >= 0; at--) {
        const rule = file.rules[at]
        if (rule === undefined || (rule.foldersOnly && !isFolder)) continue
        tried += rule.length
        if (tried > maxRuleLength) {
          yield
          tried = 0
        }
        const { target } = rule
        if (target instanceof PathPattern) {
          names ??= asBytes(path.slice(file.folder.length + 1)).split('/')
          if (target.matches(names)) return !rule.negated
        } else if (target.matches(name)) {
          return !rule.negated
        }
      }
    }
    return false
  }
}

/** No path is longer, so a longer rule matches nothing. */
const maxRuleLength = 4_096

/** git matches bytes: `?` is half an `é`. So every byte becomes one character. */
function asBytes(text: string): string {
  return beyondAscii.test(text) ? Buffer.from(text).toString('latin1') : text
}

const beyondAscii = /\P{ASCII}/u

function parseRule(line: string): IgnoreRule | undefined {
  if (line.startsWith('#')) return undefined
  let source = withoutTrailingSpaces(line)
  const negated = source.startsWith('!')
  if (negated) source = source.slice(1)
  const foldersOnly = source.endsWith('/')
  if (foldersOnly) source = source.slice(0, -1)
  if (source === '') return undefined
  const target = source.includes('/')
    ? PathPattern.of([splitNames(source.startsWith('/') ? source.slice(1) : source)], { hidden: true })
    : compileName(source, { hidden: true })
  return target && { negated, foldersOnly, target, length: source.length }
}

/** Spaces at the end don't count, unless a `\` stands before them. */
function withoutTrailingSpaces(line: string): string {
  let end = line.length
  while (end > 0 && line[end - 1] === ' ') end--
  let slashes = 0
  while (line[end - 1 - slashes] === '\\') slashes++
  return slashes % 2 === 1 && end < line.length ? line.slice(0, end + 1) : line.slice(0, end)
}
