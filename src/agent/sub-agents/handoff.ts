import { syncAnswer, syncText } from '../../core/callbacks/callbacks.ts'
import { checkOptionNames, type OptionNames } from '../../core/check-options.ts'
import { messageOf, ToolloopError } from '../../core/errors.ts'
import { Event } from '../../core/events.ts'
import { type JsonObject, withoutUndefined } from '../../core/messages.ts'
import type { ChatModel } from '../../models/chat-model.ts'
import { checkedTools, type ToolSet } from '../../tools/registry.ts'
import { type AnyTool, defineTool, type Tool, type ToolContext } from '../../tools/tool.ts'
import { checkHandoff } from '../middleware/guardrails/ask-guardrails.ts'
import { resolveLimits } from '../options/limits.ts'
import { activeTools, toToolSet } from '../options.ts'
import { RunContext } from '../run/run-context.ts'
import { handTo, RepeatBreaker } from '../run/run-state.ts'
import { handedOffText } from '../run-texts.ts'
import { iterationStep } from '../step-keys.ts'
import type { Execution } from '../types/execution.ts'
import type { AgentRules, RunnerOptions } from '../types/options.ts'
import type { Handoff } from '../types/recorded.ts'
import type { ToolsFor } from '../types/typed.ts'

/**
 * An agent that can take over a conversation: an `AgentRunner` or a `CustomAgent`.
 *
 * Contract: `instructions` is awaited, `tools` is not. If either throws, the call of the handoff fails, and the model is told.
 */
export interface ConversationTaker<Context = unknown> {
  readonly model: ChatModel
  readonly tools: ToolSet | ((input: { context: Context }) => ToolsFor<Context>)
  readonly instructions?: RunnerOptions<Context>['instructions']
  readonly handoffRules?: AgentRules<Context>
}

/** Options of `handoff`. */
export interface HandoffOptions {
  /**
   * The agent's name. It appears as `agent` in the result, and in the tool's name, `hand_off_to_NAME`. At most 52 of the characters
   * `a-z A-Z 0-9 _ -`.
   */
  name: string
  /** Describes the purpose of the agent. The model uses this text to decide when to hand over. */
  description: string
}

const handoffOptionNames: OptionNames<HandoffOptions> = { name: true, description: true }

interface HandoffTool extends Tool<never> {
  readonly handsTo: ConversationTaker<never>
}

/**
 * Creates a tool with which the model hands the conversation over to another agent. From the next turn on, that agent's model, instructions
 * and tools are used. The agent's hooks, guardrails, limits, `activeTools` and `stopWhen` apply to its turns and calls, and the run's own
 * rules wrap them. The result's `agent` names the agent that has the conversation at the end. Start the next run with that agent.
 *
 * The agent's `input` guardrails check the conversation so far. If they refuse the conversation, or would replace a message, the run ends
 * `refused`. The agent's limits are counted from the handoff on. Throws `invalid_tool`.
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
      if (instructions !== undefined) syncText('instructions', instructions)
      run.events.emit(Event.HANDOFF, { agent: name, provider, model }, { iteration })
      return { tool: `hand_off_to_${name}`, agent: name, ...withoutUndefined({ instructions }) }
    },
  })
  return Object.assign(tool, { handsTo: to })
}

function toolsOf<Context>(to: ConversationTaker<Context>, context: Context): ToolSet {
  return checkedTools(toToolSet(typeof to.tools === 'function' ? syncAnswer('tools', to.tools({ context })) : to.tools))
}

function isHandoffTool(tool: AnyTool): tool is HandoffTool {
  return 'handsTo' in tool
}

/** Returns these tools, and the tools of all agents that they hand over to. Tools that an agent creates for each run are not included. */
export function withHandoffs(tools: ToolSet): ToolSet[] {
  const sets = [tools]
  const agents = new Set<object>()
  for (const set of sets) {
    for (const tool of set.list()) {
      if (!isHandoffTool(tool) || agents.has(tool.handsTo)) continue
      agents.add(tool.handsTo)
      const { tools: given } = tool.handsTo
      if (typeof given !== 'function') sets.push(toToolSet(given))
    }
  }
  return sets
}

/**
 * Makes the run continue as the agent that a call has handed the conversation to. If that agent's guardrails refuse the conversation,
 * returns the reason, and the run ends.
 */
export async function handOff(execution: Execution, iteration: number, to: Handoff): Promise<string | undefined> {
  const { durable, run, state } = execution
  const tool = run.agent.registry.get(to.tool)
  // The tool is looked up by its recorded name. If the runner that resumes the run lacks the tool, the conversation stays with its current
  // agent.
  if (tool === undefined || !isHandoffTool(tool)) return undefined
  const { model, handoffRules: rules = {} } = tool.handsTo
  const { guardrails = [], limits, maxIterations } = rules
  const checks = guardrails.filter(({ input }) => input !== undefined)
  if (checks.length > 0) {
    const said = state.history.slice(state.earlier).filter(({ role }) => role === 'user')
    const refused = await durable.step(
      iterationStep(iteration, 'handoff'),
      async () => (await checkHandoff(run, checks, said, iteration)) ?? null,
    )
    if (refused !== null) return refused
  }
  const { agent } = to
  try {
    const tools = activeTools(toolsOf(tool.handsTo, run.settings.context as never), rules, run.logger)
    const most = maxIterations === undefined ? run.limits.maxIterations : iteration + maxIterations
    run.handTo({ model, tools, rules, limits: resolveLimits({ limits: limits ?? {}, maxIterations: most }) })
  } catch (error) {
    run.logger.error({ runId: run.runId, agent, error: messageOf(error) }, 'the agent’s tools are not available: the conversation stays')
    return undefined
  }
  const { repeatedCalls, repeatWindow } = limits ?? {}
  const ownBreaker = repeatedCalls === undefined ? undefined : new RepeatBreaker(repeatedCalls, repeatWindow ?? run.limits.repeatWindow)
  handTo(state, to, { budget: run.budget, ownBreaker })
  execution.layers = execution.compose()
  return undefined
}
