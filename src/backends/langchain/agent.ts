import type { AIMessage, BaseMessage, ToolMessage } from '@langchain/core/messages'
import { DynamicStructuredTool } from '@langchain/core/tools'
import { createAgent, createMiddleware } from 'langchain'
import { ToolloopError } from '../../core/errors.ts'
import { toAIMessage, toLangChain, toToolMessage } from './messages.ts'
import { TurnModel } from './turn-model.ts'

/** What LangChain's agent asks of whoever runs it. */
export interface AgentHost {
  /** Asks the model. Rejects when there is no reply to go on with: the agent then rejects too. */
  takeTurn(messages: readonly BaseMessage[]): Promise<AIMessage>
  /** Runs one call of the last turn; those of a turn are asked for all at once. Must not reject. */
  answerCall(id: string, name: string): Promise<ToolMessage>
  /**
   * Asked before every turn, and after one without calls: messages to be added before the model is asked; undefined ends the loop. Calls of
   * the turn before are answered by then.
   */
  goOn(): Promise<BaseMessage[] | undefined>
}

/** What is used of LangChain's agent. */
interface LangChainAgent {
  invoke(state: { messages: BaseMessage[] }, config: { recursionLimit: number; maxConcurrency: number }): Promise<unknown>
}

interface AgentParts {
  model: TurnModel
  middleware: ReturnType<typeof createMiddleware>[]
  checkpointer: false
}

/** LangChain's `createAgent`, or what stands in for it. */
export type CreateAgent = (parts: AgentParts) => LangChainAgent

const createLangChainAgent: CreateAgent = (parts) => createAgent(parts)

/** Nodes of its graph that are visited in one iteration: before the model, the model, the tools. */
const nodesAnIteration = 3

/**
 * Runs LangChain's agent over `messages` until it ends. Its tools are made call by call, for tools may come and go while a run goes on,
 * and a call to one that is not there is to be answered as well.
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
            const messages = await host.goOn()
            return messages === undefined ? { jumpTo: 'end' } : { messages }
          },
        },
        // LangChain is done when the model calls nothing; the host may not be.
        afterAgent: {
          canJumpTo: ['model'],
          hook: async () => {
            const messages = await host.goOn()
            return messages === undefined ? undefined : { messages, jumpTo: 'model' }
          },
        },
        wrapToolCall: (request, next) => next({ ...request, tool: toolFor(host, request.toolCall) }),
      }),
    ],
    // What is kept of a run is not for LangChain to decide: inside another agent of its own it would store it with that one's state.
    checkpointer: false,
  })
  // Both would otherwise be those of an agent around this one, or a default that ends a long run too early. The host's bounds are others.
  await agent.invoke({ messages }, { recursionLimit: nodesAnIteration * (mostIterations + 2), maxConcurrency: Number.MAX_SAFE_INTEGER })
}

/** Takes any arguments: they have been read and validated when the turn was planned, and LangChain has other words for the model. */
function toolFor(host: AgentHost, { id = '', name }: { id?: string; name: string }): DynamicStructuredTool {
  return new DynamicStructuredTool({ name, description: '', schema: { type: 'object' }, func: () => host.answerCall(id, name) })
}

/**
 * Takes the agent through a round of two calls, on from an answer, and to an end behind a call. Rejects when it does not do as is expected
 * of it, so that a version with which runs would break down is known before there are any.
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
    goOn: async () => (turn === 2 ? [toLangChain({ role: 'user', content: 'go on' }, 9)] : turn < 2 ? [] : undefined),
  }
  await runAgent(host, [toLangChain({ role: 'user', content: 'probe' }, 0)], turns.length, create)
  const done = trace.join(', ')
  const expected = 'asked with human, called a, called b, asked with human ai tool tool, asked with human ai tool tool ai human, called c'
  if (done !== expected)
    throw new ToolloopError('backend_failed', `Expected LangChain's agent to do this: ${expected}. It did this: ${done}`)
}
