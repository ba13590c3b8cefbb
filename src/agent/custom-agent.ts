import type { EventListener, EventName } from '../events.ts'
import type { RunState } from './paused-run.ts'
import type { ResumeOptions, RunInput, RunnerOptions, RunOptions, RunResult } from './run.ts'
import type { RunStream } from './run-stream.ts'
import { AgentRunner } from './runner.ts'
import { ToolAgent } from './tool-agent.ts'

/**
 * The class to subclass for an agent of your own: `run` drives the whole tool loop, `generate` asks for a single turn.
 *
 * ```ts
 * class Librarian extends CustomAgent {
 *   constructor() { super({ model: 'openai/gpt-5.2', tools: [findBook], instructions: 'You know every book.' }) }
 * }
 * const { output } = await new Librarian().run('Who wrote Middlemarch?')
 * ```
 */
export abstract class CustomAgent<Context = unknown> extends ToolAgent<Context> {
  readonly #runner: AgentRunner<Context>

  constructor(options: RunnerOptions<Context>) {
    super(options)
    this.#runner = new AgentRunner({ ...options, model: this.model, tools: this.tools })
  }

  /** Runs until the model answers or a bound is reached. Tools: those of this call, else the bound ones. See `AgentRunner.run`. */
  run(input: RunInput, options: RunOptions<Context> = {}): Promise<RunResult> {
    return this.#runner.run(input, { tools: this.tools, ...options })
  }

  /** Goes on with a run that ended `paused`. See `AgentRunner.resume`. */
  resume(state: RunState | undefined, options: ResumeOptions<Context> = {}): Promise<RunResult> {
    return this.#runner.resume(state, { tools: this.tools, ...options })
  }

  /** The same run, to be watched as it goes. See `AgentRunner.stream`. */
  stream(input: RunInput, options: RunOptions<Context> = {}): RunStream {
    return this.#runner.stream(input, { tools: this.tools, ...options })
  }

  /** Subscribes to one kind of event of all runs; returns the function that unsubscribes. */
  on<K extends EventName>(name: K, listener: EventListener<K>): () => void {
    return this.#runner.on(name, listener)
  }
}
