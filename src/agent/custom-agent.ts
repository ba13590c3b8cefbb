import { type Awaitable, syncAnswer } from '../core/callbacks/callbacks.ts'
import type { EventBus, EventListener } from '../core/callbacks/event-bus.ts'
import type { EventName } from '../core/events.ts'
import { knownOptions } from '../core/option-names.ts'
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

type StepState = Parameters<NonNullable<RunSettings['stopWhen']>>[0]

/**
 * Base class for agents written as classes. `run` drives the whole tool loop, `generate` asks for a single turn. Override what should be
 * different; each of the methods below does nothing by itself, and says when it is called, who waits for it, and what happens when it
 * throws. All of them are called with what belongs to one run, so that one agent serves any number of runs at once.
 *
 * ```ts
 * class Librarian extends CustomAgent {
 *   constructor() { super({ model: 'openai/gpt-5.2', tools: [findBook], instructions: 'You know every book.' }) }
 * }
 * const { output } = await new Librarian().run('Who wrote Middlemarch?')
 * ```
 */
export abstract class CustomAgent<Context = unknown, Tools extends AgentTools = AgentTools> extends ToolAgent<Context> {
  readonly #runner: AgentRunner<Context>
  #ownHooks: Hooks<Context> | undefined

  constructor(options: RunnerOptions<Context, Tools> & FittingTools<Context>) {
    super(options)
    // Without what a subclass has added.
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

  /** Where the events of all runs go. */
  get bus(): EventBus {
    return this.#runner.bus
  }

  /** What goes on here. See `AgentRunner.active`. */
  get active(): ActiveRun[] {
    return this.#runner.active
  }

  /** The runs in the journal. See `AgentRunner.runs`. */
  get runs(): Runs {
    return this.#runner.runs
  }

  /**
   * The tools of a run, asked for when it begins, and again when it continues in another process, with the context that `restore` supplies. Not
   * awaited. Throwing rejects the run. Default: the bound ones.
   */
  override tools(input: { context: Context }): ToolsFor<Context> {
    return super.tools(input)
  }

  /** The system prompt, made when a run begins, before anything is sent. Awaited. Throwing rejects the run. Default: `instructions` of the options. */
  override instructions(input: { context: Context }): Awaitable<string | undefined> {
    return super.instructions(input)
  }

  /**
   * Supplies what a run was started with, when it continues without its caller: see `restore` of a runner's options. Awaited. Throwing leaves the
   * run where it is. Default: `restore` of the options.
   */
  protected restore(run: RunToRestore): Awaitable<Restored<Context>> {
    return this.options.restore?.(run) ?? ({} as Restored<Context>)
  }

  /**
   * Every run of the agent passes here: those that `run`, `stream`, `resume` and `resumeStream` begin, and those that a journal continues by itself.
   * Override it for what is to happen before and after a run. `next()` carries the run out, as it is or with another input or other options.
   * Awaited; what it returns is the result. Throwing rejects the run.
   */
  protected perform?(run: PerformedRun<Context>, next: PerformRun<Context>): Promise<RunResult>

  /** For an agent that keeps its conversations itself: how they are loaded and saved. Default: `history` of the options. */
  protected history?(): AgentHistory<Context>

  /** A piece of visible text, as it arrives. Not awaited. Throwing is logged once a run and changes nothing. */
  protected onText?(delta: string): void

  /** Called before a tool's function runs, with valid arguments. Awaited. May refuse the call, change or answer it. Throwing refuses it, and is logged. */
  protected onToolCall?(call: ToolTurn<Context>): Awaitable<ToolTurnChange | undefined>

  /** A call whose function has run. Awaited; may replace what the model is given. Throwing is logged and changes nothing. */
  protected onToolResult?(ending: ToolEnding<Context>): Awaitable<{ content: ToolEnding['content'] } | undefined>

  /** A request before it is sent. Awaited; may change messages, tools, model and tool choice for this turn. Throwing is logged and changes nothing. */
  protected prepareTurn?(turn: ModelTurn<Context>): Awaitable<ModelTurnChange | undefined>

  /**
   * After the calls of a turn; true ends the run with `stopped`, as `stopWhen` of the run does. Throwing is logged and means false. Default:
   * `stopWhen` of the options.
   */
  protected shouldStop?(state: StepState): boolean

  /** Runs until the model answers or a bound is reached. Tools: those of this call, else the bound ones. See `AgentRunner.run`. */
  run<const S extends OutputSchema = never, T extends AgentTools = Tools>(
    input: RunInput,
    ...options: GivenToRun<Context, T, S>
  ): Promise<RunResult<AnswerOf<S>, ToolCallOf<T>>>
  async run(input: RunInput, options: RunOptions<Context> = {}): Promise<RunResult> {
    return this.#runner.run(input, ...checkedArguments<Context, typeof options>(options))
  }

  /** Goes on with a run that ended `paused`. See `AgentRunner.resume`. */
  resume<const S extends OutputSchema = never, T extends AgentTools = Tools>(
    state: RunState | string | undefined,
    ...options: GivenToResume<Context, T, S>
  ): Promise<RunResult<AnswerOf<S>, ToolCallOf<T>>>
  async resume(state: RunState | string | undefined, options: ResumeOptions<Context> = {}): Promise<RunResult> {
    return this.#runner.resume(state, ...checkedArguments<Context, typeof options>(options))
  }

  /** The same run, to be watched as it goes. See `AgentRunner.stream`. */
  stream<const S extends OutputSchema = never, T extends AgentTools = Tools>(
    input: RunInput,
    ...options: GivenToRun<Context, T, S>
  ): RunStream<AnswerOf<S>, ToolCallOf<T>, PartialAnswerOf<S>>
  stream(input: RunInput, options: RunOptions<Context> = {}): RunStream {
    return this.#runner.stream(input, ...checkedArguments<Context, typeof options>(options))
  }

  /** Goes on with a run that ended `paused`, to be watched as it goes. See `AgentRunner.resumeStream`. */
  resumeStream<const S extends OutputSchema = never, T extends AgentTools = Tools>(
    state: RunState | string | undefined,
    ...options: GivenToResume<Context, T, S>
  ): RunStream<AnswerOf<S>, ToolCallOf<T>, PartialAnswerOf<S>>
  resumeStream(state: RunState | string | undefined, options: ResumeOptions<Context> = {}): RunStream {
    return this.#runner.resumeStream(state, ...checkedArguments<Context, typeof options>(options))
  }

  /** Takes up every run in the journal that a process has left unfinished. See `AgentRunner.recover`. */
  async recover(options?: RecoverOptions): Promise<RecoveredRun[]> {
    return this.#runner.recover(options)
  }

  /** Starts nothing any more, waits, and lets go of what is left. See `AgentRunner.close`. */
  close(options?: CloseOptions): Promise<void> {
    return this.#runner.close(options)
  }

  /** Subscribes to one kind of event of all runs; returns the function that unsubscribes. */
  on<K extends EventName>(name: K, listener: EventListener<K>): () => void {
    return this.#runner.on(name, listener)
  }

  /** The hooks, guardrails and limits around its turns and calls, also after a `handoff` to it: the overridden methods, and those of the options. */
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

  /** What a run is given, with what is overridden here. The agent's hooks are the innermost, around nothing but the loop. */
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

  /** Whether either says so. If one fails, the other is asked all the same. */
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

  /** Each of the two hears it, whatever becomes of the other; what they throw or reject with is the caller's to report. */
  #hear(delta: string, onText: ((delta: string) => unknown) | undefined): unknown {
    if (onText === undefined) return this.onText?.(delta)
    if (this.onText === undefined) return onText(delta)
    const own = async () => this.onText?.(delta)
    const given = async () => onText(delta)
    return Promise.all([own(), given()])
  }

  /** The same object each time: a conversation that comes back to the agent has its hooks once. */
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
