import { jsonIn } from '../../core/json.ts'
import { type ChatMessage, hasToolCalls, isJsonObject, isToolResult, textOf } from '../../core/messages.ts'
import type { ToolDefinition } from '../../tools/tool.ts'
import { excerpt, type MadeCall } from './reading.ts'
import { readRequest } from './request.ts'
import { refuse } from './talk.ts'

/** Output of the user's own commands, printed before a request. */
const printed = /^(?:<command line=.*>\n[\s\S]*?<\/command>\s*)+/

export type WantedCall = Pick<MadeCall, 'tool' | 'args'>

/** Returns the calls that the last user message still needs, or the answer. */
export function nextStep(messages: readonly ChatMessage[], tools: readonly ToolDefinition[]): { calls: WantedCall[]; text: string } {
  const at = messages.findLastIndex(({ role }) => role === 'user')
  const asked = messages[at]
  const request = asked?.role === 'user' ? textOf(asked.content).replace(printed, '').trim() : ''
  const decline = (part: string, reason?: string) => ({ calls: [], text: refuse(part, tools, reason) })
  const readings = readRequest(request, tools)
  if (typeof readings === 'string') return decline(readings)
  const made = callsIn(messages.slice(at + 1))
  const known = new Set([...made.map(({ tool }) => tool), ...tools.map((tool) => tool.function.name)])
  const isOnlyGreeting = readings.every((reading) => 'says' in reading && reading.isGreeting)
  const [calls, texts]: [WantedCall[], string[]] = [[], []]
  const missing = readings.find((reading) => 'tool' in reading && !known.has(reading.tool))
  if (missing && 'tool' in missing) return decline(request, `I would need the tool \`${missing.tool}\`, which is not offered to me here`)
  const from = messages.findLastIndex((message, index) => index < at && hasToolCalls(message))
  let before = from === -1 ? undefined : callsIn(messages.slice(from, at)).findLast(({ result }) => result !== undefined)
  for (const reading of readings) {
    if ('says' in reading) {
      if (isOnlyGreeting || !reading.isGreeting) texts.push(reading.says(tools))
      continue
    }
    const { tool } = reading
    const args = typeof reading.args === 'function' ? reading.args(before) : reading.args
    if (args === 'dead end') continue
    // Later clauses must wait, because calls are made in the order of the clauses.
    if (args === 'waiting') break
    if (typeof args === 'string') return decline(request, args)
    const index = made.findIndex((call) => call.tool === tool)
    before = made[index] ?? { tool, args }
    if (index !== -1) made.splice(index, 1)
    const { result } = before
    if (result === undefined) calls.push({ tool, args })
    else if (result.isError) texts.push(`\`${tool}\` failed: ${excerpt(result.text, 400).replace(/(?<![.!?…)])$/, '.')}`)
    else texts.push(reading.tell(jsonIn(result.text), before.args, result.text) ?? `\`${tool}\` answered with something I can't read.`)
  }
  const text = [...new Set(texts)].join(texts.some((each) => each.includes('\n')) ? '\n\n' : ' ')
  if (calls.length === 0 && text === '') return decline(request, 'there is no result to continue with')
  return { calls, text: calls.length > 0 ? '' : text }
}

/** Returns the calls in `messages`, in order, with their results. */
function callsIn(messages: readonly ChatMessage[]): MadeCall[] {
  const calls = new Map<string, MadeCall>()
  for (const message of messages) {
    for (const { id, function: called } of hasToolCalls(message) ? message.toolCalls : []) {
      const args = jsonIn(called.arguments)
      calls.set(id, { tool: called.name, args: isJsonObject(args) ? args : {} })
    }
    const call = isToolResult(message) ? calls.get(message.toolCallId) : undefined
    if (call && isToolResult(message)) call.result = { text: textOf(message.content), isError: message.isError === true }
  }
  return [...calls.values()]
}
