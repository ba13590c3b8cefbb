import { randomUUID } from 'node:crypto'
import { AgentRunner } from '../agent/agent-runner.ts'
import { runOptions } from '../agent/options/run-options.ts'
import { runnerOptions } from '../agent/options/runner-options.ts'
import { toToolSet } from '../agent/options.ts'
import { checkedArguments, restorable } from '../agent/runner/run-arguments.ts'
import type { RunInput, RunnerOptions, RunOptions, RunResult } from '../agent/types/options.ts'
import type { RunArguments } from '../agent/types/typed.ts'
import { syncAnswer } from '../core/callbacks/callbacks.ts'
import type { EventBus, EventListener } from '../core/callbacks/event-bus.ts'
import { checkMistypedNames, checkOptionNames, knownOptions, type OptionNames } from '../core/check-options.ts'
import { InvalidOptionError } from '../core/errors.ts'
import { Event, type EventName } from '../core/events.ts'
import { hasToolCalls, textOf, withoutUndefined } from '../core/messages.ts'
import type { ChatModel } from '../models/chat-model.ts'
import { findPreset, providerNames } from '../models/presets.ts'
import { isToolSet, type ToolSet } from '../tools/registry.ts'
import { type SentenceOptions, SentenceSplitter } from './sentence-splitter.ts'
import { LiveSpeech, Speaker } from './speech.ts'

interface SpeechSettings {
  /**
   * Whether to publish the text of every turn as it arrives, including text that the model writes before it calls tools. If false, a
   * pipeline with tools publishes only the final text, when it is complete. Without tools, text is always published as it arrives. Default:
   * false.
   */
  speakInterim?: boolean
}

/** The options of a pipeline: the options of a runner, and settings for speech. */
export interface PipelineOptions<Context = unknown> extends RunnerOptions<Context>, SpeechSettings {
  /** How the text is split into sentences. */
  sentences?: SentenceOptions
}

/** The options of one call of `generate`. */
export interface PipelineRunOptions<Context = unknown> extends RunOptions<Context>, SpeechSettings {}

export const pipelineOptionNames: OptionNames<PipelineOptions> = { ...runnerOptions, speakInterim: true, sentences: true }
const pipelineRunOptionNames: OptionNames<PipelineRunOptions> = { ...runOptions, speakInterim: true }

/**
 * Produces answers for voice output. Runs the tool loop if tools are bound and streams one answer otherwise. Publishes what the model says
 * as `LLM_SENTENCE`, one event per sentence, ready for text-to-speech. It stores no conversation: pass an earlier result's `messages` back.
 *
 * ```ts
 * const pipeline = new LLMPipeline({ model: 'openai/gpt-6.1-sol' })
 * pipeline.setToolRegistry(new ToolRegistry([weather]))
 * pipeline.on(Event.LLM_SENTENCE, ({ text }) => voice.speak(text))
 * await pipeline.generate('Do I need an umbrella?', { signal })
 * ```
 *
 * Works with any model. Subclasses adapt the behavior to their provider. `createPipeline` chooses the class that fits the model.
 */
export class LLMPipeline<Context = unknown> {
  readonly #runner: AgentRunner<Context>
  readonly #stream: boolean | undefined
  readonly #onCut: RunOptions['onCut']
  readonly #speakInterim: boolean
  readonly #splitter: SentenceSplitter
  readonly #liveSpeech: LiveSpeech
  #registry: ToolSet | null

  /** Throws the errors of the `AgentRunner` constructor, and `invalid_option` for invalid `sentences`. */
  constructor(all: PipelineOptions<Context>) {
    // A subclass may add options of its own, so only mistyped names are refused.
    const check = new.target === LLMPipeline || new.target === AnthropicPipeline ? checkOptionNames : checkMistypedNames
    check(all, pipelineOptionNames, '`LLMPipeline`')
    const { speakInterim = false, sentences, tools, ...options } = all
    const own = knownOptions(options, runnerOptions)
    this.#runner = new AgentRunner<Context>(restorable<Context, typeof own>(own))
    this.#stream = options.stream
    this.#onCut = options.onCut
    this.#speakInterim = speakInterim
    this.#splitter = new SentenceSplitter(sentences)
    this.#liveSpeech = new LiveSpeech(this.bus)
    this.#registry = tools === undefined ? null : toToolSet(tools)
  }

  /** The bus for the events of all runs, sentences included. */
  get bus(): EventBus {
    return this.#runner.bus
  }

  /** Subscribes to one kind of event of all runs. Returns a function that unsubscribes. */
  on<K extends EventName>(name: K, listener: EventListener<K>): () => void {
    return this.bus.on(name, listener)
  }

  /** Binds tools for the following calls of `generate`. `null` removes the tools. A run in progress keeps its tools. */
  setToolRegistry(registry: ToolSet | null): void {
    if (registry !== null && !isToolSet(registry)) throw new InvalidOptionError('registry', 'a ToolRegistry or null', registry)
    this.#registry = registry
  }

  /** Whether the bound registry has a tool at the moment. */
  hasTools(): boolean {
    return holdsTools(this.#registry)
  }

  /**
   * Runs once, like `AgentRunner.run`, and publishes the sentences of the answer. The promise settles after the last sentence. Tools given
   * here replace the bound tools.
   *
   * An abort stops the speech at once, even during an answer. The unfinished sentence of an aborted or failed response is not published.
   * Final text that was not published as it arrived (see `speakInterim`) is published after `RUN_END`. Subscribe before calling `generate`,
   * or sentences may be missed.
   */
  generate(input: RunInput, ...options: RunArguments<Context, PipelineRunOptions<Context>>): Promise<RunResult>
  async generate(input: RunInput, all: PipelineRunOptions<Context> = {}): Promise<RunResult> {
    checkOptionNames(all, pipelineRunOptionNames, '`generate`')
    const { speakInterim = this.#speakInterim, ...options } = all
    const registry = options.tools === undefined ? this.#registry : toToolSet(options.tools)
    const hasTools = holdsTools(registry)
    const {
      runId = `run_${randomUUID()}`,
      stream = this.#stream ?? syncAnswer('streamsByDefault', this.streamsByDefault(hasTools)),
      signal,
    } = options
    const splitter = new SentenceSplitter(this.#splitter)
    const speaker = new Speaker({ bus: this.bus, runId, splitter, signal })
    const isHeld = hasTools && !speakInterim
    const isLive = !isHeld && this.bus.hasListeners(Event.LLM_SENTENCE)
    const unfollow = isLive ? this.#liveSpeech.follow(speaker) : undefined
    // Spoken text can't be retracted. If a response is cut off, the answer therefore ends at the cut.
    const { onCut = this.#onCut ?? (isLive ? 'end' : undefined) } = options
    try {
      const result = await this.#runner.run(
        input,
        ...checkedArguments<Context, RunOptions<Context>>({
          ...options,
          runId,
          stream,
          tools: registry ?? [],
          ...withoutUndefined({ onCut }),
        }),
      )
      if (isHeld) {
        speaker.say(finalText(result), result.iterations)
        speaker.finish(result.iterations)
      }
      return result
    } finally {
      unfollow?.()
    }
  }

  /** The current model. */
  protected get model(): ChatModel {
    return this.#runner.model
  }

  /**
   * Whether to stream responses if the option `stream` is set neither for the pipeline nor for the call. Default: true.
   *
   * Contract: called once by each `generate`, synchronously. If it throws, `generate` rejects.
   */
  protected streamsByDefault(_hasTools: boolean): boolean {
    return true
  }
}

/**
 * A pipeline for the Messages API. With tools, it requests complete responses unless `stream: true` is set. After a `switchableModel` is
 * switched to a provider with another API, the pipeline streams.
 */
export class AnthropicPipeline<Context = unknown> extends LLMPipeline<Context> {
  protected override streamsByDefault(hasTools: boolean): boolean {
    return !hasTools || isServedBy(this.model, 'anthropic') === false
  }
}

/** Whether the model's provider has the driver `driver` in `config/providers.yaml`. Undefined for a custom model. */
export function isServedBy({ provider }: ChatModel, driver: string): boolean | undefined {
  return providerNames().includes(provider) ? findPreset(provider).driver === driver : undefined
}

function holdsTools(registry: ToolSet | null): boolean {
  return registry !== null && registry.getAllSpecs().length > 0
}

/**
 * Returns the model's answer, including one that was requested at a limit, or its refusal. Returns `''` for a run that ended in any other
 * way, because its last text is not final or not complete.
 */
function finalText({ newMessages, stopReason, error }: RunResult): string {
  if (stopReason === 'aborted' || stopReason === 'deadline' || (error !== undefined && error.code !== 'refusal')) return ''
  const last = newMessages.at(-1)
  return last?.role === 'assistant' && !hasToolCalls(last) ? textOf(last.content) : ''
}
