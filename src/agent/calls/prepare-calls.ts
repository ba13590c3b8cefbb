import pTimeout from 'p-timeout'
import type { ErrorCode } from '../../core/errors.ts'
import type { FinishReason } from '../../core/events.ts'
import type { JsonObject, ToolCall } from '../../core/messages.ts'
import { type ArgumentTerms, type Preparation, type PreparedCall, prepareArguments } from '../../tools/arguments.ts'
import type { ToolSet } from '../../tools/registry.ts'
import { standardSchemaOf } from '../../tools/schema/schema.ts'
import { cancelledText, checkTimedOutText } from '../../tools/told.ts'
import type { AnyTool } from '../../tools/tool.ts'
import { legalName } from '../conversation/history.ts'
import type { PlannedCall } from '../recorded.ts'
import type { ReadCall } from '../text-calls/read-call.ts'
import { truncatedText, unreadableText } from '../told.ts'
import { type OpenedCall, openCalls } from './find-tools.ts'

export interface Plan {
  /** The calls as they go into the history: wrappers opened, ids unique, names legal. */
  calls: ToolCall[]
  planned: PlannedCall[]
  /** What is needed to run them, by call id. Not recorded: made again from the plan after a crash. */
  prepared: Map<string, PreparedCall>
}

export interface PlanInput {
  calls: readonly ReadCall[]
  finishReason: FinishReason
  registry: ToolSet
  notFound(name: string): string
  withUniqueIds(calls: readonly ToolCall[]): ToolCall[]
  prepare(tool: AnyTool, rawArguments: string, terms: { asText: boolean }): Promise<Preparation>
  needsApproval(call: PreparedCall): Promise<boolean>
}

/** Decides for every call of a response whether it runs, needs an approval, is the caller's, or is refused. Never throws. */
export async function planCalls(input: PlanInput): Promise<Plan> {
  const opened = findTools(input.calls, input.registry)
  const calls = input.withUniqueIds(opened.map(({ call }) => call)).map(({ id, function: { name, arguments: json } }, index): ToolCall => {
    const wire = opened[index]?.tool?.name ?? legalName(name)
    return { id, type: 'function', function: { name: wire, arguments: json } }
  })
  const prepared = new Map<string, PreparedCall>()
  const planned = await Promise.all(
    calls.map(async ({ id, function: { arguments: rawArguments } }, index): Promise<PlannedCall> => {
      const { call: asWritten, tool, repairs } = opened[index] ?? { call: undefined, tool: undefined, repairs: [] }
      const name = tool?.name ?? asWritten?.function.name ?? ''
      const { asText, textAfter, unreadable } = asWritten ?? {}
      const base: Omit<PlannedCall, 'action'> = {
        id,
        name,
        rawArguments,
        effect: tool?.effect ?? 'unsafe',
        ...(repairs.length > 0 ? { repairs } : {}),
        ...(asText ? { asText } : {}),
        ...(textAfter === undefined ? {} : { textAfter }),
      }
      const refuse = (code: ErrorCode, text: string, args?: JsonObject): PlannedCall => ({
        ...base,
        action: 'reject',
        refusal: { code, text },
        ...(args === undefined ? {} : { args }),
      })
      if (input.finishReason === 'length') return refuse('tool_call_truncated', truncatedText(name))
      if (unreadable !== undefined) return refuse('unreadable_call', unreadableText(unreadable))
      if (tool === undefined) return refuse('tool_not_found', input.notFound(name))
      const preparation = await input.prepare(tool, rawArguments, { asText: asText === true })
      if (!preparation.ok) return refuse(preparation.problem.code, preparation.problem.message, preparation.problem.args)
      prepared.set(id, preparation.call)
      const { args } = preparation.call
      const approval = await input.needsApproval(preparation.call)
      const putRight = [...repairs, ...(preparation.repairs ?? [])]
      return {
        ...base,
        ...(putRight.length === 0 ? {} : { repairs: putRight }),
        args,
        action: tool.execute === undefined ? 'client' : 'run',
        ...(approval ? { approval } : {}),
      }
    }),
  )
  return { calls, planned, prepared }
}

/** The calls with their tools. Most name one as it is called; the others are looked at more closely. */
function findTools(calls: readonly ReadCall[], registry: ToolSet): OpenedCall[] {
  const found: OpenedCall[] = []
  for (const call of calls) {
    const tool = registry.get(call.function.name)
    if (tool === undefined || registry.opened !== undefined) return openCalls(calls, registry)
    found.push({ call, tool, repairs: call.repairs ?? [] })
  }
  return found
}

/**
 * Reads a call's arguments. A schema may check them asynchronously, and so may never be done: it has as long as one attempt at the call
 * has, and not longer than the run. Never rejects.
 */
export async function prepareInTime(tool: AnyTool, raw: string, { timeoutMs, signal, ...terms }: ReadingTerms): Promise<Preparation> {
  if (standardSchemaOf(tool) === undefined) return prepareArguments(tool, raw, terms)
  const milliseconds = tool.timeoutMs ?? timeoutMs
  try {
    return await pTimeout(prepareArguments(tool, raw, terms), { milliseconds, signal })
  } catch {
    // Preparing never rejects: it took too long, or the run is over.
    if (signal.aborted) return { ok: false, problem: { code: 'tool_cancelled', message: cancelledText(tool.name) } }
    return { ok: false, problem: { code: 'tool_timeout', message: checkTimedOutText(tool.name, milliseconds) } }
  }
}

export interface ReadingTerms extends ArgumentTerms {
  /** For a tool that has no limit of its own. */
  timeoutMs: number
  signal: AbortSignal
}
