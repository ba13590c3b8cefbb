import { isJsonObject } from '../../core/messages.ts'
import { didYouMean } from '../../core/nearest-name.ts'
import { readable } from '../../core/text/visible.ts'
import { fitArguments, parseArguments } from '../../tools/arguments.ts'
import type { DispatchResult } from '../../tools/dispatcher.ts'
import { parametersOf } from '../../tools/schema/schema.ts'
import type { AnyTool } from '../../tools/tool.ts'
import { EXIT_FAILED, EXIT_OK, EXIT_USAGE } from '../exit-codes.ts'
import type { Flags } from '../flags.ts'
import { inMilliseconds } from '../setup/prepare-agent.ts'
import { openToolSources } from '../setup/tool-sources.ts'
import { createCliLogger } from '../terminal/cli-logger.ts'
import { Interrupts } from '../terminal/interrupts.ts'
import { type CliIO, Terminal, withoutControls } from '../terminal/terminal.ts'

/** `toolloop tools list`: lists the tools that a run would have, and their sources. Resolves with the exit code. */
export async function listTools(flags: Flags, io: CliIO): Promise<number> {
  const terminal = new Terminal(io)
  const { dispatcher, skills } = await openToolSources(flags, terminal, createCliLogger(terminal, flags))
  try {
    const tools = dispatcher.getAllSpecs().map(({ function: { name, description = '', parameters = {} } }) => ({
      name,
      source: dispatcher.sourceOf(name) ?? 'registered',
      description,
      parameters,
    }))
    if (flags.json) {
      terminal.print(JSON.stringify(tools))
      return EXIT_OK
    }
    for (const { name, source, description, parameters } of tools) {
      terminal.say(`${terminal.paint('bold', name, 'stdout')}(${signatureOf(parameters)}) ${terminal.paint('dim', source, 'stdout')}`)
      terminal.say(`  ${withoutControls(description)}`)
    }
    return EXIT_OK
  } finally {
    await skills?.close()
  }
}

/**
 * `toolloop tools call NAME JSON`: makes one call without a model. No approval is needed, because a person has typed the call. Resolves
 * with the exit code: 0 with the tool's result on stdout, 1 if the call failed, 2 if there is no such tool or the arguments are invalid.
 */
export async function callTool(name: string, args: string, flags: Flags, io: CliIO): Promise<number> {
  const terminal = new Terminal(io)
  const { dispatcher, skills } = await openToolSources(flags, terminal, createCliLogger(terminal, flags))
  const interrupts = new Interrupts(io)
  try {
    const tool = dispatcher.get(name)
    const error =
      tool === undefined
        ? `Tool not found: ${name}${didYouMean(name, dispatcher.names())}. Available tools: ${dispatcher.names().join(', ') || 'none'}.`
        : await problemWith(args, tool)
    if (error !== undefined) {
      printDispatched({ success: false, error }, flags.json === true, terminal)
      return EXIT_USAGE
    }
    const result = await dispatcher.dispatch(name, args, {
      signal: interrupts.signal,
      approved: true,
      timeoutMs: inMilliseconds(flags.timeout),
    })
    printDispatched(result, flags.json === true, terminal)
    return interrupts.exitCode ?? (result.success ? EXIT_OK : EXIT_FAILED)
  } finally {
    interrupts.release()
    await skills?.close()
  }
}

/**
 * Describes invalid arguments for the person who typed them. Returns undefined if they are valid. The error that the call itself would
 * return is written for models.
 */
async function problemWith(args: string, tool: AnyTool): Promise<string | undefined> {
  const parsed = parseArguments(args)
  const takes = `\`${tool.name}\` takes (${signatureOf(parametersOf(tool))})`
  if (!parsed.ok) return `Expected the arguments to be one JSON object in quotes, such as '{"name": "value"}': ${parsed.problem}. ${takes}`
  const fitted = await fitArguments(tool, parsed.args)
  if ('input' in fitted) return undefined
  return `${fitted.problems.map((problem) => problem.replace(/^arguments: /, '')).join('; ')}. ${takes}`
}

/** Returns a signature such as `path, from?, to?`. */
function signatureOf({ properties, required }: Record<string, unknown>): string {
  const needed = Array.isArray(required) ? required : []
  const names = isJsonObject(properties) ? Object.keys(properties) : []
  return names.map((name) => (needed.includes(name) ? name : `${name}?`)).join(', ')
}

/** Prints a result on standard output, as text or JSON, or an error on standard error. */
export function printDispatched(result: DispatchResult, json: boolean, terminal: Terminal): void {
  if (json) terminal.print(JSON.stringify(result))
  else if (result.success) terminal.print(typeof result.result === 'string' ? result.result : (JSON.stringify(result.result) ?? ''))
  if (!result.success) terminal.note(`error: ${readable(result.error)}`)
}
