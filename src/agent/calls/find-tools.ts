import { isJsonObject, type ToolCall } from '../../core/messages.ts'
import { parseArguments } from '../../tools/arguments.ts'
import type { ToolSet } from '../../tools/registry.ts'
import type { AnyTool } from '../../tools/tool.ts'
import type { ReadCall } from '../text-calls/read-call.ts'

/** A call as it is meant, with its tool. */
export interface OpenedCall {
  call: ReadCall
  tool: AnyTool | undefined
  repairs: string[]
}

/**
 * Some models wrap several calls in one they invented, `multi_tool_use.parallel({tool_uses: [{recipient_name, parameters}]})` or
 * `parallel({calls: [{name, arguments}]})`. Opened only if no tool has that name and every entry names one.
 * Seen in https://community.openai.com/t/model-tries-to-call-unknown-function-multi-tool-use-parallel/490653
 */
export function openCalls(calls: readonly ReadCall[], registry: ToolSet): OpenedCall[] {
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
