import { messageOf, ToolloopError } from '../../core/errors.ts'
import { Event } from '../../core/events.ts'
import { isJsonObject, type JsonObject } from '../../core/messages.ts'
import { checkOptionNames, type OptionNames } from '../../core/option-names.ts'
import type { ChatModel } from '../../models/chat-model.ts'
import type { ToolSet } from '../../tools/registry.ts'
import { type AnyTool, defineTool, type Tool, type ToolContext } from '../../tools/tool.ts'
import { toToolSet } from '../options.ts'
import type { Handoff } from '../recorded.ts'
import type { Execution } from '../run/execution.ts'
import { RunContext } from '../run/run-context.ts'
import { handTo } from '../run/run-state.ts'
import { handedOffText } from '../told.ts'
import type { ToolsFor } from '../typed.ts'
import type { RunnerOptions } from '../types.ts'

/** An agent that a conversation can be handed to: an `AgentRunner` or a `CustomAgent`. */
export interface ConversationTaker<Context = unknown> {
  readonly model: ChatModel
  readonly tools: ToolSet | ((input: { context: Context }) => ToolsFor<Context>)
  readonly instructions?: RunnerOptions<Context>['instructions']
}

/** How an agent is offered to take the conversation over. */
export interface HandoffOptions {
  /** The agent's name, in the result's `agent` and in the tool's name, `hand_off_to_NAME`. `a-z A-Z 0-9 _ -`, at most 52 characters. */
  name: string
  /** What the agent is for: the model decides by it. */
  description: string
}

const handoffOptionNames: OptionNames<HandoffOptions> = { name: true, description: true }

interface HandoffTool extends Tool<never> {
  readonly handsTo: ConversationTaker<never>
}

/**
 * A tool by which the model hands the conversation to another agent: from the next turn on it is that agent's model, instructions and tools
 * that go on with it. Limits, hooks, guardrails and events stay those of the run, the history goes on, and the result's `agent` says who
 * has the conversation at the end: the next run is best that agent's. `activeTools` is about the tools of the agent the run began with.
 * Throws `invalid_tool`.
 */
export function handoff<Context = unknown>(to: ConversationTaker<Context>, options: HandoffOptions): Tool<Context> {
  checkOptionNames(options, handoffOptionNames, '`handoff`')
  const { name, description } = options
  if (typeof to !== 'object' || to === null || to.model === undefined || to.tools === undefined)
    throw new ToolloopError('invalid_tool', 'Expected `handoff` to be given an AgentRunner or a CustomAgent')
  const tool = defineTool({
    name: `hand_off_to_${name}`,
    description: `Hands the conversation to ${name}: ${description}`,
    effect: 'read',
    parallel: false,
    toContent: () => handedOffText(name),
    execute: async (_args: JsonObject, { context, run, iteration }: ToolContext<Context>): Promise<Handoff> => {
      if (!(run instanceof RunContext)) throw new TypeError('A conversation can be handed off only in a run')
      const { provider, model } = run.usable(to.model)
      toolsOf(to, context)
      const instructions = typeof to.instructions === 'function' ? await to.instructions({ context }) : to.instructions
      run.emit(Event.HANDOFF, { agent: name, provider, model }, { iteration })
      return { tool: `hand_off_to_${name}`, agent: name, ...(instructions === undefined ? {} : { instructions }) }
    },
  })
  return Object.assign(tool, { handsTo: to })
}

function toolsOf<Context>(to: ConversationTaker<Context>, context: Context): ToolSet {
  return toToolSet(typeof to.tools === 'function' ? to.tools({ context }) : to.tools)
}

function isHandoffTool(tool: AnyTool): tool is HandoffTool {
  return 'handsTo' in tool
}

/** Makes the run go on as the agent that a call has handed the conversation to. */
export function handOff({ run, state }: Execution, to: Handoff): void {
  const tool = run.agent.registry.get(to.tool)
  // Looked up by what is recorded: taken up again by a runner without the tool, the run stays with the agent it has.
  if (tool === undefined || !isHandoffTool(tool)) return
  const { agent } = to
  try {
    run.handTo({ model: tool.handsTo.model, tools: toolsOf(tool.handsTo, run.settings.context as never) })
  } catch (error) {
    run.logger.error({ runId: run.runId, agent, error: messageOf(error) }, 'the agent’s tools can’t be had: the conversation stays')
    return
  }
  handTo(state, to)
}

/** What such a tool returned; undefined for what a hook put in its place. */
export function handoffOf(value: unknown): Handoff | undefined {
  const isOne = isJsonObject(value) && typeof value.tool === 'string' && typeof value.agent === 'string'
  return isOne ? (value as { tool: string; agent: string }) : undefined
}
