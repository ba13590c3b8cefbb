import { ToolloopError } from '../../../../core/errors.ts'
import { isJsonObject, type JsonObject } from '../../../../core/messages.ts'
import type { ToolContext } from '../../../tool.ts'
import type { McpServerOptions } from '../../server-config.ts'
import { readRequest, type ServerRequest } from './questions.ts'
import type { Sampler } from './sampling.ts'

/** The model's answers, and the requests that the user must answer. */
interface AskedAtOnce {
  /** Answers of the run's model, by request name. */
  answers: Record<string, JsonObject>
  names: string[]
  requests: ServerRequest[]
}

interface Asking {
  sampler: Sampler | undefined
  ctx: Pick<ToolContext, 'askModel'>
}

/**
 * Handles the requests that a server makes in the middle of a call. Lets the run's model answer sampling requests, and returns the requests
 * that the user must answer. Rejects with `tool_failed` for a request that is not allowed.
 */
export async function askedAtOnce(
  name: string,
  { questions }: McpServerOptions,
  { sampler, ctx }: Asking,
  inputRequests: unknown,
): Promise<AskedAtOnce> {
  const asked: AskedAtOnce = { answers: {}, names: [], requests: [] }
  for (const [key, one] of Object.entries(isJsonObject(inputRequests) ? inputRequests : {})) {
    const { method, params } = isJsonObject(one) ? one : {}
    if (method === 'sampling/createMessage' && sampler !== undefined) {
      asked.answers[key] = await sampler.answer(params, ctx.askModel)
    } else if (method === 'elicitation/create' && questions !== false) {
      asked.names.push(key)
      asked.requests.push(readRequest(params))
    } else {
      throw new ToolloopError('tool_failed', `The MCP server \`${name}\` wants \`${String(method)}\`, which is not allowed here.`)
    }
  }
  return asked
}
