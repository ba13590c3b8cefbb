import { randomUUID } from 'node:crypto'
import type { ChatMessage, JsonObject } from '../../core/messages.ts'
import { answerClient, checkChoice } from '../chat/answer-client.ts'
import type { Caller } from '../http/auth.ts'
import { HttpProblem } from '../http/problem.ts'
import { respondWithText } from '../http/reply.ts'
import type { Call, Route, RouteResponse } from '../http/route.ts'
import { checkOutputs } from '../responses/input-items.ts'
import { inputItems, pageOfItems } from '../responses/input-list.ts'
import { withoutReferences } from '../responses/item-references.ts'
import { continued } from '../responses/kept-responses.ts'
import { readTools } from '../responses/requested-tools.ts'
import { responseIdOf, runIdOf } from '../responses/response-ids.ts'
import { ResponseReply } from '../responses/response-reply.ts'
import { orderOfResponse, type ResponseRequest, readInputItems } from '../responses/response-request.ts'
import { deletedResponseSchema, inputItemListSchema, responseRequestSchema, responseSchema } from '../responses/response-schemas.ts'
import type { ServiceParts } from '../service-parts.ts'
import { identityOf } from '../tenants/tenant.ts'

const aResponse: RouteResponse = { description: 'The response', schema: responseSchema }

/** The routes of OpenAI's Responses API. Clients address each agent as a model that remembers its responses. */
export function responseRoutes(parts: ServiceParts): Route[] {
  const { runs, responses, limiter, config, logger } = parts
  /** The responses in progress in this process. */
  const live = new Map<string, ResponseReply>()
  const keyOf = (id: string, caller: Caller) => JSON.stringify([identityOf(caller), id])
  /**
   * The types of unsupported tools that were already logged. Clients send the same tools with every request, so each type is logged once.
   */
  const told = new Set<string>()
  const leaveOut = (types: readonly string[]) => {
    const [first] = types
    if (first !== undefined && config.config.service?.hostedTools === 'refuse') {
      const message = `Expected tools of type \`function\` or \`namespace\`, got \`${first}\`: the service can't run it`
      throw new HttpProblem(400, 'invalid_request', message, { param: 'tools' })
    }
    for (const type of types) {
      if (told.has(type) || told.size >= mostTold) continue
      told.add(type)
      logger.warn({ type }, 'tools of this type are left out of requests: only their provider can run them')
    }
  }
  const show = (reply: ResponseReply, { caller }: Call, mustArrive = false) =>
    respondWithText([JSON.stringify(reply.response)], { caller: caller.name, limiter, mustArrive })
  const showKept = async ({ params, caller }: Call) => {
    const response = await responses.find(params.id ?? '', caller, ({ json }) => respondWithText([json], { caller: caller.name, limiter }))
    if (response === undefined) throw unknownResponse
    return response
  }
  return [
    {
      method: 'POST',
      path: '/v1/responses',
      access: 'run',
      summary: 'Answers an input. Calls to tools of the request are returned as `function_call` items; the service runs all others.',
      body: responseRequestSchema,
      responses: { 200: { ...aResponse, types: ['text/event-stream'] }, 502: { description: 'The model failed' } },
      answer: async (call) => {
        const { caller } = call
        const asked = call.body as ResponseRequest
        const request = { ...asked, input: await withoutReferences(asked.input, caller, responses) }
        const runId = `run_${randomUUID()}`
        const id = responseIdOf(runId)
        const key = keyOf(id, caller)
        const tools = readTools(request.tools ?? [])
        leaveOut(tools.leftOut)
        const { messages, release } = await conversationOf(request, caller, parts)
        const end = () => {
          live.delete(key)
          release()
        }
        try {
          const order = await orderOfResponse(request, {
            id: runId,
            caller,
            context: await parts.contextOf(call.request, caller),
            messages,
            tools,
          })
          await checkChoice(order, parts.host, 'tool_choice.name')
          const keep = (response: object, all: readonly ChatMessage[]) =>
            responses.keep(id, caller, { response, input: inputItems(request.input, id), messages: withoutInstructions(all, request) })
          const reply = new ResponseReply({ id, request, tools, keep: request.store === false ? undefined : keep })
          live.set(key, reply)
          void reply.ended.then(end)
          return await answerClient(order, reply, call, parts)
        } catch (error) {
          end()
          throw error
        }
      },
    },
    {
      method: 'GET',
      path: '/v1/responses/{id}',
      access: 'run',
      summary: 'A response of the caller’s, running or stored. Responses are stored for a limited time.',
      responses: { 200: aResponse },
      answer: (call) => {
        if (call.url.searchParams.get('stream') === 'true')
          throw new HttpProblem(400, 'invalid_request', 'Expected `stream` to be false: a response is streamed once', { param: 'stream' })
        const reply = live.get(keyOf(call.params.id ?? '', call.caller))
        return reply === undefined ? showKept(call) : show(reply, call)
      },
    },
    {
      method: 'GET',
      path: '/v1/responses/{id}/input_items',
      access: 'run',
      summary: 'The input items of one of the caller’s responses, without those of the responses that it continues.',
      query: [
        { name: 'limit', description: 'The maximum number of items, up to 100. Default 20.' },
        { name: 'order', description: '`asc` or `desc`. Default `desc`.' },
        { name: 'after', description: 'The id of the last item of the previous page.' },
      ],
      responses: { 200: { description: 'A list in OpenAI’s format', schema: inputItemListSchema } },
      answer: async ({ params, caller, url }) => {
        const { id = '' } = params
        const page = (items: readonly JsonObject[]) =>
          respondWithText([JSON.stringify(pageOfItems(items, url.searchParams))], { caller: caller.name, limiter })
        const reply = live.get(keyOf(id, caller))
        const list = reply === undefined ? await responses.find(id, caller, ({ input }) => page(input)) : page(reply.input)
        if (list === undefined) throw unknownResponse
        return list
      },
    },
    {
      method: 'POST',
      path: '/v1/responses/{id}/cancel',
      access: 'run',
      summary: 'Aborts a running response. A finished response does not change.',
      responses: { 200: aResponse },
      answer: async (call) => {
        const { params, caller } = call
        const reply = live.get(keyOf(params.id ?? '', caller))
        if (reply === undefined) return showKept(call)
        reply.cancel()
        await runs.cancel(await runs.get(runIdOf(params.id ?? ''), caller), 'cancelled')
        await reply.ended
        return show(reply, call, true)
      },
    },
    {
      method: 'DELETE',
      path: '/v1/responses/{id}',
      access: 'run',
      summary:
        'Deletes a stored response with its conversation. Responses that continue it stay. A response that is still running is not stored.',
      responses: { 200: { description: 'It is deleted', schema: deletedResponseSchema } },
      answer: async ({ params, caller }) => {
        const { id = '' } = params
        const key = keyOf(id, caller)
        const reply = live.get(key)
        live.delete(key)
        const mayBeKept = reply === undefined || (await reply.discard())
        const isDeleted = mayBeKept && (await responses.delete(id, caller))
        if (reply === undefined && !isDeleted) throw unknownResponse
        return Response.json({ id, object: 'response', deleted: true })
      },
    },
  ]
}

/** Maximum number of tool types that are logged. Clients can send any number of different types. */
const mostTold = 20

const unknownResponse: HttpProblem = new HttpProblem(
  404,
  'response_not_found',
  'Unknown response; responses are kept for a limited time only',
  { param: 'id' },
)

/** Removes the instructions of a request, because they are not part of the conversation. */
function withoutInstructions(messages: readonly ChatMessage[], { instructions }: ResponseRequest): readonly ChatMessage[] {
  const [first] = messages
  return instructions && first?.role === 'system' && first.content === instructions ? messages.slice(1) : messages
}

/**
 * Returns the conversation to answer. An earlier conversation counts towards the caller's limit on unread responses until `release` is
 * called. Rejects with an `HttpProblem`: 400 if the input is invalid, 404 if the earlier response is unknown, or 429 if the limit is
 * exceeded.
 */
async function conversationOf(
  request: ResponseRequest,
  caller: Caller,
  { responses, limiter }: ServiceParts,
): Promise<{ messages: readonly ChatMessage[]; release(): void }> {
  const { previous_response_id: previous } = request
  const messages = readInputItems(request)
  if (previous === undefined || previous === null) {
    checkOutputs(request.input, [])
    return { messages, release: () => {} }
  }
  const found = await responses.find(previous, caller, (kept) => ({
    kept,
    release: limiter.admitCharacters(
      caller.name,
      kept.messages.reduce((sum, text) => sum + text.length, 0),
    ),
  }))
  if (found === undefined)
    throw new HttpProblem(404, 'previous_response_not_found', 'Unknown response; responses are kept for a limited time only', {
      param: 'previous_response_id',
    })
  const { kept, release } = found
  try {
    const whole = await continued(kept, messages)
    checkOutputs(request.input, whole.slice(0, kept.messages.length))
    return { messages: whole, release }
  } catch (error) {
    release()
    throw error
  }
}
