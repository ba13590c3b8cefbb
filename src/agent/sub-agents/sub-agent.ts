import { syncAnswer } from '../../core/callbacks/callbacks.ts'
import { checkOptionNames, type OptionNames } from '../../core/check-options.ts'
import { InvalidOptionError, isSetupFault, ToolloopError } from '../../core/errors.ts'
import { hasToolCalls, isJsonObject, type Json, withoutUndefined } from '../../core/messages.ts'
import type { ArgsOf, InputOf, IsAnySchema, ParametersSchema } from '../../tools/schema/infer.ts'
import type { WrittenSchema } from '../../tools/schema/written-schema.ts'
import {
  type ApprovalContext,
  ask,
  defineTool,
  type JsonSchema,
  type Question,
  type Tool,
  type ToolContext,
  type ToolEffect,
} from '../../tools/tool.ts'
import type { Decision } from '../decisions/decisions.ts'
import { checkRunOptions, toToolSet } from '../options.ts'
import { RunContext } from '../run/run-context.ts'
import { cutAnswerText } from '../run-texts.ts'
import type { AgentRules, PendingItem, ResumeOptions, RunInput, RunOptions, RunResult, RunState } from '../types/options.ts'

/** An agent that can run inside a tool call: an `AgentRunner` or a `CustomAgent`. */
export interface RunnableAgent<Context = unknown> {
  /** The hooks, guardrails and limits that wrap the agent's turns and calls. Their type tells the compiler which context they need. */
  readonly handoffRules?: AgentRules<Context>
  run(input: RunInput, options?: RunOptions<NoInfer<Context>>): Promise<RunResult>
  resume(state: RunState | string | undefined, options?: ResumeOptions<NoInfer<Context>>): Promise<RunResult>
}

/** Options of `asTool`. */
export interface AsToolOptions<Context = unknown, S = TaskSchema> {
  name: string
  /** Describes the purpose of the agent. The model uses this text to decide when to call the tool. */
  description: string
  /** The parameters of the tool. Default: one text, `task`. */
  parameters?: S
  /**
   * Makes the agent's input from the arguments. Default: `task`, or the arguments as JSON.
   *
   * Contract: not awaited. Throwing fails the call.
   */
  input?(args: TaskArgs<S>): RunInput
  /**
   * Converts the agent's result to the content for the model. Default: the `output` of the result.
   *
   * Contract: throwing fails the call.
   */
  result?(result: RunResult): unknown
  /** Options of the agent's run, such as its own limits. */
  options?: Omit<RunOptions<Context>, 'parent' | 'forwardEvents' | 'runId'>
  /** Whether the stream of the outer run includes the agent's events. Default false. */
  forwardEvents?: boolean
  /** Time limit of the agent's run, in milliseconds. Default: no limit besides the limits of the two runs. */
  timeoutMs?: number
  /** The effect of the agent's run. Default `'unsafe'`. */
  effect?: ToolEffect
  /**
   * Whether a call needs an approval before the agent runs: either true, or a function of the arguments. Default false. See
   * `Tool.approval`.
   */
  approval?: boolean | ((args: TaskInput<S>, ctx: ApprovalContext<Context>) => boolean | Promise<boolean>)
}

const asToolOptionNames: OptionNames<AsToolOptions> = {
  name: true,
  description: true,
  parameters: true,
  input: true,
  result: true,
  options: true,
  forwardEvents: true,
  timeoutMs: true,
  effect: true,
  approval: true,
}

/**
 * Makes an agent available to another agent as a tool. The agent's run draws on the budget of the outer run, and ends when the outer run
 * ends. Without its own `approve`, it uses the `approve` of the outer run. Its usage is added to the call and to the outer result. The
 * agent keeps its own hooks and guardrails. If its run ends without an answer, the call fails and the model is told how the run ended.
 *
 * If the agent pauses, the outer run pauses with it. The `pending` of the outer run includes the agent's items, each with a `path`. Decide
 * them like other items.
 */
// `S` has no default, for the same reason as in `defineTool`.
export function asTool<const S extends ParametersSchema, Context = unknown>(
  agent: RunnableAgent<Context>,
  options: AsToolOptions<Context, S> & { parameters?: NoInfer<WrittenSchema<S>> },
): Tool<Context> {
  if (typeof agent?.run !== 'function')
    throw new ToolloopError('invalid_tool', 'Expected `asTool` to be given an AgentRunner or a CustomAgent')
  checkOptionNames(options, asToolOptionNames, '`asTool`')
  checkRunOptions(options.options ?? {}, 'options')
  const {
    name,
    description,
    parameters = taskOnly as ParametersSchema,
    input = taskOf as (args: TaskArgs<S>) => RunInput,
    forwardEvents = false,
    effect,
    approval,
  } = options
  const { timeoutMs = Number.POSITIVE_INFINITY } = options
  const tool = defineTool({
    name,
    description,
    parameters,
    timeoutMs,
    effect,
    approval: approval as never,
    execute: async (args: unknown, ctx: ToolContext<Context>): Promise<unknown> => {
      const nested: RunOptions<Context> = { ...options.options, parent: ctx, forwardEvents }
      const paused = pausedIn(ctx.asked)
      if (paused === undefined) {
        try {
          // If the call runs again, it continues this run, even if `input` then returns something else.
          return conclude(
            await agent.run(syncAnswer('input', input(args as TaskArgs<S>)), { ...nested, runId: ctx.idempotencyKey }),
            options,
            ctx,
          )
        } catch (error) {
          throw endedOutside(error, ctx)
        }
      }
      try {
        // These options are left out, because the run that is resumed has recorded them.
        const { messages: _messages, session: _session, instructions: _instructions, ...again } = nested
        const from = paused.state ?? paused.runId
        return conclude(await agent.resume(from, { ...again, decisions: decisionsIn(ctx.answer) }), options, ctx)
      } catch (error) {
        // Invalid decisions have no effect. The call asks for them again, because otherwise the agent's run would be lost.
        if (!(error instanceof InvalidOptionError)) throw endedOutside(error, ctx)
        return questionOf({ ...paused, problem: error.message })
      }
    },
  }) as Tool<Context>
  const { tools } = options.options ?? {}
  return Object.assign(tool, { runs: tools === undefined ? agent : { tools: toToolSet(tools) } })
}

/** Returns the error of a nested run. If an API key or a package is missing, also ends the outer run, because the model can't fix that. */
export function endedOutside(error: unknown, { run }: Pick<ToolContext<never>, 'run'>): unknown {
  const isMissing = isSetupFault(error) && error.code !== 'invalid_option'
  if (isMissing && run instanceof RunContext) run.interrupt('aborted', error)
  return error
}

/** The arguments of a call: `task`, unless the agent has its own parameters. */
type TaskArgs<S> = IsAnySchema<S> extends true ? ArgsOf<TaskSchema> : ArgsOf<S>

/** The arguments as the model writes them. */
type TaskInput<S> = IsAnySchema<S> extends true ? InputOf<TaskSchema> : InputOf<S>

/** The parameters of an agent tool that declares no parameters: one text, `task`. */
type TaskSchema = typeof taskOnly

const taskOnly = {
  type: 'object',
  properties: { task: { type: 'string', description: 'What the agent is to do, with all it needs to know: it sees nothing else.' } },
  required: ['task'],
  additionalProperties: false,
} as const

function taskOf(args: unknown): RunInput {
  return isJsonObject(args) && typeof args.task === 'string' ? args.task : JSON.stringify(args)
}

function conclude(
  result: RunResult,
  { name, result: show }: Pick<AsToolOptions<never>, 'name' | 'result'>,
  { run }: Pick<ToolContext<never>, 'run'>,
): unknown {
  const { runId, stopReason, output, text, error, pending, state } = result
  if (stopReason === 'paused') return questionOf({ agent: name, runId, pending, state }, hasNoted(result, run) ? text : undefined)
  if (stopReason === 'answered' || stopReason === 'stopped' || answeredAtLimit(result)) return show === undefined ? output : show(result)
  if (stopReason === 'truncated') throw new Error(cutAnswerText(`the agent \`${name}\``, text))
  const said = text === '' ? '' : ` It had come to: ${text}`
  throw new Error(`The agent \`${name}\` ended without an answer (${stopReason})${error === undefined ? '.' : `: ${error.message}`}${said}`)
}

/** Whether a run ended at a limit with an answer, as it does with `onLimit: 'answer'`. */
function answeredAtLimit({ stopReason, error, messages }: RunResult): boolean {
  const last = messages.at(-1)
  const isLimit = stopReason === 'max_iterations' || stopReason === 'repeated_calls'
  return isLimit && error === undefined && last?.role === 'assistant' && !hasToolCalls(last)
}

/** A nested agent that waits for decisions. */
export interface PausedAgent {
  agent: string
  runId: string
  pending: PendingItem[]
  /** The state to resume the run from. Absent if the run is recorded with the call. */
  state?: RunState
  /** The problem with the earlier decisions. Set if the agent asks for them again. */
  problem?: string
}

/**
 * Creates the question of a call whose agent has paused. The question asks for decisions on the agent's items. `meanwhile`: the text that
 * the model gets until the agent's planned calls run.
 */
export function questionOf(about: PausedAgent, meanwhile?: string): Question {
  const question = ask({ about: JSON.parse(JSON.stringify(about)), schema: decisionsSchema })
  return Object.assign(question, withoutUndefined({ meanwhile }))
}

/** Whether a nested run waits only for calls that were planned in a preview of the outer run. */
export function hasNoted({ pending }: Pick<RunResult, 'pending'>, outer: unknown): boolean {
  return outer instanceof RunContext && outer.settings.effects === 'preview' && pending.every(({ plan }) => plan !== undefined)
}

const decisionsSchema: JsonSchema = {
  type: 'object',
  properties: { decisions: { type: 'array', items: { type: 'object' } } },
  required: ['decisions'],
}

/**
 * Returns the paused agent from a question that `questionOf` created. The question comes from the run's own record, so its contents are not
 * validated.
 */
export function pausedIn(asked: Json | undefined): PausedAgent | undefined {
  const isOne = isJsonObject(asked) && typeof asked.agent === 'string' && typeof asked.runId === 'string' && Array.isArray(asked.pending)
  return isOne ? (asked as never) : undefined
}

/** The decisions in the answer to a question that `questionOf` created. */
export function decisionsIn(answer: Json | undefined): readonly Decision[] {
  return isJsonObject(answer) && Array.isArray(answer.decisions) ? (answer.decisions as never) : []
}
