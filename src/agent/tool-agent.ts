import { ToolArgumentsError } from '../errors.ts'
import type { AIMessage, ChatMessage } from '../messages.ts'
import { type ChatModel, type ModelRequest, type ModelSink, type Sampling, samplingNames, type ToolChoice } from '../models/model.ts'
import { checkOptionNames, type OptionNames } from '../option-names.ts'
import { parseArguments } from '../tools/arguments.ts'
import { coerceArguments } from '../tools/coerce.ts'
import { parametersOf } from '../tools/json-schema.ts'
import { ToolRegistry, type ToolSet } from '../tools/registry.ts'
import type { AnyTool } from '../tools/tool.ts'
import { chooseCallForm, openTextCalls } from './call-form.ts'
import { History } from './history.ts'
import { checkRunnerOptionNames } from './option-names.ts'
import { checkSettings, toMessages, toModel, toToolSet, warnOfDeprecated } from './options.ts'
import type { RunInput, RunnerOptions } from './run.ts'
import type { TextCalls } from './text-calls.ts'
import type { ReadCall, ReadResponse } from './text-reading.ts'

export interface GenerateOptions extends Sampling {
  /** Tools of this call alone; they win over bound ones. */
  tools?: readonly AnyTool[]
  toolChoice?: ToolChoice
  parallelToolCalls?: boolean
  /** False: asks for one whole response. Default true. */
  stream?: boolean
  signal?: AbortSignal
  /** The conversation so far. */
  messages?: readonly ChatMessage[]
  /** Text as it arrives. */
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
}

/** A model with tools bound to it, asked one turn at a time: it says which tools it wants called, and calls none itself. */
export class ToolAgent<Context = unknown> {
  protected readonly options: RunnerOptions<Context>
  readonly #model: ChatModel
  #textCalls: Promise<TextCalls> | undefined
  #tools: ToolSet

  constructor(options: RunnerOptions<Context>) {
    checkRunnerOptionNames(options, '`ToolAgent`', new.target !== ToolAgent)
    this.options = options
    this.#model = toModel(options)
    checkSettings(options, this.#model)
    warnOfDeprecated(this.#model, options.logger)
    this.#tools = toToolSet(options.tools)
  }

  get model(): ChatModel {
    return this.#model
  }

  /** The tools the next turn is sent. */
  get tools(): ToolSet {
    return this.#tools
  }

  /** The system prompt. Default: the options' `instructions`. */
  instructions(input: { context: Context }): string | undefined | Promise<string | undefined> {
    const { instructions } = this.options
    return typeof instructions === 'function' ? instructions(input) : instructions
  }

  /** Replaces the bound tools; sends nothing. With `[]` the model is sent no tools and answers in text. */
  bindTools(tools: readonly AnyTool[]): this {
    this.#tools = new ToolRegistry(tools)
    return this
  }

  /**
   * Asks the model once; limits, hooks, guardrails and callbacks of the options are for whole runs. Rejects with `ToolArgumentsError` when the arguments of a call are not a JSON object, and with `ModelError`
   * when the provider failed.
   */
  async generate(input: RunInput, options: GenerateOptions = {}): Promise<AIMessage> {
    checkOptionNames(options, generateOptionNames, '`generate`')
    const { tools: ownTools, messages = [], onText, signal, toolChoice, parallelToolCalls, stream, ...sampling } = options
    const prompt = await this.instructions({ context: undefined as Context })
    const history = new History([...messages, ...toMessages(input)], prompt)
    const registry = toToolSet(ownTools ?? this.tools)
    const request: ModelRequest = { messages: history.messages, ...sampling }
    if (signal !== undefined) request.signal = signal
    if (stream !== undefined) request.stream = stream
    if (registry.size > 0) {
      request.tools = registry.getAllSpecs()
      const choice = toolChoice ?? this.options.toolChoice
      if (choice !== undefined) request.toolChoice = choice
      if (parallelToolCalls !== undefined) request.parallelToolCalls = parallelToolCalls
    }
    const sink: ModelSink | undefined = onText === undefined ? undefined : { text: onText }
    const exchange = (await this.#openTextCalls())?.open(request, sink)
    const response = await this.#model.generate(exchange?.request ?? request, exchange === undefined ? sink : exchange.sink)
    const { text, toolCalls, providerData }: ReadResponse = exchange?.finish(response) ?? response
    // No tool runs here that the text behind a call could wait for.
    for (const { textAfter } of toolCalls) if (textAfter !== undefined) onText?.(textAfter)
    const parsed = history.withUniqueIds(toolCalls).map((call) => toParsedCall(call, registry))
    return { role: 'assistant', content: text, toolCalls: parsed, ...(providerData === undefined ? {} : { providerData }) }
  }

  /** One turn is what the model calls, not what it writes about: tags beside native calls are for the loop. */
  async #openTextCalls(): Promise<TextCalls | undefined> {
    const form = chooseCallForm(this.options, this.#model)
    if (form.native) return undefined
    this.#textCalls ??= openTextCalls(form, { ...this.options, unreadable: 'text' })
    return this.#textCalls
  }
}

function toParsedCall({ id, function: { name, arguments: raw }, asText }: ReadCall, registry: ToolSet): AIMessage['toolCalls'][number] {
  const parsed = parseArguments(raw)
  if (!parsed.ok) throw new ToolArgumentsError(name, raw, parsed.problem)
  const tool = asText ? registry.get(name) : undefined
  return { id, name, arguments: tool === undefined ? parsed.args : coerceArguments(parsed.args, parametersOf(tool)) }
}
