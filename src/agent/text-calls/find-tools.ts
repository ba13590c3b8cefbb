import { isJsonObject, type ToolCall } from '../../core/messages.ts'
import { innerArguments, parseArguments } from '../../tools/arguments.ts'
import { ToolNames, withoutDecoration, withoutMarkup } from '../../tools/call/written-name.ts'
import type { ToolSet } from '../../tools/registry.ts'
import type { AnyTool } from '../../tools/tool.ts'
import type { ReadCall } from './read-call.ts'

/** A call after unwrapping, with its tool. */
export interface OpenedCall {
  call: ReadCall
  tool: AnyTool | undefined
  repairs: string[]
}

/**
 * Unwraps calls that a model has wrapped in a call of an invented tool, such as `multi_tool_use.parallel({tool_uses: [{recipient_name,
 * parameters}]})` or `parallel({calls: [{name, arguments}]})`. A wrapper is opened only if no tool has the wrapper's name and every call in
 * it names a tool. Seen in https://community.openai.com/t/model-tries-to-call-unknown-function-multi-tool-use-parallel/490653
 */
export function openCalls(calls: readonly ReadCall[], registry: ToolSet): OpenedCall[] {
  return calls.flatMap((call): OpenedCall[] => {
    const asItIs = openCall(call, registry)
    if (asItIs.tool !== undefined || call.unreadable !== undefined) return [asItIs]
    const inner = wrappedCalls(asItIs.call)
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

/** Finds the tool of a call. If the tool set says that the call stands for another call, returns that call and its tool. */
function openCall(call: ReadCall, registry: ToolSet): OpenedCall {
  const { arguments: json } = call.function
  const { name, tool, repairs } = findTool(call.function.name, registry)
  const before = call.repairs ?? []
  if (tool === undefined) return { call: { ...call, function: { name, arguments: json } }, tool, repairs: before }
  const meant = registry.opened?.({ name, arguments: json })
  if (meant === undefined || call.unreadable !== undefined) return { call, tool, repairs: [...before, ...repairs] }
  const found = findTool(meant.name, registry)
  return { call: { ...call, function: meant }, tool: found.tool, repairs: [...before, ...found.repairs] }
}

const wrapperName = /^(functions\.)?(multi_tool_use[._])?parallel$/

function wrappedCalls({ function: { name, arguments: json } }: ToolCall): { name: string; json: string }[] | undefined {
  if (!wrapperName.test(name)) return undefined
  const parsed = parseArguments(innerArguments(json) ?? json)
  // An unreadable call stays a call of an unknown tool, and the model is told so.
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
 * Finds the tool that a written name means. Some models add markup, prefixes or numbers to a name, or change its case. `name`: the tool's
 * own name or, if there is no such tool, the written name without markup.
 */
export function findTool(written: string, registry: ToolSet): { name: string; tool: AnyTool | undefined; repairs: string[] } {
  const exact = registry.get(written)
  if (exact !== undefined) return { name: written, tool: exact, repairs: [] }
  const tool = registry.get(new ToolNames(registry.names()).meantBy(written) ?? withoutDecoration(written))
  if (tool === undefined) return { name: withoutMarkup(written), tool, repairs: [] }
  return { name: tool.name, tool, repairs: [`name \`${written}\` read as \`${tool.name}\``] }
}
