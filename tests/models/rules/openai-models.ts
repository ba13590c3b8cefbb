import { isJsonObject, type Json, type JsonObject } from '../../../src/core/messages.ts'
import type { MockScriptRequest } from '../../../src/testing/index.ts'

interface ModelFacts {
  match: RegExp
  /** The efforts that it accepts. Empty: it refuses the field. */
  efforts: readonly string[]
  /** The effort of a request that names none. */
  byDefault: string
  /** Chat Completions: not available; without tools; or without tools unless the effort is `none`, by default or in the request. */
  chat?: 'absent' | 'no tools' | 'tools without the field' | 'tools with none'
}

const fromLow = ['low', 'medium', 'high']
const fromNone = ['none', ...fromLow, 'xhigh']

/** What OpenAI's models refuse. Sources: config/providers.yaml. The first match counts. */
const facts: readonly ModelFacts[] = [
  { match: /^o\d.*-pro$|^codex-|^gpt-5-codex|^gpt-5\.1-codex$/, efforts: fromLow, byDefault: 'medium', chat: 'absent' },
  { match: /^gpt-5\.\d-pro$/, efforts: ['medium', 'high', 'xhigh'], byDefault: 'medium', chat: 'absent' },
  { match: /^gpt-5-pro$/, efforts: ['high'], byDefault: 'high', chat: 'absent' },
  { match: /^gpt-5\.\d-codex/, efforts: [...fromLow, 'xhigh'], byDefault: 'medium', chat: 'absent' },
  { match: /deep-research/, efforts: ['medium'], byDefault: 'medium', chat: 'absent' },
  { match: /^o\d/, efforts: fromLow, byDefault: 'medium' },
  { match: /^gpt-5(-mini|-nano)?$/, efforts: ['minimal', ...fromLow], byDefault: 'medium' },
  { match: /^gpt-5\.1$/, efforts: ['none', ...fromLow], byDefault: 'none' },
  { match: /^gpt-5\.2$/, efforts: fromNone, byDefault: 'none' },
  { match: /^gpt-5\.4/, efforts: fromNone, byDefault: 'none', chat: 'tools without the field' },
  { match: /^gpt-5\.([5-9]|1\d)/, efforts: fromNone, byDefault: 'medium', chat: 'tools with none' },
  { match: /^gpt-[67]/, efforts: [...fromLow, 'xhigh'], byDefault: 'medium', chat: 'no tools' },
  { match: /^gpt-(4|5-chat)/, efforts: [], byDefault: 'none' },
]

/** The reason why OpenAI would refuse a request because of its model. */
export function refuseForModel({ wire, body }: Pick<MockScriptRequest, 'wire' | 'body'>): string | undefined {
  const known = facts.find(({ match }) => match.test(String(body.model)))
  if (known === undefined) return undefined
  const { efforts, byDefault, chat } = known
  const isChat = wire === 'chat-completions'
  if (isChat && chat === 'absent') return 'This model is only supported in v1/responses and not in v1/chat/completions.'
  const asked: Json | undefined = isChat ? body.reasoning_effort : isJsonObject(body.reasoning) ? body.reasoning.effort : undefined
  if (asked !== undefined && !efforts.includes(String(asked)))
    return `Unsupported value: '${String(asked)}' is not supported with the '${String(body.model)}' model. Supported values are: ${efforts.join(', ')}.`
  if (isChat && body.tools !== undefined) {
    const isRefused = { 'no tools': true, 'tools without the field': asked !== undefined, 'tools with none': asked !== 'none' }
    if (chat !== undefined && chat !== 'absent' && isRefused[chat])
      return `Function tools with reasoning_effort are not supported for ${String(body.model)} in /v1/chat/completions.`
  }
  return refuseSampling(body, asked ?? byDefault)
}

function refuseSampling(body: JsonObject, effort: Json): string | undefined {
  const refused = ['temperature', 'top_p', 'stop', 'presence_penalty', 'frequency_penalty'].find((field) => body[field] !== undefined)
  return refused !== undefined && effort !== 'none' ? `Unsupported parameter: '${refused}' is not supported with this model.` : undefined
}
