import { base } from '../data/api.js'
import type { Run } from '../types.js'

export interface Message {
  role: string
  content?: unknown
}

/** A stored run, as far as it says how it was started. */
export interface StartedRun extends Run {
  result?: { messages?: Message[]; newMessages?: Message[] }
}

/** What a run was started with. `messages`: the conversation before it. */
export function startOf({ input, result }: StartedRun): { input: unknown; messages: Message[] } {
  const { messages = [], newMessages = [] } = result ?? {}
  const end = newMessages.findIndex(({ role }) => role !== 'user')
  const said = end < 0 ? newMessages : newMessages.slice(0, end)
  const [first] = said
  const isText = said.length === 1 && typeof first?.content === 'string'
  return {
    input: isText ? first.content : said.length > 0 ? said : input,
    messages: messages.slice(0, messages.length - newMessages.length),
  }
}

/** The request that starts the same run anew, for a shell. */
export function curlOf(run: StartedRun): string {
  const { input, messages } = startOf(run)
  const body = JSON.stringify({ input, model: run.model, ...(messages.length > 0 ? { messages } : {}) })
  const quoted = `'${body.replaceAll("'", `'\\''`)}'`
  return `curl ${base.href}v1/runs \\\n  -H "authorization: Bearer $TOKEN" \\\n  -H 'content-type: application/json' \\\n  -d ${quoted}`
}
