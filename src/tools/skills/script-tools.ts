import { messageOf, show } from '../../core/errors.ts'
import { isJsonObject, type JsonObject } from '../../core/messages.ts'
import { readDocument } from '../read-document.ts'
import type { Runtime } from '../sandbox/sandbox.ts'
import { openForeign } from '../schema/foreign/foreign-schema.ts'
import { checkTool, type ToolEffect } from '../tool.ts'
import type { ScriptTool } from './skill.ts'

/** The key in `metadata` that names a file with tools. */
export const toolsKey = 'toolloop-tools'

const runtimes: readonly string[] = ['vm', 'node', 'python', 'shell'] satisfies Runtime[]
const effects: readonly string[] = ['read', 'idempotent', 'unsafe'] satisfies ToolEffect[]
const known = ['name', 'description', 'script', 'parameters', 'runtime', 'pass', 'positional', 'effect', 'timeoutMs', 'calls']

/**
 * Reads the file that declares a Skill's tools: YAML or JSON, `{ tools: [{ name, description, script, parameters, … }] }`. A tool without a
 * name gets the name of the Skill. Invalid entries are reported and left out.
 */
export async function readScriptTools(
  source: string,
  skillName: string,
  scripts: ReadonlySet<string>,
  report: (message: string) => void,
): Promise<ScriptTool[]> {
  let content: unknown
  try {
    content = (await readDocument(source, { passOverWarnings: true })).toJS()
  } catch (error) {
    report(`The file is not valid YAML: ${messageOf(error).split('\n')[0]}`)
    return []
  }
  const entries = isJsonObject(content) ? content.tools : undefined
  if (!Array.isArray(entries)) {
    report(`Expected the file to hold \`tools\`, a list, got ${show(content)}`)
    return []
  }
  const tools: ScriptTool[] = []
  for (const [at, entry] of entries.entries()) {
    try {
      const { tool, notes } = await readTool(entry, skillName, scripts)
      tools.push(tool)
      if (notes.length > 0) report(`tools[${at}]: its schema was repaired: ${notes.join('; ')}`)
    } catch (error) {
      report(`tools[${at}]: ${messageOf(error)}; it was left out`)
    }
  }
  return tools
}

async function readTool(
  entry: unknown,
  skillName: string,
  scripts: ReadonlySet<string>,
): Promise<{ tool: ScriptTool; notes: readonly string[] }> {
  if (!isJsonObject(entry))
    throw new TypeError(`Expected a mapping with \`description\`, \`script\` and \`parameters\`, got ${show(entry)}`)
  const odd = Object.keys(entry).find((key) => !known.includes(key))
  if (odd !== undefined) throw new TypeError(`Expected only the keys ${known.join(', ')}, got \`${odd}\``)
  const { name = skillName, description, script, parameters = { type: 'object', properties: {}, additionalProperties: false } } = entry
  const { runtime, pass = 'json', positional = [], effect = 'unsafe', timeoutMs, calls = [] } = entry
  const path = typeof script === 'string' ? script.replace(/^\.\//, '') : ''
  const demand = (isMet: boolean, expected: string, got: unknown): void => {
    if (!isMet) throw new TypeError(`Expected ${expected}, got ${show(got)}`)
  }
  demand(scripts.has(path), `\`script\` to be a file of the Skill (${[...scripts].join(', ') || 'it has none'})`, script)
  demand(runtime === undefined || isOne(runtime, runtimes), `\`runtime\` to be one of ${runtimes.join(', ')}`, runtime)
  demand(pass === 'json' || pass === 'flags', '`pass` to be json or flags', pass)
  demand(
    isTexts(positional) && (positional.length === 0 || pass === 'flags'),
    '`positional` to be a list of names, with `pass: flags`',
    positional,
  )
  demand(isOne(effect, effects), `\`effect\` to be one of ${effects.join(', ')}`, effect)
  demand(isTexts(calls), '`calls` to be a list of names', calls)
  const { schema, notes } = await openForeign(parameters as JsonObject, String(name))
  const tool = { name, description, parameters: schema, timeoutMs }
  checkTool(tool as never)
  const running = { script: path, pass, positional, calls, effect, runtime }
  return { tool: { ...tool, ...running } as ScriptTool, notes }
}

function isOne(value: unknown, words: readonly string[]): boolean {
  return typeof value === 'string' && words.includes(value)
}

function isTexts(value: unknown): value is string[] {
  return Array.isArray(value) && value.every((item) => typeof item === 'string')
}

/** Converts the arguments of a call to a command line. */
export function toCommandLine(args: JsonObject, positional: readonly string[]): string[] {
  const words = positional.flatMap((name) => (Object.hasOwn(args, name) && args[name] !== undefined ? valuesOf(args[name]) : []))
  const flags = Object.entries(args).flatMap(([name, value]): string[] => {
    if (positional.includes(name) || value === undefined || value === false || value === null) return []
    if (value === true) return [`--${name}`]
    // `=` joins a value that starts with a hyphen to its flag, so that it is not read as a flag.
    return valuesOf(value).flatMap((text) => (text.startsWith('-') ? [`--${name}=${text}`] : [`--${name}`, text]))
  })
  return [...words, ...flags]
}

function valuesOf(value: unknown): string[] {
  if (Array.isArray(value)) return value.flatMap(valuesOf)
  return [typeof value === 'object' && value !== null ? JSON.stringify(value) : String(value)]
}
