import pTimeout from 'p-timeout'
import type { ErrorCode } from '../../core/errors.ts'
import type { FinishReason } from '../../core/events.ts'
import { isJsonObject, type JsonObject, type ToolCall } from '../../core/messages.ts'
import { type Preparation, type PreparedCall, parseArguments, prepareArguments } from '../../tools/arguments.ts'
import type { ToolSet } from '../../tools/registry.ts'
import { standardSchemaOf } from '../../tools/schema/schema.ts'
import type { AnyTool, ToolEffect } from '../../tools/tool.ts'
import { cancelledText } from '../../tools/tool-runner.ts'
import type { ReadCall } from '../text-calls/text-reading.ts'

/** What is to be done with one call. Recorded with the model's reply, so that a resumed run does the same without looking anything up. */
export interface PlannedCall {
  id: string
  /** The tool's name as it is registered, or what the model wrote when there is none. */
  name: string
  rawArguments: string
  args?: JsonObject
  /** `client`: the tool has no `execute`, the caller runs it. */
  action: 'run' | 'client' | 'reject'
  /** It needs an approval first. */
  approval?: true
  /** Why it is not run, in words for the model. Only with `reject`. */
  refusal?: { code: ErrorCode; text: string }
  effect: ToolEffect
  repairs?: string[]
  /** It was written as text: values of its arguments are read by the tool's schema. */
  asText?: true
  /** Text that stood behind it, shown when it has ended. */
  textAfter?: string
}

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
  const opened = openWrappers(input.calls, input.registry)
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
      if (input.finishReason === 'length') {
        return refuse(
          'tool_call_truncated',
          `The response was truncated before it was complete, so this call to \`${name}\` was not run. Make it again, shorter.`,
        )
      }
      if (unreadable !== undefined) return refuse('unreadable_call', `The call could not be read, and was not run. ${unreadable}`)
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

/**
 * Reads a call's arguments. A schema may check them asynchronously, and so may never be done: it has as long as one attempt at the call
 * has, and not longer than the run. Never rejects.
 */
export async function prepareInTime(tool: AnyTool, raw: string, { timeoutMs, signal, asText = false }: ReadingTerms): Promise<Preparation> {
  if (standardSchemaOf(tool) === undefined) return prepareArguments(tool, raw, { asText })
  const milliseconds = tool.timeoutMs ?? timeoutMs
  try {
    return await pTimeout(prepareArguments(tool, raw, { asText }), { milliseconds, signal })
  } catch {
    // Preparing never rejects: it took too long, or the run is over.
    if (signal.aborted) return { ok: false, problem: { code: 'tool_cancelled', message: cancelledText(tool.name) } }
    const message = `Tool \`${tool.name}\` was not run: checking its arguments timed out after ${milliseconds} ms.`
    return { ok: false, problem: { code: 'tool_timeout', message } }
  }
}

export interface ReadingTerms {
  /** For a tool that has no limit of its own. */
  timeoutMs: number
  signal: AbortSignal
  /** The call was written as text. Default false. */
  asText?: boolean
}

interface OpenedCall {
  call: ReadCall
  tool: AnyTool | undefined
  repairs: string[]
}

/**
 * Some models wrap several calls in one they invented, `multi_tool_use.parallel({tool_uses: [{recipient_name, parameters}]})` or
 * `parallel({calls: [{name, arguments}]})`. Opened only if no tool has that name and every entry names one.
 * Seen in https://community.openai.com/t/model-tries-to-call-unknown-function-multi-tool-use-parallel/490653
 */
function openWrappers(calls: readonly ReadCall[], registry: ToolSet): OpenedCall[] {
  return calls.flatMap((call): OpenedCall[] => {
    const asItIs = openCall(call, registry)
    if (asItIs.tool !== undefined || call.unreadable !== undefined) return [asItIs]
    const inner = wrappedCalls(call)
    if (inner === undefined) return [asItIs]
    return inner.map((entry, index) => {
      const opened: ReadCall = {
        id: `${call.id || 'call'}_${index}`,
        type: 'function',
        function: { name: entry.name, arguments: entry.json },
        ...(call.asText ? { asText: true } : {}),
        ...(call.textAfter !== undefined && index === inner.length - 1 ? { textAfter: call.textAfter } : {}),
        repairs: [...(call.repairs ?? []), `unwrapped from \`${call.function.name}\``],
      }
      return openCall(opened, registry)
    })
  })
}

/** A call with its tool; or the call it stands for, where its tools say so, with that one's. */
function openCall(call: ReadCall, registry: ToolSet): OpenedCall {
  const { tool, repairs } = findTool(call.function.name, registry)
  const before = call.repairs ?? []
  const meant = tool && registry.opened?.({ name: tool.name, arguments: call.function.arguments })
  if (meant === undefined || call.unreadable !== undefined) return { call, tool, repairs: [...before, ...repairs] }
  const found = findTool(meant.name, registry)
  return { call: { ...call, function: meant }, tool: found.tool, repairs: [...before, ...found.repairs] }
}

const wrapperName = /^(functions\.)?(multi_tool_use[._])?parallel$/

function wrappedCalls({ function: { name, arguments: json } }: ToolCall): { name: string; json: string }[] | undefined {
  if (!wrapperName.test(name)) return undefined
  const parsed = parseArguments(json)
  // Not readable: it stays a call to an unknown tool, and the model is told so.
  if (!parsed.ok) return undefined
  const body = parsed.args
  const entries = body.tool_uses ?? body.calls ?? body.tool_calls
  if (!Array.isArray(entries) || entries.length === 0) return undefined
  const inner: { name: string; json: string }[] = []
  for (const entry of entries) {
    if (!isJsonObject(entry)) return undefined
    const target = entry.recipient_name ?? entry.name
    const given = entry.parameters ?? entry.arguments ?? {}
    if (typeof target !== 'string') return undefined
    inner.push({ name: target, json: typeof given === 'string' ? given : JSON.stringify(given) })
  }
  return inner
}

/**
 * The tool of that name; or the only one whose name is meant: models prefix names (`functions.x`), number them (`x:0`),
 * escape them (`f\_x`) or change their case. Where two tools could be meant, none is.
 */
function findTool(name: string, registry: ToolSet): { tool: AnyTool | undefined; repairs: string[] } {
  const exact = registry.get(name)
  if (exact !== undefined) return { tool: exact, repairs: [] }
  const bare = name
    .trim()
    .replaceAll('\\', '')
    .replace(/^(functions?|tools?|default_api)[.:/]/i, '')
    .replace(/:\d+$/, '')
  const known = registry.get(bare)
  const fits = known === undefined ? registry.list().filter((tool) => tool.name.toLowerCase() === bare.toLowerCase()) : [known]
  const [tool] = fits
  if (tool === undefined || fits.length > 1) return { tool: undefined, repairs: [] }
  return { tool, repairs: [`name \`${name}\` read as \`${tool.name}\``] }
}

/** A name every provider accepts in a history, for a call to a tool that is not there. */
export function legalName(name: string): string {
  return name.replace(/[^a-zA-Z0-9_-]/g, '_').slice(0, 64) || 'unknown'
}
