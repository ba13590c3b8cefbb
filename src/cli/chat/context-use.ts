import type { ChatMessage } from '../../core/messages.ts'
import { estimateTokens, estimateUsage } from '../../models/usage.ts'
import type { ToolDefinition } from '../../tools/tool.ts'
import { plural } from '../terminal/render.ts'

/** The parts of a chat's next model request, apart from the prompt. */
export interface Context {
  instructions: string | undefined
  tools: readonly ToolDefinition[]
  messages: readonly ChatMessage[]
  /** The size of the model's context window in tokens. Undefined if unknown. */
  window: number | undefined
}

/** Estimates how much of the context window is used, and which parts of the request use it. */
export function describeContext({ instructions, tools, messages, window }: Context): string[] {
  const own = instructions === undefined ? 0 : estimateTokens({ role: 'system', content: instructions })
  const ofTools = tools.length === 0 ? 0 : estimateUsage({ messages: [], tools }, { text: '' }).inputTokens
  const said = messages.reduce((sum, message) => sum + estimateTokens(message), 0)
  const total = own + ofTools + said
  const of = window === undefined ? ' (the model’s context window is not known)' : ` of ${count(window)} (${percent(total, window)})`
  return [
    `about ${count(total)} tokens${of}`,
    `  instructions ${count(own)} · ${plural(tools.length, 'tool')} ${count(ofTools)} · ${plural(messages.length, 'message')} ${count(said)}`,
    ...(messages.length === 0 ? [] : ['  /compact replaces the conversation by a summary, /new starts another one']),
  ]
}

function percent(part: number, whole: number): string {
  const value = (100 * part) / whole
  return value > 0 && value < 1 ? 'under 1 %' : `${Math.round(value)} %`
}

function count(tokens: number): string {
  return Math.round(tokens).toLocaleString('en-US')
}
