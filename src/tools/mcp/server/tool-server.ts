import { randomUUID } from 'node:crypto'
import type { CallToolResult, InputRequiredResult, Server, ServerContext } from '@modelcontextprotocol/server'
import { syncAnswer } from '../../../core/callbacks/callbacks.ts'
import type { Logger } from '../../../core/logger.ts'
import { isJsonObject, type Json, type JsonObject } from '../../../core/messages.ts'
import { version as ownVersion } from '../../../core/version.ts'
import { prepareArguments } from '../../arguments.ts'
import type { Lanes } from '../../concurrency.ts'
import { resultText } from '../../result-text.ts'
import { compileSchema } from '../../schema/schema.ts'
import type { AnyTool, McpClient } from '../../tool.ts'
import { type ToolCallEnd, ToolRunner } from '../../tool-runner.ts'
import { loggerFor } from './client-log.ts'
import type { McpServerSdk } from './load-sdk.ts'
import { offerSkills } from './offer-skills.ts'
import { progressOf } from './progress.ts'
import { type AskingCall, answerIn, askable, asksClient, canAsk, earlyAnswerIn, type StateCodec } from './questions.ts'
import type { McpServing } from './serving.ts'
import { createdResult, type McpTasks, serveTasks, TaskCreated, taskCapabilities, wantsTask } from './tasks.ts'
import { blocksOf, failure, servable, wireTool } from './wire.ts'

/** The current tools. */
export type ServedTools = { get(name: string): AnyTool | undefined; list(): readonly AnyTool[] }

/** The caller, and the settings of the caller's calls. */
export interface CallScope {
  /** `''` if there is only one client. */
  caller: string
  /** Passed to the tool as `ToolContext.context`. */
  context: unknown
  metadata?: JsonObject | undefined
  lanes: Lanes
  /** Aborted when the client has disconnected. */
  signal?: AbortSignal
  /**
   * Called before a call. The returned function is called after the call.
   *
   * Contract: synchronous. If the function throws, the call is refused with the error's message.
   */
  admit?(tool: string): () => void
  /** The caller's tasks. Undefined if calls never run as tasks. */
  tasks?: McpTasks
}

interface ServerParts {
  codec: StateCodec
  scopeOf(ctx: ServerContext): CallScope
  logger: Logger
  /** Whether the server uses the protocol of 2026-07-28. */
  isModern: boolean
  hasTasks?: boolean
}

const defaultTimeoutMs = 30_000
const defaultResultBytes = 65_536

/**
 * Creates the SDK's server for one connection or one request. A call is handled as in a run: arguments are validated, time and result are
 * limited, and errors are worded for a model.
 */
export function createToolServer(
  sdk: McpServerSdk,
  tools: ServedTools,
  serving: McpServing,
  { codec, scopeOf, logger, isModern, hasTasks = false }: ServerParts,
): Server {
  const {
    name = 'toolloop',
    version = ownVersion,
    instructions,
    toolTimeoutMs,
    maxResultBytes,
    maxArgumentValues,
    logToClient,
    skills,
    extend,
  } = serving
  const capabilities = {
    tools: { listChanged: true },
    ...(logToClient === true ? { logging: {} } : {}),
    ...(hasTasks ? taskCapabilities(isModern) : {}),
  }
  const options = { capabilities, requestState: { verify: codec.verify }, instructions }
  /** The SDK does not support tasks, so a handler throws `TaskCreated` to return one. */
  class ToolServer extends sdk.Server {
    protected override _wrapHandler(...[method, handler]: Parameters<Server['_wrapHandler']>): ReturnType<Server['_wrapHandler']> {
      const wrapped = super._wrapHandler(method, handler)
      return (request, ctx) =>
        wrapped(request, ctx).catch((error: unknown) => {
          if (error instanceof TaskCreated) return createdResult(error.task, isModern)
          throw error
        })
    }
  }
  const server = new ToolServer({ name, version }, options)
  if (extend !== undefined || skills !== undefined) {
    class ExtendedServer extends sdk.McpServer {
      override readonly server: Server = server
    }
    const extended = new ExtendedServer({ name, version }, options)
    if (skills !== undefined) offerSkills(extended, skills.skills)
    syncAnswer('extend', extend?.(extended))
  }
  const listed = () => tools.list().filter(servable)
  const served = { get: (called: string) => servable(tools.get(called)), names: () => listed().map((tool) => tool.name) }
  const runner = new ToolRunner(served)
  const maxBytes = maxResultBytes ?? defaultResultBytes
  server.setRequestHandler('tools/list', (_request, ctx) => {
    const { tasks } = scopeOf(ctx)
    const isTask = (called: string) => !isModern && tasks?.offers(called) === true
    return {
      tools: listed().map((tool) => ({ ...wireTool(tool), ...(isTask(tool.name) ? { execution: { taskSupport: 'optional' } } : {}) })),
    }
  })
  if (hasTasks) serveTasks(sdk, server, { isModern, tasksOf: (ctx) => tasksOf(scopeOf(ctx)) })
  server.setRequestHandler('tools/call', async ({ params }, ctx): Promise<CallToolResult | InputRequiredResult> => {
    const tool = served.get(params.name)
    if (tool === undefined) throw new sdk.ProtocolError(sdk.ProtocolErrorCode.InvalidParams, runner.notFound(params.name))
    const { caller, context, metadata, lanes, signal: gone, admit, tasks } = scopeOf(ctx)
    const { signal: cancelled } = ctx.mcpReq
    const asking: AskingCall = { caller, name: params.name, args: params.arguments }
    const answered = answerIn(sdk, ctx, asking)
    if (answered !== undefined && 'content' in answered) return answered
    const signal = gone === undefined ? cancelled : AbortSignal.any([cancelled, gone])
    const raw = JSON.stringify(params.arguments ?? {})
    if (tasks?.offers(tool.name) === true && wantsTask(server, params, isModern)) {
      const prepared = await prepareArguments(tool, raw, { signal, maxValues: maxArgumentValues })
      if (!prepared.ok) return failure(prepared.problem.message)
      throw new TaskCreated(await tasks.start(tool.name, prepared.call.args))
    }
    const giveBack = admit?.(tool.name)
    await lanes.enter(tool.parallel === false)
    try {
      const call = {
        id: `mcp_${ctx.mcpReq.id}`,
        type: 'function' as const,
        function: { name: params.name, arguments: raw },
      }
      const mcpClient = clientOf(server)
      const run = (known: { answer: Json; asked: Json } | undefined) =>
        runner.run(call, {
          context,
          metadata,
          signal,
          runId: `mcp_${randomUUID()}`,
          iteration: 1,
          idempotencyKey: randomUUID(),
          timeoutMs: toolTimeoutMs ?? defaultTimeoutMs,
          maxResultBytes: maxBytes,
          maxArgumentValues,
          logger,
          mcpClient,
          ...(logToClient === true ? { toolLogger: loggerFor(tool.name, logger, ctx) } : {}),
          ...known,
          ...progressOf(ctx, logger),
        })
      let { end } = await run(answered)
      const early = end.outcome === 'question' ? earlyAnswerIn(sdk, ctx, end.question, asking) : undefined
      if (early !== undefined && 'content' in early) return early
      if (early !== undefined) end = (await run(early)).end
      if (end.outcome !== 'question') return resultOf(tool, end)
      // In protocol 2026-07-28, the SDK itself refuses questions that the client can't answer.
      const isRefused = !isModern && !canAsk(end.question, mcpClient)
      const asked = isRefused ? undefined : await asksClient(sdk, codec, end.question, asking)
      return asked ?? failure('The tool asks a question before it continues, and nobody can answer it here. The call was not finished.')
    } finally {
      lanes.leave()
      giveBack?.()
    }
  })
  return server
}

/** Tells the client that its tools, prompts and resources may have changed. */
export async function announceLists(server: Server): Promise<void> {
  const { tools, prompts, resources } = server.getCapabilities()
  if (tools?.listChanged === true) await server.sendToolListChanged()
  if (prompts?.listChanged === true) await server.sendPromptListChanged()
  if (resources?.listChanged === true) await server.sendResourceListChanged()
}

function tasksOf({ tasks, signal }: CallScope): { tasks: McpTasks; signal?: AbortSignal } {
  if (tasks === undefined) throw new Error('Expected a caller with tasks')
  return { tasks, signal }
}

function clientOf(server: Server): McpClient {
  const { name, version } = server.getClientVersion() ?? {}
  const told = { name, version }
  return { ...told, ...askable(server.getClientCapabilities()) }
}

function resultOf(tool: AnyTool, end: Exclude<ToolCallEnd, { outcome: 'question' }>): CallToolResult {
  return end.outcome === 'ok' ? { content: blocksOf(end.content), ...structured(tool, end.value) } : failure(end.content)
}

/** Returns the value as structured data, if the tool has an `outputSchema`. Validates the value first, because clients validate it too. */
function structured(tool: AnyTool, value: unknown): Partial<CallToolResult> {
  if (tool.outputSchema === undefined) return {}
  const text = resultText(value)
  const structuredContent: unknown = isJsonObject(value) && text.startsWith('{') ? JSON.parse(text) : undefined
  const problems = isJsonObject(structuredContent)
    ? compileSchema(tool.outputSchema, tool.name)(structuredContent)
    : ['it is not an object, or too long']
  if (!isJsonObject(structuredContent) || problems.length > 0)
    return failure(`The result of tool \`${tool.name}\` is not what its output schema says: ${problems.join('; ')}.`)
  return { structuredContent }
}
