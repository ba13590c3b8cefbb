import { isJsonObject } from '../messages.ts'
import type { AgentFlags } from './agent-flags.ts'
import { createCliLogger } from './cli-logger.ts'
import { EXIT_FAILED, EXIT_OK, EXIT_USAGE } from './exit-codes.ts'
import { Interrupts } from './interrupts.ts'
import { printDispatched } from './print-dispatched.ts'
import { type CliIO, Terminal, withoutControls } from './terminal.ts'
import { openToolSources } from './tool-sources.ts'

export type ToolsFlags = AgentFlags & { json?: boolean }

/** `toolloop tools list`: the tools a run would have, and where they come from. Resolves with the exit code. */
export async function listTools(flags: ToolsFlags, io: CliIO): Promise<number> {
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
      terminal.print(`${terminal.paint('bold', name, 'stdout')}(${signatureOf(parameters)}) ${terminal.paint('dim', source, 'stdout')}`)
      terminal.print(`  ${withoutControls(description)}`)
    }
    return EXIT_OK
  } finally {
    await skills?.close()
  }
}

/**
 * `toolloop tools call NAME JSON`: one call, without a model. Whoever types it has approved it. Resolves with the exit code: 0 with what the
 * tool returned on stdout, 1 when it failed, 2 when there is no such tool.
 */
export async function callTool(name: string, args: string, flags: ToolsFlags, io: CliIO): Promise<number> {
  const terminal = new Terminal(io)
  const { dispatcher, skills } = await openToolSources(flags, terminal, createCliLogger(terminal, flags))
  const interrupts = new Interrupts(io)
  try {
    if (dispatcher.get(name) === undefined) {
      const error = `Tool not found: ${name}. Available tools: ${dispatcher.names().join(', ') || 'none'}.`
      if (flags.json) terminal.print(JSON.stringify({ success: false, error }))
      terminal.note(`error: ${error}`)
      return EXIT_USAGE
    }
    const result = await dispatcher.dispatch(name, args, {
      signal: interrupts.signal,
      approved: true,
      ...(flags.timeout === undefined ? {} : { timeoutMs: flags.timeout * 1_000 }),
    })
    printDispatched(result, flags.json === true, terminal)
    return interrupts.exitCode ?? (result.success ? EXIT_OK : EXIT_FAILED)
  } finally {
    interrupts.release()
    await skills?.close()
  }
}

/** `path, from?, to?` */
function signatureOf({ properties, required }: Record<string, unknown>): string {
  const needed = Array.isArray(required) ? required : []
  const names = isJsonObject(properties) ? Object.keys(properties) : []
  return names.map((name) => (needed.includes(name) ? name : `${name}?`)).join(', ')
}
