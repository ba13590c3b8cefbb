import { messageOf, show } from '../../core/errors.ts'
import { isJsonObject, type JsonObject } from '../../core/messages.ts'
import type { Runtime } from '../sandbox/sandbox.ts'
import { compileUntrusted } from '../schema/schema.ts'
import { checkTool, type ToolEffect } from '../tool.ts'
import type { ScriptTool } from './skill.ts'

/** The key of `metadata`, a mapping of texts by the standard, that names a file with tools. */
export const toolsKey = 'toolloop-tools'

const runtimes: readonly string[] = ['vm', 'node', 'python', 'shell'] satisfies Runtime[]
const effects: readonly string[] = ['read', 'idempotent', 'unsafe'] satisfies ToolEffect[]
const known = ['name', 'description', 'script', 'parameters', 'runtime', 'pass', 'positional', 'effect', 'timeoutMs', 'calls']

/**
 * Reads the file that declares a Skill's tools: YAML or JSON, `{ tools: [{ name, description, script, parameters, … }] }`. One without a name has
 * the Skill's. What is not usable is reported and left out.
 */
export async function readScriptTools(
  source: string,
  skillName: string,
  scripts: ReadonlySet<string>,
  report: (message: string) => void,
): Promise<ScriptTool[]> {
  const { parse } = await import('yaml')
  let content: unknown
  try {
    content = parse(source, { logLevel: 'error' })
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
      tools.push(readTool(entry, skillName, scripts))
    } catch (error) {
      report(`tools[${at}]: ${messageOf(error)}; it was left out`)
    }
  }
  return tools
}

function readTool(entry: unknown, skillName: string, scripts: ReadonlySet<string>): ScriptTool {
  if (!isJsonObject(entry))
    throw new TypeError(`Expected a mapping with \`description\`, \`script\` and \`parameters\`, got ${show(entry)}`)
  const odd = Object.keys(entry).find((key) => !known.includes(key))
  if (odd !== undefined) throw new TypeError(`Expected no key but ${known.join(', ')}, got \`${odd}\``)
  const { name = skillName, description, script, parameters = { type: 'object', properties: {}, additionalProperties: false } } = entry
  const { runtime, pass = 'json', positional = [], effect = 'unsafe', timeoutMs, calls = [] } = entry
  const path = typeof script === 'string' ? script.replace(/^\.\//, '') : ''
  if (!scripts.has(path))
    throw new TypeError(`Expected \`script\` to be a file of the Skill (${[...scripts].join(', ') || 'it has none'}), got ${show(script)}`)
  if (runtime !== undefined && !isOne(runtime, runtimes))
    throw new TypeError(`Expected \`runtime\` to be one of ${runtimes.join(', ')}, got ${show(runtime)}`)
  if (pass !== 'json' && pass !== 'flags') throw new TypeError(`Expected \`pass\` to be json or flags, got ${show(pass)}`)
  if (!isTexts(positional) || (positional.length > 0 && pass === 'json'))
    throw new TypeError('Expected `positional` to be a list of names, beside `pass: flags`')
  if (!isOne(effect, effects)) throw new TypeError(`Expected \`effect\` to be one of ${effects.join(', ')}, got ${show(effect)}`)
  if (!isTexts(calls)) throw new TypeError(`Expected \`calls\` to be a list of names, got ${show(calls)}`)
  const tool = { name, description, parameters, ...(timeoutMs === undefined ? {} : { timeoutMs }) }
  checkTool(tool as never)
  compileUntrusted(parameters as JsonObject, String(name))
  const shared = tool as Pick<ScriptTool, 'name' | 'description' | 'parameters' | 'timeoutMs'>
  return {
    ...shared,
    script: path,
    pass,
    positional,
    calls,
    effect: effect as ToolEffect,
    ...(runtime === undefined ? {} : { runtime: runtime as Runtime }),
  }
}

function isOne(value: unknown, words: readonly string[]): value is string {
  return typeof value === 'string' && words.includes(value)
}

function isTexts(value: unknown): value is string[] {
  return Array.isArray(value) && value.every((item) => typeof item === 'string')
}

/** The arguments of a call as those of a command line. */
export function toCommandLine(args: JsonObject, positional: readonly string[]): string[] {
  const words = positional.flatMap((name) => (Object.hasOwn(args, name) && args[name] !== undefined ? valuesOf(args[name]) : []))
  const flags = Object.entries(args).flatMap(([name, value]): string[] => {
    if (positional.includes(name) || value === undefined || value === false || value === null) return []
    if (value === true) return [`--${name}`]
    // A value that looks like a flag would be taken for one.
    return valuesOf(value).flatMap((text) => (text.startsWith('-') ? [`--${name}=${text}`] : [`--${name}`, text]))
  })
  return [...words, ...flags]
}

function valuesOf(value: unknown): string[] {
  if (Array.isArray(value)) return value.flatMap(valuesOf)
  return [typeof value === 'object' && value !== null ? JSON.stringify(value) : String(value)]
}
