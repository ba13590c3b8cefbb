import { jsonIn } from '../../core/json.ts'
import { isJsonObject, type JsonObject } from '../../core/messages.ts'
import type { Phrase } from './phrase.ts'
import { type Desk, type Plan, type Reader, type Reading, readerOf, Stopped, type Told } from './plans.ts'

function readPackage(desk: Desk): JsonObject {
  const { text } = desk.object('read_file', { path: 'package.json' })
  const facts = typeof text === 'string' ? jsonIn(text) : undefined
  if (isJsonObject(facts)) return facts
  throw new Stopped('failed', 'package.json is not JSON I can read.')
}

/** The entries of one of its tables, such as `scripts`, as text. */
function tableOf(facts: JsonObject, key: string): [string, string][] {
  const table = facts[key]
  return isJsonObject(table) ? Object.entries(table).map(([name, value]) => [name, String(value)]) : []
}

function fact(field: string): Plan {
  return (desk) => {
    const facts = readPackage(desk)
    const table = tableOf(facts, field).map(([name, value]) => `${name} ${value}`)
    const said = table.length > 0 ? table.join(', ') : facts[field]
    return {
      text: said === undefined ? `package.json names no ${field}.` : `The ${field} in package.json: ${String(said).replace(/\.$/, '')}.`,
    }
  }
}

const tables: [RegExp, field: string, said: string, plural: string][] = [
  [/^dev/, 'devDependencies', 'development dependency', 'development dependencies'],
  [/^peer/, 'peerDependencies', 'peer dependency', 'peer dependencies'],
  [/script|command/, 'scripts', 'script', 'scripts'],
  [/dep/, 'dependencies', 'dependency', 'dependencies'],
]

function table(asked: Phrase | undefined, isListed: boolean): Reading | undefined {
  const [, field, one, many] = tables.find(([word]) => word.test(asked?.text ?? '')) ?? []
  if (field === undefined) return undefined
  const plan: Plan = (desk) => {
    const entries = tableOf(readPackage(desk), field)
    const head = `package.json has ${entries.length === 0 ? 'no' : entries.length} ${entries.length === 1 ? one : many}`
    const lines = isListed && entries.length > 0 ? [`${head}:`, ...entries.map(([name, value]) => `- ${name}: ${value}`)] : [`${head}.`]
    return { text: lines.join('\n'), number: String(entries.length) }
  }
  return { plan }
}

function dependency(name: Phrase | undefined): Reading | undefined {
  if (name === undefined || /^(it|this|that|what|you)$/.test(name.text)) return undefined
  const plan = (desk: Desk): Told => {
    const facts = readPackage(desk)
    const wanted = name.raw.toLowerCase()
    const found = ['dependencies', 'devDependencies', 'peerDependencies', 'optionalDependencies'].flatMap((table) =>
      tableOf(facts, table).flatMap(([key, range]) => (key === wanted ? [`${range} (${table})`] : [])),
    )
    return { text: `package.json names ${found.length === 0 ? `no dependency “${wanted}”` : `${wanted} ${found.join(' and ')}`}.` }
  }
  return { plan }
}

function script(verb: Phrase | undefined, what: Phrase | undefined): Reading {
  const wanted = /^(test|lint|bench)/.exec(what?.text ?? '')?.[0] ?? (verb?.text === 'run' ? 'start' : (verb?.text ?? ''))
  const plan: Plan = (desk) => {
    const scripts = tableOf(readPackage(desk), 'scripts')
    const command = scripts.find(([name]) => name === wanted)?.[1]
    if (command === undefined) return { text: `package.json has no script \`${wanted}\`.` }
    return { text: `\`npm ${/^(test|start)$/.test(wanted) ? wanted : `run ${wanted}`}\`, which runs \`${command}\`.` }
  }
  return { plan }
}

const ask = '(?:(?:what|which|what is|what are|under which|under what) )?'
const kind = '(?:runtime|npm|dev|development|peer|package)'
const tableName = `(?<asked>(?:${kind} )?(?:dependencies|dependency|deps|scripts|commands)|dev-?dependencies)`
const about =
  '(?: (?:of|for|in|is|are|does|do|has|have|this|it|that|project|package|repo|repository|app|code|under|available|use|uses|<file>))*'
const used = '(?:does PROJECT use|is used|is installed|do we use)'

/** Questions that package.json answers. */
export const readPackageFacts: Reader = readerOf(
  [
    `${ask}(?:(?:project|package|current) )?(?<field>name|version|licen[sc]e|description|author|homepage)${about}`,
    ({ field }) => field && { plan: fact(field.text.replace('licence', 'license')) },
  ],
  [`(?:list |show )?${ask}${tableName}${about}`, ({ asked }) => table(asked, true)],
  [`(?:how many|count|number of) ${tableName}${about}`, ({ asked }) => table(asked, false)],
  [
    `(?:what|which|what is|minimum|required) (?:version of )?(?:node|<file>)(?: version)?
    (?:what|which) (?:version of )?(?:node|<file>)(?: version)? (?:do i need|does PROJECT (?:need|require|use)|is (?:required|needed|supported))`,
    () => ({ plan: fact('engines') }),
  ],
  ['(?:what (?:is|does)|describe|summari[sz]e) (?:this|my) (?:project|package|repo)(?: do| about)?', () => ({ plan: fact('description') })],
  [
    `(?:what|which) version of (?<name>\\S+) ${used}
    what is version of (?<name>\\S+)
    (?:what|which) (?<name>\\S+) version ${used}
    (?:does PROJECT|do we) (?:use|depend on) (?<name>\\S+)
    is (?<name>\\S+) (?:dependency|installed)`,
    ({ name }) => dependency(name),
  ],
  [
    `how (?:do|can|to|should) ?(?:i |we |you )?(?<verb>run|start|build|lint|test|check|format)(?: (?<what>tests?|it|this|project|this project|app|code|linter))?`,
    ({ verb, what }) => script(verb, what),
  ],
)
