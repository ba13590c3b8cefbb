import { callUnawaited, syncAnswer } from '../core/callbacks/callbacks.ts'
import { checkOptionNames, type OptionNames } from '../core/check-options.ts'
import { messageOf, ToolArgumentsError } from '../core/errors.ts'
import { defaultLogger, type Logger } from '../core/logger.ts'
import { type MessageInput, toChatMessages } from '../core/message-input.ts'
import { type AIMessage, type JsonObject, withoutUndefined } from '../core/messages.ts'
import { type ChatModel, type ModelRequest, type ModelSink, type Sampling, samplingNames, type ToolChoice } from '../models/chat-model.ts'
import { innerArguments, parseArguments } from '../tools/arguments.ts'
import { checkedTools, ToolRegistry, type ToolSet } from '../tools/registry.ts'
import { coerceArguments } from '../tools/schema/coerce.ts'
import { parametersOf } from '../tools/schema/schema.ts'
import type { AnyTool } from '../tools/tool.ts'
import { History } from './conversation/history.ts'
import { toMessages } from './conversation/run-input.ts'
import { activeTools, checkRunnerOptions, checkSettings, mergeOptions, toModel, toToolSet, warnOfDeprecated } from './options.ts'
import { openTextCalls } from './text-calls/load-text-calls.ts'
import { chooseCallForm } from './text-calls/mode.ts'
import type { ReadCall, ReadResponse } from './text-calls/read-call.ts'
import type { TextCalls } from './text-calls/text-calls.ts'
import { requestOf, setTools, takeResponse } from './turn/model-turn.ts'
import type { RunInput, RunnerOptions } from './types/options.ts'
import type { ToolsFor } from './types/typed.ts'

/** Options of one turn. The defaults are the agent's options. */
export interface GenerateOptions extends Sampling {
  /** Tools for this turn only. They replace the bound tools. */
  tools?: readonly AnyTool[]
  toolChoice?: ToolChoice
  parallelToolCalls?: boolean
  /** `false`: requests a whole response. Default true. */
  stream?: boolean
  /** Maximum silence in the model's stream, in milliseconds. Default 60,000. */
  streamIdleTimeoutMs?: number
  /** Maximum time without an event in a model's stream, in milliseconds. Comments and pings are not events. Default 600,000. */
  streamStallTimeoutMs?: number
  /** Fields that are copied unchanged into the request body. */
  providerOptions?: JsonObject
  signal?: AbortSignal
  /** The conversation so far. */
  messages?: readonly MessageInput[]
  /**
   * Called with text as it arrives.
   *
   * Contract: not awaited. If it throws or rejects, the error is logged once, and the turn continues.
   */
  onText?(delta: string): void
}

const generateOptionNames: OptionNames<GenerateOptions> = {
  ...samplingNames,
  tools: true,
  toolChoice: true,
  parallelToolCalls: true,
  stream: true,
  signal: true,
  messages: true,
  onText: true,
  providerOptions: true,
  streamIdleTimeoutMs: true,
  streamStallTimeoutMs: true,
}

/** A model with tools bound to it, asked one turn at a time. It returns calls without running them. */
export class ToolAgent<Context = unknown> {
  protected readonly options: RunnerOptions<Context>
  readonly #model: ChatModel
  #textCalls: Promise<TextCalls> | undefined
  #tools: ToolSet

  constructor(options: RunnerOptions<Context>) {
    checkRunnerOptions(options, '`ToolAgent`', new.target !== ToolAgent)
    this.options = options
    this.#model = toModel(options)
    checkSettings(options, this.#model)
    warnOfDeprecated(this.#model, options.logger)
    this.#tools = toToolSet(options.tools)
  }

  get model(): ChatModel {
    return this.#model
  }

  /** The tools that the next turn sends. Default: the bound tools. */
  tools(_input?: { context: Context }): ToolsFor<Context> {
    return this.#tools
  }

  /** The system prompt. Default: the options' `instructions`. */
  instructions(input: { context: Context }): string | undefined | Promise<string | undefined> {
    const { instructions } = this.options
    return typeof instructions === 'function' ? instructions(input) : instructions
  }

  /** Replaces the bound tools. Sends no request. With `[]` the model gets no tools and answers in text. */
  bindTools(tools: readonly AnyTool[]): this {
    this.#tools = new ToolRegistry(tools)
    return this
  }

  /**
   * Asks the model once, with the agent's options. Limits, hooks, guardrails and callbacks of the options apply only to whole runs. Rejects
   * with `ToolArgumentsError` if the arguments of a call are not a JSON object, with `ModelError` if the provider failed, and with
   * `invalid_message`.
   */
  async generate(input: RunInput, options: GenerateOptions = {}): Promise<AIMessage> {
    checkOptionNames(options, generateOptionNames, '`generate`')
    const { tools: ownTools, messages = [], signal, ...given } = options
    const onText = options.onText && loggedOnText(options.onText, this.options.logger)
    const settings = mergeOptions(this.options, given)
    const none = { context: undefined as Context }
    const prompt = await this.instructions(none)
    const history = new History([...toChatMessages(messages), ...toMessages(input)], prompt)
    const registry = activeTools(checkedTools(toToolSet(ownTools ?? syncAnswer('tools', this.tools(none)))), settings, this.options.logger)
    const request: ModelRequest = { ...requestOf(settings, signal), messages: history.messages }
    setTools(request, settings, registry, settings.toolChoice)
    const sink: ModelSink | undefined = onText === undefined ? undefined : { text: onText }
    const exchange = (await this.#openTextCalls())?.open(request, sink)
    const sent = exchange?.request ?? request
    const answer = await this.#model.generate(sent, exchange === undefined ? sink : exchange.sink)
    const response = takeResponse(answer, this.#model, sent)
    const { text, toolCalls, finishReason, usage, providerData }: ReadResponse = exchange?.finish(response) ?? response
    // A single turn runs no tools, so text that follows a call is reported at once.
    for (const { textAfter } of toolCalls) if (textAfter !== undefined) onText?.(textAfter)
    return {
      role: 'assistant',
      content: text,
      toolCalls: history.withUniqueIds(toolCalls).map((call) => toParsedCall(call, registry)),
      finishReason: toolCalls.length > 0 && finishReason === 'stop' ? 'tool_calls' : finishReason,
      ...withoutUndefined({ usage, providerData }),
    }
  }

  /** Opens the reader of text calls. Undefined if the model makes native calls. */
  async #openTextCalls(): Promise<TextCalls | undefined> {
    const form = chooseCallForm(this.options, this.#model)
    if (form.native) return undefined
    this.#textCalls ??= openTextCalls(form, { ...this.options, unreadable: 'text' })
    return this.#textCalls
  }
}

function loggedOnText(onText: (delta: string) => void, logger: Logger = defaultLogger): (delta: string) => void {
  let hasFailed = false
  const report = (error: unknown) => {
    if (!hasFailed) logger.error({ error: messageOf(error) }, 'onText threw; the turn continues')
    hasFailed = true
  }
  return (text) => callUnawaited(() => onText(text), report)
}

function toParsedCall({ id, function: { name, arguments: raw }, asText }: ReadCall, registry: ToolSet): AIMessage['toolCalls'][number] {
  const parsed = parseArguments(asText ? raw : (innerArguments(raw) ?? raw))
  if (!parsed.ok) throw new ToolArgumentsError(name, raw, parsed.problem)
  const tool = asText ? registry.get(name) : undefined
  return { id, name, arguments: tool === undefined ? parsed.args : coerceArguments(parsed.args, parametersOf(tool)) }
}
