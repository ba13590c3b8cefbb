import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

const root = new URL('../../', import.meta.url)
const manifest: { exports: Record<string, string | { default: string }> } = JSON.parse(readFileSync(new URL('package.json', root), 'utf8'))

/** The source file of each entry of the package, by the name that programs import. */
export const entries: ReadonlyMap<string, string> = new Map(
  Object.entries(manifest.exports).flatMap(([entry, target]) => {
    if (typeof target === 'string') return []
    const source = target.default.replace('./dist/', 'src/').replace(/\.js$/, '.ts')
    return [[entry.replace('.', 'toolloop'), fileURLToPath(new URL(source, root))]]
  }),
)

interface Exported {
  /** As programs import it. */
  name: string
  isType: boolean
  /** The name in the module `from`, or in the file itself. */
  local: string
  from: string | undefined
}

/** A member that is marked as internal keeps its mark. */
const withoutComments = (source: string) =>
  source.replace(/\/\*\*?[\s\S]*?\*\//g, (comment) => (comment.includes('@internal') ? '@internal' : '')).replace(/^\s*\/\/.*$/gm, '')

const sources = new Map<string, string>()

function sourceOf(file: string): string {
  const source = sources.get(file) ?? withoutComments(readFileSync(file, 'utf8'))
  sources.set(file, source)
  return source
}

/** What a file exports. */
export function exportsOf(file: string): Exported[] {
  const source = sourceOf(file)
  const listed = [...source.matchAll(/^export (type )?\{([^}]*)\}(?: from '([^']+)')?/gm)].flatMap(([, allTypes, list = '', from]) =>
    namesIn(list).map((one) => ({ ...one, isType: allTypes !== undefined || one.isType, from })),
  )
  const declared = [...source.matchAll(/^export (?:abstract |async )*(class|function\*?|const|interface|type) ([\w$]+)/gm)].map(
    ([, kind = '', name = '']) => ({ name, local: name, isType: kind === 'interface' || kind === 'type', from: undefined }),
  )
  return [...listed, ...declared]
}

function namesIn(list: string) {
  const items = list.split(',').map((item) => item.trim())
  return items.flatMap((item) => {
    const [, type, local = '', name = local] = /^(type )?([\w$]+)(?: as ([\w$]+))?$/.exec(item) ?? []
    return local === '' ? [] : [{ name, local, isType: type !== undefined }]
  })
}

/** The types that entries export, and those that their declarations name, with their declarations. */
export function publicTypes(): Map<string, string> {
  const types = new Map<string, string>()
  const add = (name: string, found: Declaration | undefined): void => {
    if (found !== undefined && !types.has(name)) types.set(name, found.text)
  }
  const open = [...entries.values()].flatMap((file) =>
    exportsOf(file).flatMap((exported) => (exported.isType ? [{ name: exported.name, found: declarationOf(file, exported) }] : [])),
  )
  for (const { name, found } of open) add(name, found)
  for (const { found } of open) {
    for (const [name] of found?.text.matchAll(/\b[A-Z]\w+/g) ?? []) {
      if (found === undefined || types.has(name)) continue
      const inner = declarationOf(found.file, { local: name, from: undefined })
      add(name, inner)
      // The list grows while it is read.
      open.push({ name, found: inner })
    }
  }
  return types
}

/** The classes that entries export, as values or as types, and those that they extend, with the lines between their braces. */
export function publicClasses(): Map<string, Declaration> {
  const classes = new Map<string, Declaration>()
  const add = (found: Declaration | undefined): void => {
    const [, name, base] = /\bclass (\w+)(?:<.*>)?(?: extends (\w+))?/.exec(found?.text.split('\n', 1)[0] ?? '') ?? []
    if (found === undefined || name === undefined || classes.has(name)) return
    classes.set(name, found)
    if (base !== undefined) add(declarationOf(found.file, { local: base, from: undefined }, 'class'))
  }
  for (const file of entries.values()) for (const exported of exportsOf(file)) add(declarationOf(file, exported, 'class'))
  return classes
}

interface Declaration {
  file: string
  text: string
}

/** Follows a name to its declaration. Undefined for a name of another kind, and for one of another package. */
function declarationOf(
  file: string,
  { local, from }: Pick<Exported, 'local' | 'from'>,
  kind: 'class' | 'interface|type' = 'interface|type',
): Declaration | undefined {
  if (from !== undefined) {
    if (!from.startsWith('.')) return undefined
    const target = fileURLToPath(new URL(from, `file://${file}`))
    const exported = exportsOf(target).find(({ name }) => name === local)
    return declarationOf(target, exported ?? { local, from: undefined }, kind)
  }
  const source = sourceOf(file)
  const text = new RegExp(`^(?:export )?(?:abstract )?(?:${kind}) ${local}\\b[\\s\\S]*?(?=^[^\\s})|&>])`, 'm').exec(`${source}\n;`)?.[0]
  if (text !== undefined) return { file, text }
  for (const [, list = '', imported] of source.matchAll(/^import (?:type )?\{([^}]*)\} from '([^']+)'/gm)) {
    const found = namesIn(list).find(({ name }) => name === local)
    if (found !== undefined) return declarationOf(file, { local: found.local, from: imported }, kind)
  }
  return undefined
}

/** A class as lines: its head, then the signature of each member that programs or subclasses may use, with the name of the class in front. */
export function classMembersOf(name: string, declaration: string): string[] {
  const [head = '', ...rest] = declaration.split('\n')
  /** `isOpen`: its parameters continue on the next line. */
  const members: { text: string; isOpen: boolean; hasBody: boolean }[] = []
  for (const line of rest) {
    const last = members.at(-1)
    const signature = line.trim().replace(/ \{\}?$/, '')
    const hasBody = signature !== line.trim()
    if (/^ {2}[\w[@#*]/.test(line)) members.push({ text: withoutValue(signature), isOpen: signature.endsWith('('), hasBody })
    else if (last?.isOpen) {
      members[members.length - 1] = { text: `${last.text} ${signature}`, isOpen: !signature.startsWith(')'), hasBody }
    }
  }
  const overloaded = new Set(members.filter(({ hasBody }) => !hasBody).map(({ text }) => methodIn(text)))
  const open = members.filter(({ text, hasBody }, at) => {
    const isHidden = /^(?:@internal|private )|^[^(]*#/.test(text) || members[at - 1]?.text === '@internal'
    return !isHidden && !(hasBody && overloaded.has(methodIn(text)))
  })
  return [head.replace(/^export /, '').replace(/ \{$/, ''), ...open.map(({ text }) => `${name}: ${text}`)]
}

const methodIn = (member: string): string | undefined => /(\w+)[<(]/.exec(member)?.[1]

/** A text is kept: it may be a name. The values of parameters are kept, too. */
const withoutValue = (member: string): string => (member.endsWith('(') ? member : member.replace(/^([^(=]+) = [^'].*/, '$1'))

/** A declaration as lines: its head, then each member on a line of its own, with the name of the type in front. */
export function membersOf(name: string, declaration: string): string[] {
  const [head = '', ...rest] = declaration
    .replace(/\n {2}extends /, ' extends ')
    .trimEnd()
    .split('\n')
  const members: string[] = []
  for (const line of rest.map((one) => one.trimEnd()).filter((one) => one !== '' && one !== '}')) {
    if (/^ {2}[^\s})\]]/.test(line)) members.push(line.trim())
    else members.push(joined(members.pop() ?? '', line.trim()))
  }
  return [head.replace(/^export /, '').replace(/ \{$/, ''), ...members.map((member) => `${name}: ${member}`)]
}

function joined(before: string, line: string): string {
  return /[{([<|&,?:=>]$/.test(before) || /^[})\]|&>?:]/.test(line) ? `${before} ${line}` : `${before}; ${line}`
}
