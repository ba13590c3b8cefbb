import { syncAnswer } from '../../core/callbacks/callbacks.ts'
import { InvalidOptionError, isSetupFault, ToolloopError } from '../../core/errors.ts'
import { hasToolCalls, isJsonObject, type Json } from '../../core/messages.ts'
import { checkOptionNames, type OptionNames } from '../../core/option-names.ts'
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
import { checkRunOptions } from '../option-names.ts'
import { toToolSet } from '../options.ts'
import { RunContext } from '../run/run-context.ts'
import { cutAnswerText } from '../told.ts'
import type { AgentRules, PendingItem, ResumeOptions, RunInput, RunOptions, RunResult, RunState } from '../types/options.ts'

/** An agent that can be run inside a tool call: an `AgentRunner` or a `CustomAgent`. */
export interface RunnableAgent<Context = unknown> {
  /** The hooks, guardrails and limits around its turns and calls. Their type tells the compiler which context they need. */
  readonly handoffRules?: AgentRules<Context>
  run(input: RunInput, options?: RunOptions<NoInfer<Context>>): Promise<RunResult>
  resume(state: RunState | string | undefined, options?: ResumeOptions<NoInfer<Context>>): Promise<RunResult>
}

/** Options of `asTool`. */
export interface AsToolOptions<Context = unknown, S = TaskSchema> {
  name: string
  /** What the agent is for: the model decides by it. */
  description: string
  /** Its arguments. Default: one text, `task`. */
  parameters?: S
  /** What the agent is given, made of the arguments. Default: `task`, or the arguments as JSON. */
  input?(args: TaskArgs<S>): RunInput
  /** What the model is given of the agent's result. Default: its output. */
  result?(result: RunResult): unknown
  /** Options of the agent's run, such as limits of its own. */
  options?: Omit<RunOptions<Context>, 'parent' | 'forwardEvents' | 'runId'>
  /** Whether the stream of the run outside has the agent's events too. Default false. */
  forwardEvents?: boolean
  /** Time limit of the agent's run in milliseconds. Default: none but the limits of the runs. */
  timeoutMs?: number
  /** What the agent does to the world. Default `'unsafe'`. */
  effect?: ToolEffect
  /** Whether a call needs an approval before the agent runs: true, or a predicate over the arguments. Default false. See `Tool.approval`. */
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
 * Makes an agent a tool of another agent. Its run draws on the budget of the run it is called in, ends with it, asks the same `approve`
 * where it has none of its own, and its usage is added to the call and to that run's result. Hooks and guardrails are its own. One that
 * does not come to an answer is a failed call, and the model is told how it ended.
 *
 * If the agent pauses, the run outside pauses with it: the agent's items are among its `pending`, each with a `path`, and are decided like any other.
 */
// No default for `S`: see `defineTool`.
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
          // One call, one run: whatever `input` makes of the arguments when the call is made again.
          return conclude(
            await agent.run(syncAnswer('input', input(args as TaskArgs<S>)), { ...nested, runId: ctx.idempotencyKey }),
            options,
          )
        } catch (error) {
          throw endedOutside(error, ctx)
        }
      }
      try {
        // What it began with is recorded.
        const { messages: _messages, session: _session, instructions: _instructions, ...again } = nested
        const from = paused.state ?? paused.runId
        return conclude(await agent.resume(from, { ...again, decisions: decisionsIn(ctx.answer) }), options)
      } catch (error) {
        // Decisions that can't be carried out have changed nothing: they are asked for again, or the agent's run would be lost.
        if (!(error instanceof InvalidOptionError)) throw endedOutside(error, ctx)
        return questionOf({ ...paused, problem: error.message })
      }
    },
  }) as Tool<Context>
  const { tools } = options.options ?? {}
  return Object.assign(tool, { runs: tools === undefined ? agent : { tools: toToolSet(tools) } })
}

/** The error of a run inside a call. If a key or package is missing, no model can put that right: the run outside ends with the error. */
export function endedOutside(error: unknown, { run }: Pick<ToolContext<never>, 'run'>): unknown {
  const isMissing = isSetupFault(error) && error.code !== 'invalid_option'
  if (isMissing && run instanceof RunContext) run.interrupt('aborted', error)
  return error
}

/** The arguments of a call: the task, where the agent says nothing of its own. */
type TaskArgs<S> = IsAnySchema<S> extends true ? ArgsOf<TaskSchema> : ArgsOf<S>

/** The same as the model gives them. */
type TaskInput<S> = IsAnySchema<S> extends true ? InputOf<TaskSchema> : InputOf<S>

/** The arguments of an agent that says nothing of its own. */
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

function conclude(result: RunResult, { name, result: show }: Pick<AsToolOptions<never>, 'name' | 'result'>): unknown {
  const { runId, stopReason, output, text, error, pending, state } = result
  if (stopReason === 'paused') return questionOf({ agent: name, runId, pending, state })
  if (stopReason === 'answered' || stopReason === 'stopped' || answeredAtLimit(result)) return show === undefined ? output : show(result)
  if (stopReason === 'truncated') throw new Error(cutAnswerText(`the agent \`${name}\``, text))
  const said = text === '' ? '' : ` It had come to: ${text}`
  throw new Error(`The agent \`${name}\` ended without an answer (${stopReason})${error === undefined ? '.' : `: ${error.message}`}${said}`)
}

/** With `onLimit: 'answer'` a run ends by its limit and has an answer all the same: its last message is one. */
function answeredAtLimit({ stopReason, error, messages }: RunResult): boolean {
  const last = messages.at(-1)
  const isLimit = stopReason === 'max_iterations' || stopReason === 'repeated_calls'
  return isLimit && error === undefined && last?.role === 'assistant' && !hasToolCalls(last)
}

/** An agent inside a call that waits for decisions. */
export interface PausedAgent {
  agent: string
  runId: string
  pending: PendingItem[]
  /** Only if the run is not recorded with the call. */
  state?: RunState
  /** Why it asks again. */
  problem?: string
}

/** What the call asks for then: decisions on its items. */
export function questionOf(about: PausedAgent): Question {
  return ask({ about: JSON.parse(JSON.stringify(about)), schema: decisionsSchema })
}

const decisionsSchema: JsonSchema = {
  type: 'object',
  properties: { decisions: { type: 'array', items: { type: 'object' } } },
  required: ['decisions'],
}

/** The agent that has asked with `questionOf`. What was asked comes from the run's record: nobody else has written it. */
export function pausedIn(asked: Json | undefined): PausedAgent | undefined {
  const isOne = isJsonObject(asked) && typeof asked.agent === 'string' && typeof asked.runId === 'string' && Array.isArray(asked.pending)
  return isOne ? (asked as never) : undefined
}

/** What was answered to `questionOf`. */
export function decisionsIn(answer: Json | undefined): readonly Decision[] {
  return isJsonObject(answer) && Array.isArray(answer.decisions) ? (answer.decisions as never) : []
}
