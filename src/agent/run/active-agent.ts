import type { ChatModel } from '../../models/chat-model.ts'
import type { ToolSet } from '../../tools/registry.ts'
import { type Callbacks, callbacksOf } from '../callbacks/callbacks.ts'
import type { GuardrailPlace, GuardrailsByPlace } from '../callbacks/guardrails.ts'
import { namedBeside, type OutputFormat, withAnswerTool } from '../output/output.ts'
import type { AgentRules, RunSettings } from '../types/options.ts'
import type { ResolvedLimits } from '../types/resolved-limits.ts'

/** The agent that currently has the conversation. */
export interface ActiveAgent {
  readonly model: ChatModel
  /** The tools that the model gets. */
  readonly offered: ToolSet
  /** The tools that a call can name: the offered tools and the answer tool. */
  readonly registry: ToolSet
  /** The format in which the model gives an answer with a schema. Undefined if the answer has no schema. */
  readonly output: OutputFormat | undefined
  /** The hooks and middleware of the run. If another agent has taken over, they wrap that agent's hooks and middleware. */
  readonly callbacks: Callbacks
  /**
   * The guardrails of the run, followed by the guardrails of an agent that has taken over. For output and results, the guardrails of that
   * agent run first.
   */
  readonly guardrails: GuardrailsByPlace
  readonly stopWhen: readonly NonNullable<RunSettings['stopWhen']>[]
  /** The rules of an agent that has taken over. Undefined for the agent that the run started with. */
  readonly rules: AgentRules<never> | undefined
}

interface AgentParts {
  model: ChatModel
  tools: ToolSet
  format: OutputFormat | undefined
  settings: AgentRules<never>
  rules?: AgentRules<never> | undefined
}

/** An agent that takes over. `limits`: the agent's own limits, with all defaults filled in. */
export interface NextAgent {
  model: ChatModel
  tools: ToolSet
  rules: AgentRules<never>
  limits: ResolvedLimits
}

export function activeAgent({ model, tools, format, settings, rules }: AgentParts): ActiveAgent {
  const output = format && namedBeside(format, tools)
  const { guardrails = [], stopWhen } = settings
  // The guardrails of an agent are added only once, even if the run already has them.
  const own = rules?.guardrails?.filter((one) => !guardrails.includes(one)) ?? []
  return {
    model,
    offered: tools,
    registry: output === undefined ? tools : withAnswerTool(output, tools),
    output,
    callbacks: callbacksOf({
      hooks: joined(settings.hooks, rules?.hooks),
      plan: joined(settings.plan, rules?.plan),
      around: joined(settings.around, rules?.around),
    }),
    guardrails: {
      input: checking('input', guardrails, own),
      call: checking('call', guardrails, own),
      output: checking('output', own, guardrails),
      result: checking('result', own, guardrails),
    },
    stopWhen: [...new Set([stopWhen, rules?.stopWhen])].filter((one) => one !== undefined),
    rules,
  }
}

function joined<One>(ofRun: readonly One[] = [], ofAgent: readonly One[] = []): readonly One[] {
  return ofAgent.length === 0 ? ofRun : [...new Set([...ofRun, ...ofAgent])]
}

function checking<Guardrail extends { readonly [Place in GuardrailPlace]?: unknown }>(
  place: GuardrailPlace,
  ...lists: (readonly Guardrail[])[]
): Guardrail[] {
  return lists.flat().filter((guardrail) => guardrail[place] !== undefined)
}
