import { type Awaitable, syncAnswer } from '../core/callbacks/callbacks.ts'
import type { EventBus, EventListener } from '../core/callbacks/event-bus.ts'
import { knownOptions } from '../core/check-options.ts'
import type { EventName } from '../core/events.ts'
import { AgentRunner } from './agent-runner.ts'
import type { Hooks, ModelTurn, ModelTurnChange, ToolEnding, ToolTurn, ToolTurnChange } from './callbacks/hooks.ts'
import type { AgentHistory } from './conversation/agent-history.ts'
import type { RecoveredRun, RecoverOptions, Runs } from './durable/runs.ts'
import { runnerOptions } from './options/runner-options.ts'
import { rulesOf } from './options.ts'
import type { AnswerOf, OutputSchema, PartialAnswerOf } from './output/output.ts'
import type { ActiveRun, CloseOptions } from './runner/active-runs.ts'
import { checkedArguments, type GivenToResume, type GivenToRun, restorable } from './runner/run-arguments.ts'
import type { RunStream } from './runner/run-stream.ts'
import type { PerformedRun, PerformRun } from './runner/runner-owner.ts'
import { ToolAgent } from './tool-agent.ts'
import type {
  AgentRules,
  Restored,
  ResumeOptions,
  RunInput,
  RunnerOptions,
  RunOptions,
  RunResult,
  RunSettings,
  RunState,
  RunToRestore,
} from './types/options.ts'
import type { AgentTools, FittingTools, ToolCallOf, ToolsFor } from './types/typed.ts'

/** The argument of `stopWhen`: the iteration, the requests and the messages so far. */
type StepState = Parameters<NonNullable<RunSettings['stopWhen']>>[0]

/**
 * Base class for agents written as classes. `run` drives the whole tool loop, `generate` asks for a single turn. Override the methods below
 * to change what the agent does. The methods receive everything that belongs to a run as arguments, so one agent can serve any number of
 * runs at once.
 *
 * ```ts
 * class Librarian extends CustomAgent {
 *   constructor() { super({ model: 'openai/gpt-6.1-sol', tools: [findBook], instructions: 'You know every book.' }) }
 * }
 * const { output } = await new Librarian().run('Who wrote Middlemarch?')
 * ```
 */
export abstract class CustomAgent<Context = unknown, Tools extends AgentTools = AgentTools> extends ToolAgent<Context> {
  readonly #runner: AgentRunner<Context>
  #ownHooks: Hooks<Context> | undefined

  constructor(options: RunnerOptions<Context, Tools> & FittingTools<Context>) {
    super(options)
    // Leaves out options that a subclass has added.
    const own = knownOptions(options, runnerOptions)
    const made: RunnerOptions<Context> = {
      ...own,
      model: this.model,
      models: undefined,
      fallbackOn: undefined,
      instructions: (input) => this.instructions(input),
      restore: (run) => this.restore(run),
    }
    this.#runner = new AgentRunner(restorable<Context, typeof made>(made), undefined, {
      warns: false,
      completeOptions: (given) => this.#withOwn(given),
      perform: (run, next) => (this.perform === undefined ? next() : this.perform(run, next)),
      history: () => this.history?.(),
    })
  }

  /** Receives the events of all runs. */
  get bus(): EventBus {
    return this.#runner.bus
  }

  /** The current work of this process. See `AgentRunner.active`. */
  get active(): ActiveRun[] {
    return this.#runner.active
  }

  /** The runs in the journal. See `AgentRunner.runs`. */
  get runs(): Runs {
    return this.#runner.runs
  }

  /**
   * Returns the tools of a run. Called when the run begins. If the run continues in another process, called again with the context from
   * `restore`. Default: the bound tools.
   *
   * Contract: not awaited. If it throws, the run rejects.
   */
  override tools(input: { context: Context }): ToolsFor<Context> {
    return super.tools(input)
  }

  /**
   * Returns the system prompt. Called when a run begins, before anything is sent. Default: `instructions` of the options.
   *
   * Contract: awaited. If it throws, the run rejects. Returning nothing means that there is no system prompt.
   */
  override instructions(input: { context: Context }): Awaitable<string | undefined> {
    return super.instructions(input)
  }

  /**
   * Supplies options that can't be stored, such as tools, when the journal continues a run, or `resume` gets fewer options than `run`. See
   * `restore` of a runner's options. Default: `restore` of the options.
   *
   * Contract: awaited. If it throws, the run is not executed and stays unchanged.
   */
  protected restore(run: RunToRestore): Awaitable<Restored<Context>> {
    return this.options.restore?.(run) ?? ({} as Restored<Context>)
  }

  /**
   * Wraps every run of the agent, including runs that a journal continues. Override it to act before and after a run. `next()` executes the
   * run, optionally with another input or other options.
   *
   * Contract: awaited. The return value becomes the result. If it throws, the run rejects.
   */
  protected perform?(run: PerformedRun<Context>, next: PerformRun<Context>): Promise<RunResult>

  /** Loads and saves conversations, for an agent that stores them itself. Default: `history` of the options. */
  protected history?(): AgentHistory<Context>

  /**
   * Called with each piece of visible text as it arrives.
   *
   * Contract: not awaited. If it throws, the run continues unchanged, and the error is logged once a run.
   */
  protected onText?(delta: string): void

  /**
   * Called before a tool's function runs, with valid arguments. May refuse the call, change its arguments or answer it.
   *
   * Contract: awaited. If it throws, the error is logged and the call is refused. Returning nothing lets the call run.
   */
  protected onToolCall?(call: ToolTurn<Context>): Awaitable<ToolTurnChange | undefined>

  /**
   * Called after a tool's function has run. May replace the content for the model.
   *
   * Contract: awaited. An error is logged and changes nothing. Returning nothing changes nothing.
   */
  protected onToolResult?(ending: ToolEnding<Context>): Awaitable<{ content: ToolEnding['content'] } | undefined>

  /**
   * Called with a request before it is sent. May change messages, tools, model and tool choice for this turn.
   *
   * Contract: awaited. An error is logged and changes nothing. Returning nothing changes nothing.
   */
  protected prepareTurn?(turn: ModelTurn<Context>): Awaitable<ModelTurnChange | undefined>

  /**
   * Called after the calls of a turn. Returning true ends the run with `stopped`, as `stopWhen` does. Default: `stopWhen` of the options.
   *
   * Contract: not awaited. If it throws, the error is logged, and the run continues.
   */
  protected shouldStop?(state: StepState): boolean

  /**
   * Runs until the model answers or a limit is reached. Uses the tools passed to this call or, if none are passed, the bound tools. See
   * `AgentRunner.run`.
   */
  run<const S extends OutputSchema = never, T extends AgentTools = Tools>(
    input: RunInput,
    ...options: GivenToRun<Context, T, S>
  ): Promise<RunResult<AnswerOf<S>, ToolCallOf<T>>>
  async run(input: RunInput, options: RunOptions<Context> = {}): Promise<RunResult> {
    return this.#runner.run(input, ...checkedArguments<Context, typeof options>(options))
  }

  /** Continues a run that ended `paused`. See `AgentRunner.resume`. */
  resume<const S extends OutputSchema = never, T extends AgentTools = Tools>(
    state: RunState | string | undefined,
    ...options: GivenToResume<Context, T, S>
  ): Promise<RunResult<AnswerOf<S>, ToolCallOf<T>>>
  async resume(state: RunState | string | undefined, options: ResumeOptions<Context> = {}): Promise<RunResult> {
    return this.#runner.resume(state, ...checkedArguments<Context, typeof options>(options))
  }

  /** Like `run`, as a stream. See `AgentRunner.stream`. */
  stream<const S extends OutputSchema = never, T extends AgentTools = Tools>(
    input: RunInput,
    ...options: GivenToRun<Context, T, S>
  ): RunStream<AnswerOf<S>, ToolCallOf<T>, PartialAnswerOf<S>>
  stream(input: RunInput, options: RunOptions<Context> = {}): RunStream {
    return this.#runner.stream(input, ...checkedArguments<Context, typeof options>(options))
  }

  /** Like `resume`, as a stream. See `AgentRunner.resumeStream`. */
  resumeStream<const S extends OutputSchema = never, T extends AgentTools = Tools>(
    state: RunState | string | undefined,
    ...options: GivenToResume<Context, T, S>
  ): RunStream<AnswerOf<S>, ToolCallOf<T>, PartialAnswerOf<S>>
  resumeStream(state: RunState | string | undefined, options: ResumeOptions<Context> = {}): RunStream {
    return this.#runner.resumeStream(state, ...checkedArguments<Context, typeof options>(options))
  }

  /** Continues every run in the journal that a process has left unfinished. See `AgentRunner.recover`. */
  async recover(options?: RecoverOptions): Promise<RecoveredRun[]> {
    return this.#runner.recover(options)
  }

  /** Stops accepting work, and waits for running work. See `AgentRunner.close`. */
  close(options?: CloseOptions): Promise<void> {
    return this.#runner.close(options)
  }

  /** Subscribes to one kind of event of all runs. Returns the function that unsubscribes. */
  on<K extends EventName>(name: K, listener: EventListener<K>): () => void {
    return this.#runner.on(name, listener)
  }

  /**
   * The hooks, guardrails and limits that wrap the agent's turns and calls. They come from the options and from the overridden methods.
   * They also apply after a `handoff` to this agent.
   */
  get handoffRules(): AgentRules<Context> {
    const { hooks, ...rules } = rulesOf(this.options)
    const own = this.#hooks()
    return {
      ...rules,
      ...(own === undefined ? { hooks } : { hooks: [...(hooks ?? []), own] }),
      ...(this.shouldStop === undefined ? {} : { stopWhen: this.#ownStop }),
    }
  }

  readonly #ownStop = (state: StepState): boolean => this.#stops(state, this.options.stopWhen)

  /** Adds the overridden methods to the options of a run. The agent's own hooks come last, inside all other hooks. */
  #withOwn(given: RunOptions<Context>): RunOptions<Context> {
    const { onText, context = given.parent?.context, stopWhen, hooks = this.options.hooks ?? [] } = given
    const own = this.#hooks()
    return {
      ...given,
      tools: given.tools ?? syncAnswer('tools', this.tools({ context: context as Context })),
      ...(own === undefined ? {} : { hooks: [...hooks, own] }),
      ...(this.shouldStop === undefined ? {} : { stopWhen: (state: StepState) => this.#stops(state, stopWhen) }),
      ...(this.onText === undefined ? {} : { onText: (delta: string) => this.#hear(delta, onText) }),
    }
  }

  /** Whether `stopWhen` or `shouldStop` returns true. If one of them fails, the other is still called. */
  #stops(state: StepState, stopWhen: RunSettings['stopWhen']): boolean {
    let failure: { error: unknown } | undefined
    for (const ask of [stopWhen, this.shouldStop]) {
      try {
        if (syncAnswer('stopWhen', ask?.call(this, state)) === true) return true
      } catch (error) {
        failure ??= { error }
      }
    }
    if (failure !== undefined) throw failure.error
    return false
  }

  /** Calls the agent's `onText` and the run's `onText`, even if one of them fails. */
  #hear(delta: string, onText: ((delta: string) => unknown) | undefined): unknown {
    if (onText === undefined) return this.onText?.(delta)
    if (this.onText === undefined) return onText(delta)
    const own = async () => this.onText?.(delta)
    const given = async () => onText(delta)
    return Promise.all([own(), given()])
  }

  /**
   * Returns the overridden methods as hooks. The object is always the same, so that these hooks are not added twice when a handoff returns
   * to this agent.
   */
  #hooks(): Hooks<Context> | undefined {
    this.#ownHooks ??= this.#makeHooks()
    return Object.keys(this.#ownHooks).length === 1 ? undefined : this.#ownHooks
  }

  #makeHooks(): Hooks<Context> {
    const own: Hooks<Context> = { name: this.constructor.name }
    if (this.prepareTurn !== undefined) own.beforeModel = (turn) => this.prepareTurn?.(turn)
    if (this.onToolCall !== undefined) own.beforeTool = (call) => this.onToolCall?.(call)
    if (this.onToolResult !== undefined) own.afterTool = (ending) => this.onToolResult?.(ending)
    return own
  }
}
