import type { AIMessage, BaseMessage, ToolMessage } from '@langchain/core/messages'
import { DynamicStructuredTool } from '@langchain/core/tools'
import { createAgent, createMiddleware } from 'langchain'
import { ToolloopError } from '../../core/errors.ts'
import { toAIMessage, toLangChain, toToolMessage } from './messages.ts'
import { TurnModel } from './turn-model.ts'

/** The callbacks that LangChain's agent calls while it runs. */
export interface AgentHost {
  /** Runs one model turn. Rejects if the model gives no reply; the agent then rejects, too. */
  takeTurn(messages: readonly BaseMessage[]): Promise<AIMessage>
  /** Runs one call of the last turn. LangChain requests all calls of a turn at once. Must not reject. */
  answerCall(id: string, name: string): Promise<ToolMessage>
  /**
   * Called before every turn, when the calls of the previous turn have results. Returns messages to add to the conversation, or undefined
   * to end the loop.
   */
  beginTurn(): Promise<BaseMessage[] | undefined>
}

interface LangChainAgent {
  invoke(state: { messages: BaseMessage[] }, config: { recursionLimit: number; maxConcurrency: number }): Promise<unknown>
}

interface AgentParts {
  model: TurnModel
  middleware: ReturnType<typeof createMiddleware>[]
  checkpointer: false
}

/** LangChain's `createAgent`, or a replacement with the same signature. */
export type CreateAgent = (parts: AgentParts) => LangChainAgent

const createLangChainAgent: CreateAgent = (parts) => createAgent(parts)

/** The number of graph nodes that are visited per iteration: the hook before the model, the model, and the tools. */
const nodesAnIteration = 3

/**
 * Runs LangChain's agent over `messages` until it ends. A tool is created for each call, because tools may be added or removed during a
 * run, and calls of unknown tools need a result, too.
 */
export async function runAgent(
  host: AgentHost,
  messages: BaseMessage[],
  mostIterations: number,
  create: CreateAgent = createLangChainAgent,
): Promise<void> {
  const agent = create({
    model: new TurnModel((state) => host.takeTurn(state)),
    middleware: [
      createMiddleware({
        name: 'toolloop',
        beforeModel: {
          canJumpTo: ['end'],
          hook: async () => {
            const messages = await host.beginTurn()
            return messages === undefined ? { jumpTo: 'end' } : { messages }
          },
        },
        // LangChain's graph ends when the model makes no calls, but the run may need another turn.
        afterAgent: {
          canJumpTo: ['model'],
          hook: async () => {
            const messages = await host.beginTurn()
            return messages === undefined ? undefined : { messages, jumpTo: 'model' }
          },
        },
        wrapToolCall: (request, next) => next({ ...request, tool: toolFor(host, request.toolCall) }),
      }),
    ],
    // The run stores its own state. Without this setting, an outer LangChain agent would also store it.
    checkpointer: false,
  })
  // The run enforces its own limits. Unless both options are set here, LangChain uses the limits of an outer agent, or defaults that end a
  // long run too early.
  await agent.invoke({ messages }, { recursionLimit: nodesAnIteration * (mostIterations + 2), maxConcurrency: Number.MAX_SAFE_INTEGER })
}

/** Creates a tool that accepts any arguments, because the run has already validated them. */
function toolFor(host: AgentHost, { id = '', name }: { id?: string; name: string }): DynamicStructuredTool {
  return new DynamicStructuredTool({ name, description: '', schema: { type: 'object' }, func: () => host.answerCall(id, name) })
}

/**
 * Checks that LangChain's agent works as expected: it runs two calls of one turn and, as `beginTurn` decides, requests another turn after
 * an answer, and ends after a call. Rejects otherwise, so that an incompatible version is noticed before a run fails.
 */
export async function checkAgent(create?: CreateAgent): Promise<void> {
  const trace: string[] = []
  const turns = [['a', 'b'], [], ['c']]
  let turn = 0
  const host: AgentHost = {
    async takeTurn(messages) {
      trace.push(`asked with ${messages.map(({ type }) => type).join(' ')}`)
      const toolCalls = turns[turn]?.map((id) => ({ id, type: 'function' as const, function: { name: 'probe', arguments: '{}' } }))
      return toAIMessage({ role: 'assistant', content: '', toolCalls: toolCalls ?? [] }, ++turn)
    },
    async answerCall(id, name) {
      trace.push(`called ${id}`)
      return toToolMessage({ role: 'tool', toolCallId: id, name, content: 'ok' })
    },
    beginTurn: async () => (turn === 2 ? [toLangChain({ role: 'user', content: 'go on' }, 9)] : turn < 2 ? [] : undefined),
  }
  await runAgent(host, [toLangChain({ role: 'user', content: 'probe' }, 0)], turns.length, create)
  const done = trace.join(', ')
  const expected = 'asked with human, called a, called b, asked with human ai tool tool, asked with human ai tool tool ai human, called c'
  if (done !== expected)
    throw new ToolloopError('backend_failed', `Expected LangChain's agent to do this: ${expected}. It did this: ${done}`)
}
