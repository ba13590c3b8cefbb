import { type EventListener, type EventName, isThenable } from '../core/events.ts'
import { knownOptions } from '../core/option-names.ts'
import type { ToolSet } from '../tools/registry.ts'
import { AgentRunner } from './agent-runner.ts'
import type { Hooks, ModelTurn, ModelTurnChange, ToolEnding, ToolTurn, ToolTurnChange } from './hooks/hooks.ts'
import { runnerOptionNames } from './option-names.ts'
import { toToolSet } from './options.ts'
import type { AnswerOf, OutputSchema, PartialAnswerOf } from './output/output.ts'
import type { RunStream } from './run/run-stream.ts'
import { ToolAgent } from './tool-agent.ts'
import { type AgentTools, checkedArguments, type FittingTools, type RunArguments, type ToolCallOf, type ToolsFor } from './typed.ts'
import type { OutputOptions, ResumeOptions, RunInput, RunnerOptions, RunOptions, RunResult, RunSettings, RunState } from './types.ts'

type Awaitable<T> = T | Promise<T>
type StepState = Parameters<NonNullable<RunSettings['stopWhen']>>[0]

/**
 * The class to subclass for an agent of your own: `run` drives the whole tool loop, `generate` asks for a single turn. Override what should
 * be different; each of the methods below does nothing by itself, and says when it is called, who waits for it, and what happens when it
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

  constructor(options: RunnerOptions<Context, Tools> & FittingTools<Context>) {
    super(options)
    const instructions = (input: { context: Context }) => this.instructions(input)
    // What each run is given besides is here as well for those that a journal takes up again.
    // Without what a subclass has added.
    const own = knownOptions(options, runnerOptionNames)
    const made = {
      ...own,
      model: this.model,
      tools: toolsOf(() => toToolSet(this.tools({ context: undefined as Context }))),
      instructions,
      ...this.#overrides({}),
    }
    this.#runner = new AgentRunner<Context>(made, undefined, { warns: false })
  }

  /**
   * The tools of a run, asked for when it begins, and with a `context` that is undefined for a run that a journal takes up again by itself. Not
   * awaited. Throwing rejects the run; `stream` throws it. Default: the bound ones.
   */
  override tools(input: { context: Context }): ToolsFor<Context> {
    return super.tools(input)
  }

  /** The system prompt, made when a run begins, before anything is sent. Awaited. Throwing rejects the run. Default: `instructions` of the options. */
  override instructions(input: { context: Context }): Awaitable<string | undefined> {
    return super.instructions(input)
  }

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
    ...options: RunArguments<Context, RunOptions<Context, T> & FittingTools<Context> & Partial<OutputOptions<S>>>
  ): Promise<RunResult<AnswerOf<S>, ToolCallOf<T>>>
  async run(input: RunInput, options: RunOptions<Context> = {}): Promise<RunResult> {
    return this.#runner.run(input, ...this.#withOwn(options))
  }

  /** Goes on with a run that ended `paused`. See `AgentRunner.resume`. */
  resume<const S extends OutputSchema = never, T extends AgentTools = Tools>(
    state: RunState | string | undefined,
    ...options: RunArguments<Context, ResumeOptions<Context, T> & FittingTools<Context> & Partial<OutputOptions<S>>>
  ): Promise<RunResult<AnswerOf<S>, ToolCallOf<T>>>
  async resume(state: RunState | string | undefined, options: ResumeOptions<Context> = {}): Promise<RunResult> {
    return this.#runner.resume(state, ...this.#withOwn(options))
  }

  /** The same run, to be watched as it goes. See `AgentRunner.stream`. */
  stream<const S extends OutputSchema = never, T extends AgentTools = Tools>(
    input: RunInput,
    ...options: RunArguments<Context, RunOptions<Context, T> & FittingTools<Context> & Partial<OutputOptions<S>>>
  ): RunStream<AnswerOf<S>, ToolCallOf<T>, PartialAnswerOf<S>>
  stream(input: RunInput, options: RunOptions<Context> = {}): RunStream {
    return this.#runner.stream(input, ...this.#withOwn(options))
  }

  /** Goes on with a run that ended `paused`, to be watched as it goes. See `AgentRunner.resumeStream`. */
  resumeStream<const S extends OutputSchema = never, T extends AgentTools = Tools>(
    state: RunState | string | undefined,
    ...options: RunArguments<Context, ResumeOptions<Context, T> & FittingTools<Context> & Partial<OutputOptions<S>>>
  ): RunStream<AnswerOf<S>, ToolCallOf<T>, PartialAnswerOf<S>>
  resumeStream(state: RunState | string | undefined, options: ResumeOptions<Context> = {}): RunStream {
    return this.#runner.resumeStream(state, ...this.#withOwn(options))
  }

  /** Subscribes to one kind of event of all runs; returns the function that unsubscribes. */
  on<K extends EventName>(name: K, listener: EventListener<K>): () => void {
    return this.#runner.on(name, listener)
  }

  /** The options of a run with what is overridden here, where the run's own would replace it. */
  #withOwn<O extends Omit<RunOptions<Context>, 'messages' | 'runId' | 'session'>>(options: O): RunArguments<Context, O> {
    const { onText, context = options.parent?.context } = options
    const hears = this.onText !== undefined || onText !== undefined
    return checkedArguments({
      ...options,
      ...this.#overrides(options),
      tools: options.tools ?? this.tools({ context: context as Context }),
      ...(hears ? { onText: (delta: string) => this.#hear(delta, onText) } : {}),
    })
  }

  /** The agent's hooks are the innermost, around nothing but the loop. */
  #overrides({ hooks = this.options.hooks ?? [], stopWhen }: RunSettings<Context>): Pick<RunSettings<Context>, 'hooks' | 'stopWhen'> {
    const own = this.#hooks()
    return {
      ...(own === undefined ? {} : { hooks: [...hooks, own] }),
      ...(this.shouldStop === undefined ? {} : { stopWhen: (state: StepState) => this.#stops(state, stopWhen) }),
    }
  }

  /** Whether either says so. A promise, which is no answer, is passed on for it to be reported, whatever the types say. */
  #stops(state: StepState, stopWhen: RunSettings['stopWhen']): boolean {
    const given = stopWhen?.(state) ?? false
    if (given === true) return true
    // The agent's own is asked all the same, and a rejection that nobody hears would end the process.
    if (isThenable(given)) given.then(undefined, () => {})
    const own = this.shouldStop?.(state) ?? false
    return own === true || isThenable(own) ? own : given
  }

  /** Each of the two hears it, whatever becomes of the other; what they throw or reject with is the caller's to report. */
  #hear(delta: string, onText: ((delta: string) => unknown) | undefined): unknown {
    if (onText === undefined) return this.onText?.(delta)
    if (this.onText === undefined) return onText(delta)
    const own = async () => this.onText?.(delta)
    const given = async () => onText(delta)
    return Promise.all([own(), given()])
  }

  #hooks(): Hooks<Context> | undefined {
    const own: Hooks<Context> = { name: this.constructor.name }
    if (this.prepareTurn !== undefined) own.beforeModel = (turn) => this.prepareTurn?.(turn)
    if (this.onToolCall !== undefined) own.beforeTool = (call) => this.onToolCall?.(call)
    if (this.onToolResult !== undefined) own.afterTool = (ending) => this.onToolResult?.(ending)
    return Object.keys(own).length === 1 ? undefined : own
  }
}

/** The agent's tools as they are when they are looked up: for runs that a journal takes up again, which no one has given their tools. */
function toolsOf(tools: () => ToolSet): ToolSet {
  return {
    get size() {
      return tools().size
    },
    get: (name) => tools().get(name),
    names: () => tools().names(),
    list: () => tools().list(),
    getAllSpecs: () => tools().getAllSpecs(),
    hidden: () => tools().hidden?.() ?? [],
    opened: (call) => tools().opened?.(call),
    searchable: () => tools().searchable?.(),
  }
}
