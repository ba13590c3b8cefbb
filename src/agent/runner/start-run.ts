import { InvalidOptionError, isSetupFault, ToolloopError } from '../../core/errors.ts'
import { Event, type StopReason } from '../../core/events.ts'
import { copyAsJson } from '../../core/json.ts'
import { type ChatMessage, textOf, withoutUndefined } from '../../core/messages.ts'
import { giveWay } from '../../core/time/give-way.ts'
import { checkedTools, type ToolSet } from '../../tools/registry.ts'
import type { AnyTool } from '../../tools/tool.ts'
import type { Durable } from '../journal/journal.ts'
import { type DecidedState, OwnSteps, type RecordPlace } from '../journal/own-steps.ts'
import { stoppedByGuardrail } from '../loop.ts'
import { composeLayers } from '../middleware.ts'
import type { MeasuredExecution } from '../observe/telemetry.ts'
import { activeTools, toToolSet } from '../options.ts'
import { openOutput, outputOf } from '../output/output.ts'
import { RunContext, type RunContextParts, type RunParent } from '../run/run-context.ts'
import { errorOf, returned } from '../run/run-error.ts'
import { type LoopState, openState } from '../run/run-state.ts'
import { endStep, startStep, traceStep, unreadStep } from '../step-keys.ts'
import { requestOf } from '../turn/model-turn.ts'
import type { Loop } from '../types/execution.ts'
import type { NestingPlace, OutputOptions, RunOptions, RunSettings } from '../types/options.ts'
import type { Ending } from '../types/recorded.ts'
import type { RunResult, RunState, ToolCallRecord } from '../types/result.ts'
import { type DurableInput, inputToJson } from './durable-run.ts'
import { compactAsBefore, type RunnerSessions } from './run-session.ts'
import type { Watch } from './run-stream.ts'

interface NewRun extends Omit<RunContextParts, 'tools' | 'runId' | 'output' | 'parent' | 'tap'>, Partial<Watch> {
  tools: readonly AnyTool[] | ToolSet
}

/**
 * Creates a run, which may be nested in another run. Throws `invalid_option` for an invalid option, and `too_deep` for a run that is nested
 * too deeply.
 */
export function openRun(parts: NewRun): RunContext {
  const { settings, model, limits, bus, logger, askModel, steerable, tap, left } = parts
  const tools = activeTools(checkedTools(toToolSet(parts.tools)), settings, logger)
  // The type of `settings` has no `output`, because only some callers can set it.
  const schema = (settings as Partial<OutputOptions>).output
  const output = schema === undefined ? undefined : openOutput(schema, tools)
  const parent = settings.parent === undefined ? undefined : parentOf(settings.parent, settings.forwardEvents === true)
  const run = new RunContext({
    runId: settings.runId,
    model,
    tools,
    limits,
    settings,
    bus,
    logger,
    tap,
    output,
    parent,
    askModel,
    steerable,
  })
  try {
    if (parent !== undefined) run.usable(model)
  } catch (error) {
    run.dispose()
    throw error
  }
  if (left !== undefined) run.follow(left)
  if (settings.parent !== undefined) run.follow(settings.parent.signal)
  return run
}

/**
 * Prepares the run's model. Rejects if the model is not set up. Does nothing if hooks or middleware may choose another model for each
 * request.
 */
export async function prepareModel(run: RunContext): Promise<void> {
  const { control } = run.settings
  if (run.interruption !== undefined || run.agent.callbacks.plan.requests.length > 0) return
  const model = control?.model ?? run.agent.model
  if (model.prepare === undefined) return
  try {
    await run.untilInterrupted(model.prepare())
  } catch (error) {
    // The model request reports all other errors, and may be retried.
    if (isSetupFault(error)) throw error
  }
}

/** Adds the options that a nested run takes from the outer call, unless its caller or its runner sets them. */
export function withParent<Context>(options: RunOptions<Context>, runner: RunSettings<Context>): RunOptions<Context> {
  const { parent, context = parent?.context } = options
  if (parent === undefined) return options
  const outer: RunSettings<never> = parent.run instanceof RunContext ? parent.run.settings : {}
  const approve = options.approve ?? runner.approve ?? (outer.approve as never)
  const telemetry = options.telemetry ?? runner.telemetry ?? outer.telemetry
  const effects = outer.effects === 'preview' ? outer.effects : (options.effects ?? runner.effects ?? outer.effects)
  return {
    ...options,
    ...withoutUndefined({ context, approve, telemetry, effects }),
  }
}

function parentOf(place: NestingPlace<never>, forwards: boolean): RunParent {
  const { run } = place
  if (!(run instanceof RunContext)) throw new InvalidOptionError('parent', 'what a tool, a hook or a guardrail is given in a run', run)
  const toolCallId = 'toolCallId' in place && typeof place.toolCallId === 'string' ? place.toolCallId : undefined
  const { depthLimit } = run
  if (run.depth >= depthLimit) {
    throw new ToolloopError('too_deep', `Expected runs to be nested at most ${depthLimit} levels deep (\`limits.depth\`)`)
  }
  return { run, toolCallId, forwards }
}

export interface ExecutionParts {
  loop: Loop
  run: RunContext
  input: DurableInput
  sessions: RunnerSessions
  /** The state to continue from. Default: the state at the start of the run. */
  state?: LoopState
  /** The place of the run's record, if the run is nested in a call of another run. */
  place?: RecordPlace | undefined
}

/**
 * Executes the run in this process. If the run pauses, its result has the `state` from which it can be continued. A run nested in a call is
 * continued from the record of that call instead.
 */
export async function executeHere(parts: ExecutionParts, recorded?: DecidedState): Promise<RunResult> {
  const { run, input, place } = parts
  const steps = new OwnSteps(run, place)
  if (recorded !== undefined) {
    steps.recall(recorded)
    run.keptResults.recall(recorded.kept)
  }
  const result = await execute(steps, parts)
  // An interrupted nested run can't be continued if it has a session, because the session has already stored its messages.
  if (place !== undefined && input.session !== undefined && run.interruption !== undefined) await place.record.spend()
  if (result.stopReason !== 'paused') return result
  const { pending } = result
  if (place !== undefined) {
    await place.record.pause(pending, steps.waits)
    return result
  }
  const { texts } = run.keptResults
  const kept = texts === undefined ? {} : { kept: copyAsJson(texts) as RunState['kept'] }
  return { ...result, state: { version: 1, runId: run.runId, input: inputToJson(input), pending, ...steps.recorded(), ...kept } }
}

/** Executes a run. Steps that are already recorded are not executed again. */
export function execute(durable: Durable, parts: ExecutionParts): Promise<RunResult> {
  const { run, input } = parts
  const { telemetry, agent, settings } = run
  const carryOut = () => executeSteps(durable, parts)
  if (telemetry === undefined) return carryOut()
  const { provider, model } = agent.model
  const { instructions, messages, given, session } = input
  const measured: MeasuredExecution = {
    provider,
    model,
    sampling: settings,
    session,
    isJson: agent.output !== undefined,
    instructions,
    input: messages.slice(given),
    record: (make) => durable.step(traceStep, make),
  }
  return telemetry.aroundExecution(measured, carryOut)
}

async function executeSteps(steps: Durable, parts: ExecutionParts): Promise<RunResult> {
  const { run, input, sessions, state: given } = parts
  const { recorder } = run
  run.keptResults.begin(steps)
  const { session: id, replaces } = input
  const session = id === undefined ? undefined : await sessions.open(steps, run, { id, replaces })
  const whole = withEarlier(input, session?.messages)
  const state = given ?? openState({ input: whole, run }, session?.messages)
  run.remembered = state.remembered
  if (session !== undefined) {
    const { healed, healing } = state.history
    if (healed) run.logger.warn({ runId: run.runId, session: input.session, ...healing }, 'the session was not valid and was repaired')
    if (session.compaction !== undefined) compactAsBefore(state.history, session.compaction)
  }
  const { provider, model } = run.agent.model
  let startedAt: number | undefined
  await steps.step(startStep, async () => {
    startedAt = performance.now()
    run.logStep(() => ({ provider, model }), 'run started')
    run.events.emit(Event.RUN_START, { provider, model, tools: run.agent.offered.names() }, { iteration: 0 })
    return null
  })
  const toResult = (durable: Durable) => runToResult(durable, parts, state)
  const result = await (recorder === undefined ? toResult(steps) : recorder.aroundExecution(run, inputToJson(whole), steps, toResult))
  await session?.close(result, state.history)
  await steps.step(endStep, async () => {
    const { stopReason, usage, iterations, error } = result
    // A process that has resumed the run doesn't know how long the run took.
    const duration = startedAt === undefined ? {} : { durationMs: performance.now() - startedAt }
    run.logStep(() => ({ stopReason, iterations, ...duration }), 'run ended')
    run.events.emit(
      Event.RUN_END,
      { stopReason, usage, iterations, ...withoutUndefined({ errorCode: error?.code }) },
      { iteration: iterations },
    )
    return null
  })
  return result
}

async function runToResult(durable: Durable, { loop, run, input }: ExecutionParts, state: LoopState): Promise<RunResult> {
  run.durable = durable
  // Yields to other runs, because thousands may start at once.
  await giveWay()
  const { session, refused } = input
  const compose = () => composeLayers(run, durable)
  run.lease?.begin()
  const { control } = run.settings
  if (control !== undefined) control.listens = true
  const request = requestOf(run.settings, run.signal, session)
  const ending =
    refused === undefined ? await loop({ durable, run, state, request, layers: compose(), compose }) : stoppedByGuardrail(refused)
  if (ending.stopReason === 'paused') state.unread = undefined
  else state.unread ??= await lastLook(durable, run)
  if (control !== undefined) control.listens = ending.stopReason === 'paused'
  return resultOf(state, ending, run)
}

/**
 * Returns the messages that were sent to the run and that it never read. They are recorded, because the run accepts no messages after this.
 */
async function lastLook(durable: Durable, run: RunContext): Promise<readonly ChatMessage[]> {
  const { control } = run.settings
  if (durable.survivesCrashes ? !run.steerable : control === undefined) return []
  return durable.step(unreadStep, async () => control?.end() ?? [])
}

/** Puts the messages of the run's session first. */
function withEarlier(input: DurableInput, earlier: readonly ChatMessage[] = []): DurableInput {
  return earlier.length === 0 ? input : { ...input, messages: [...earlier, ...input.messages], given: earlier.length }
}

/** Creates the result of the run from its state and from data that only this process has. */
function resultOf(state: LoopState, { stopReason, error, pending = [], output }: Ending, run: RunContext): RunResult {
  const { history, earlier, usage, iterations, steps, agent } = state
  const text = output === undefined ? state.text : textOf(output)
  const remembered = [...state.remembered].filter((key) => !run.settings.remembered?.includes(key))
  // The reason is not known here if the run was aborted in another process.
  const aborted = () => run.abortError ?? new ToolloopError('aborted', 'The run was aborted')
  return {
    runId: run.runId,
    output: text,
    text,
    messages: history.slice(),
    newMessages: history.slice(earlier),
    stopReason,
    usage,
    iterations,
    steps,
    toolCalls: withValues(state.toolCalls, run),
    pending,
    ...(remembered.length === 0 ? {} : { remembered }),
    ...(state.unread === undefined || state.unread.length === 0 ? {} : { unread: [...state.unread] }),
    ...withoutUndefined({ agent }),
    ...(stopReason === 'aborted' ? { error: aborted() } : error === undefined ? {} : { error: errorOf(run, error) }),
  } as RunResult
}

/** Adds the return values of the tools to the records. */
function withValues(records: readonly ToolCallRecord[], { values }: RunContext): ToolCallRecord[] {
  const calls: ToolCallRecord[] = []
  for (const record of records) calls.push(values.has(record.id) ? { ...record, value: values.get(record.id) } : record)
  return calls
}

const answeredAtLimit: ReadonlySet<StopReason> = new Set<StopReason>(['max_iterations', 'repeated_calls'])

/**
 * Returns the result for the caller. Its `output` is the value that the schema returns for the answer. Throws a `RunError` like `returned`.
 */
export async function conclude(result: RunResult, run: RunContext): Promise<RunResult<never>> {
  return returned(await withOutput(result, run), run.settings)
}

async function withOutput(result: RunResult, run: RunContext): Promise<RunResult<never>> {
  if (run.agent.output === undefined) return result as RunResult<never>
  const isAnswered = result.stopReason === 'answered' || (run.settings.onLimit === 'answer' && answeredAtLimit.has(result.stopReason))
  const answer = isAnswered ? await outputOf(run.agent.output, result.text, { timeoutMs: run.limits.toolTimeoutMs }) : undefined
  const ended = { ...result, output: answer?.value as never }
  if (ended.stopReason !== 'answered' || answer !== undefined) return ended
  // The run ended earlier, with another schema than the caller passes now.
  const error = new ToolloopError(
    'invalid_output',
    'Expected the answer to fit the schema of `output`, got one that was accepted by another schema',
  )
  return { ...ended, stopReason: 'model_error', error }
}
