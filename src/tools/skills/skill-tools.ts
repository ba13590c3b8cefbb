import { clip, show, ToolloopError } from '../../core/errors.ts'
import type { JsonObject } from '../../core/messages.ts'
import { isFileProblemCode } from '../builtin/files/workspace.ts'
import { readFileTool } from '../builtin/read-file.ts'
import { callWithin } from '../call/environment.ts'
import type { ToolSet } from '../registry.ts'
import { resultText } from '../result-text.ts'
import type { SkillsSandboxExecutor } from '../sandbox/executor.ts'
import type { HostCall, ScriptEnd } from '../sandbox/sandbox.ts'
import { type AnyTool, defineTool, type ToolContext } from '../tool.ts'
import { ToolRunner } from '../tool-runner.ts'
import { listFiles } from './discover.ts'
import { toCommandLine } from './script-tools.ts'
import type { ScriptTool, Skill } from './skill.ts'
import { skillToolNames } from './skill-names.ts'

export interface SkillToolsOptions {
  executor: SkillsSandboxExecutor
  /** The tools of the application that scripts may call if they declare them. */
  hostTools: ToolSet
}

const maxListed = 100
const maxOfStderr = 2_000

/** Creates the tools that all Skills share: one returns a Skill's instructions, one reads its files, and one runs its scripts. */
export function sharedTools(skills: ReadonlyMap<string, Skill>, options: SkillToolsOptions): AnyTool[] {
  const all = [...skills.values()]
  if (all.length === 0) return []
  const skill = (some: Skill[]) => ({ type: 'string', enum: some.map(({ name }) => name), description: 'The name of the Skill.' }) as const
  const find = (name: string): Skill => {
    const found = skills.get(name)
    if (found === undefined) throw new ToolloopError('invalid_arguments', `There is no Skill ${show(name)}.`)
    return found
  }
  const activate = defineTool({
    name: skillToolNames.activate,
    description: 'Returns the instructions of a Skill and lists its files. Call it before you start a task that the Skill is for.',
    parameters: { type: 'object', properties: { name: skill(all) }, required: ['name'], additionalProperties: false },
    effect: 'read',
    execute: ({ name }, ctx) => instructionsOf(traced(find(name), ctx)),
  })
  const read = defineTool({
    name: skillToolNames.read,
    description: 'Reads a text file of a Skill, or the lines `from` to `to` of it, when its instructions refer to one.',
    parameters: {
      type: 'object',
      properties: {
        skill: skill(all),
        path: { type: 'string', minLength: 1, description: "From the Skill's folder, such as references/guide.md." },
        from: { type: 'integer', minimum: 1, description: 'First line to read, counted from 1. Default 1.' },
        to: { type: 'integer', minimum: 1, description: 'Last line to read, included. Default: the last one.' },
      },
      required: ['skill', 'path'],
      additionalProperties: false,
    },
    effect: 'read',
    execute: ({ skill: name, ...args }, ctx) => readSkillFile(traced(find(name), ctx), args, ctx),
  })
  const withScripts = all.filter(({ scripts }) => scripts.length > 0)
  if (withScripts.length === 0) return [activate, read]
  const run = defineTool({
    name: skillToolNames.run,
    description: 'Runs a script of a Skill, as its instructions say. Returns its output or result.',
    parameters: {
      type: 'object',
      properties: {
        skill: skill(withScripts),
        script: { type: 'string', minLength: 1, description: "From the Skill's folder, such as scripts/convert.py." },
        args: { type: 'array', items: { type: 'string' }, description: 'Command-line arguments, one per item. Default: none.' },
        stdin: { type: 'string', description: 'Text for standard input. Default: empty.' },
      },
      required: ['skill', 'script'],
      additionalProperties: false,
    },
    toContent: contentOf,
    execute: ({ skill: name, script, args = [], stdin }, ctx) => runUndeclared(traced(find(name), ctx), script, args, stdin, ctx, options),
  })
  return [activate, read, run]
}

/** Creates a tool for a script that its Skill declares as a tool. */
export function scriptTool(skill: Skill, declared: ScriptTool, { executor, hostTools }: SkillToolsOptions): AnyTool {
  const { name, description, parameters, effect, timeoutMs, script, runtime, pass, positional, calls } = declared
  const granted = calls.filter((call) => hostTools.get(call) !== undefined)
  return defineTool({
    name,
    description,
    parameters,
    effect,
    timeoutMs,
    toContent: contentOf,
    execute: async (args: JsonObject, ctx: ToolContext) => {
      const end = await executor.run({
        folder: traced(skill, ctx).folder,
        script,
        args: pass === 'json' ? args : toCommandLine(args, positional),
        signal: ctx.signal,
        exited: tracedExit(ctx),
        runtime,
        ...(granted.length === 0 ? {} : { call: callOnly(granted, hostTools, ctx) }),
      })
      return resultOf(end)
    },
  })
}

/**
 * Creates the tool for a model that calls a Skill by name. The tool runs the main script, or returns the instructions if there is no such
 * script.
 */
export function skillAsTool(skill: Skill, options: SkillToolsOptions): AnyTool {
  return defineTool({
    name: skill.name,
    description: skill.description,
    parameters: {
      type: 'object',
      properties: { script: { type: 'string' }, args: { type: 'array', items: { type: 'string' } }, stdin: { type: 'string' } },
    },
    toContent: contentOf,
    execute: ({ script = mainScript(skill), args = [], stdin }, ctx) =>
      script === undefined ? instructionsOf(traced(skill, ctx)) : runUndeclared(traced(skill, ctx), script, args, stdin, ctx, options),
  })
}

/** Returns the Skill, and adds its name to the trace of the call. */
function traced(skill: Skill, { trace }: ToolContext): Skill {
  trace?.setAttributes({ 'gen_ai.skill.name': skill.name, 'gen_ai.skill.description': skill.description })
  return skill
}

function tracedExit({ trace }: ToolContext): (code: number) => void {
  return (code) => trace?.setAttributes({ 'process.exit.code': code })
}

function mainScript({ name, scripts }: Skill): string | undefined {
  if (scripts.length === 1) return scripts[0]
  return scripts.find((path) => [`scripts/main`, `scripts/${name}`].includes(path.replace(/\.[^./]*$/, '')))
}

/** Returns the text for a model that activates a Skill. */
export async function instructionsOf(skill: Skill): Promise<string> {
  const { name, body, folder, tools, scripts } = skill
  const files = await listFiles(folder)
  const more = files.length > maxListed ? [`… and ${files.length - maxListed} more`] : []
  const parts = [
    `<skill_content name="${name}">`,
    body,
    '</skill_content>',
    ...(files.length === 0
      ? []
      : [`Files of this Skill, to be read with ${skillToolNames.read}:`, ...files.slice(0, maxListed).map((file) => `- ${file}`), ...more]),
    ...(scripts.length === 0 ? [] : [`Where the instructions run a script, call ${skillToolNames.run} with its path and arguments.`]),
    ...(tools.length === 0 ? [] : [`Tools of this Skill: ${tools.map((tool) => tool.name).join(', ')}.`]),
  ]
  return parts.join('\n')
}

async function readSkillFile(
  { name, folder }: Skill,
  args: { path: string; from?: number; to?: number },
  ctx: ToolContext,
): Promise<unknown> {
  try {
    return await readFileTool({ workspace: folder }).execute?.(args as never, ctx as never)
  } catch (error) {
    throw isFileProblemCode(error, 'ENOENT') ? await notThere(name, folder, args.path) : error
  }
}

async function runUndeclared(
  { name, folder }: Skill,
  script: string,
  args: readonly string[],
  stdin: string | undefined,
  ctx: ToolContext,
  { executor }: SkillToolsOptions,
): Promise<unknown> {
  try {
    const run = { folder, script, args, signal: ctx.signal, exited: tracedExit(ctx), stdin }
    return resultOf(await executor.run(run))
  } catch (error) {
    throw isFileProblemCode(error, 'ENOENT') ? await notThere(name, folder, script) : error
  }
}

async function notThere(skill: string, folder: string, path: string): Promise<ToolloopError> {
  const files = (await listFiles(folder)).slice(0, maxListed).join(', ')
  return new ToolloopError('tool_failed', `${show(path)} does not exist in the Skill ${clip(skill)}. Its files: ${files || 'none'}.`)
}

const texts = new WeakMap<object, string>()

/** Converts a script's result to text. Reuses the JSON text that the sandbox created. */
function contentOf(result: unknown): string {
  return texts.get(Object(result)) ?? resultText(result)
}

/** Returns the value that the script returned. Default: the text that it printed. */
function resultOf({ value, json, stdout, stderr }: ScriptEnd): unknown {
  if (typeof value === 'object' && value !== null && json !== undefined) texts.set(value, json)
  if (value !== undefined) return value
  const notes = stderr.trim().slice(-maxOfStderr)
  const printed = stdout.trimEnd()
  if (printed === '') return notes === '' ? 'The script printed nothing.' : notes
  return notes === '' ? printed : `${printed}\n\nOn standard error:\n${notes}`
}

/**
 * Returns the function with which a script calls tools. The calls are cancelled together with the call that runs the script. Tools that
 * require approval are refused.
 */
function callOnly(granted: readonly string[], tools: ToolSet, ctx: ToolContext): HostCall {
  const runner = new ToolRunner({ get: (name) => (granted.includes(name) ? tools.get(name) : undefined), names: () => [...granted] })
  let calls = 0
  return async (name, args, signal) => {
    const id = `${ctx.toolCallId}.${++calls}`
    const { end } = await runner.run(
      { id, type: 'function', function: { name, arguments: JSON.stringify(args) } },
      // The sandbox limits the size, and no model reads the result.
      { ...callWithin(ctx, calls), maxResultBytes: Number.POSITIVE_INFINITY, signal: AbortSignal.any([ctx.signal, signal]) },
    )
    if (end.outcome === 'ok') return end.value ?? null
    throw new Error(end.outcome === 'question' ? `Tool \`${name}\` asks a question, which a script can't answer.` : end.content)
  }
}
