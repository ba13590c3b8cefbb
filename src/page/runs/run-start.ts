import { base } from '../data/api.ts'
import type { RunWithResult } from '../data/follow-run.ts'
import type { Message } from '../types.ts'

/** Returns the input of a run. `messages` is the conversation before the input. */
export function startOf({ input, result }: RunWithResult): { input: unknown; messages: Message[] } {
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

/** Returns a shell command that sends the request that starts the same run again. */
export function curlOf(run: RunWithResult): string {
  const { input, messages } = startOf(run)
  const body = JSON.stringify({ input, model: run.model, ...(messages.length > 0 ? { messages } : {}) })
  const quoted = `'${body.replaceAll("'", `'\\''`)}'`
  return `curl ${base.href}v1/runs \\\n  -H "authorization: Bearer $TOKEN" \\\n  -H 'content-type: application/json' \\\n  -d ${quoted}`
}
