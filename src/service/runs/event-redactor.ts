import type { RunResult } from '../../agent/types.ts'
import { Event, type EventMeta, type RunEvent } from '../../core/events.ts'
import { REDACTED, redact, redactText, secretTexts } from '../../core/logger.ts'
import {
  type ChatMessage,
  type Content,
  hasToolCalls,
  isJsonObject,
  isToolResult,
  type Json,
  type JsonObject,
} from '../../core/messages.ts'
import { SecretTexts } from '../../core/secret-texts.ts'
import type { AnyTool } from '../../tools/tool.ts'
import { Pauses } from '../../tools/yield-to-event-loop.ts'
import { hiddenParts } from '../hidden-arguments.ts'
import { hideSecretValues } from './json-secrets.ts'
import { StreamedText } from './streamed-text.ts'

type TextDelta = Extract<RunEvent, { type: 'TEXT_DELTA' | 'REASONING_DELTA' }>
type InputDelta = Extract<RunEvent, { type: 'TOOL_INPUT_DELTA' }>

/** What of one run, or of one that is made inside it, has not been shown yet. */
interface Held {
  texts: Map<TextDelta['type'], { text: StreamedText; meta: EventMeta }>
  /** Calls the model is writing, by their index in the response. */
  inputs: Map<number, { tool: string; json: string; meta: EventMeta }>
}

/** Fields of events that this package fills: never hidden, whatever a secret may be. */
const ownFields = new Set([
  'type',
  'meta',
  'kind',
  'toolCallId',
  'fingerprint',
  'place',
  'stopReason',
  'finishReason',
  'errorCode',
  'usage',
])

/**
 * Takes the secrets out of one run's events and result: values under secret-looking names, under the names a tool lists in `secrets`,
 * and every later text that quotes such a value. The pieces of a call's arguments are held back and given out as one, because no
 * secret can be told from a piece; so is the end of a text that may be the beginning of a secret.
 */
export class EventRedactor {
  /** Of tools that have some. */
  readonly #secretKeys = new Map<string, ReadonlySet<string>>()
  /** Values seen so far that must not be shown. */
  readonly #secrets: SecretTexts
  readonly #held = new Map<string, Held>()
  /** Of a result that is being cleaned, by tool: texts as they may be shown. Most are in it several times, and may be megabytes. */
  #hidden: Map<string, Map<string, string>> | undefined

  /** `secrets`: values known already. */
  constructor(tools: Iterable<AnyTool>, secrets: Iterable<string> = []) {
    for (const { name, secrets: keys = [] } of tools) if (keys.length > 0) this.#secretKeys.set(name, new Set(keys))
    this.#secrets = new SecretTexts(secrets)
  }

  get secrets(): SecretTexts {
    return this.#secrets
  }

  /** The events to show for `event`, in order: none while a call's arguments are being collected, or a text's end is held back. */
  redact(event: RunEvent): RunEvent[] {
    const held = this.#heldOf(event.meta.runId)
    switch (event.type) {
      case Event.TOOL_INPUT_START:
        held.inputs.set(event.index, { tool: event.tool, json: '', meta: event.meta })
        return [event]
      case Event.TOOL_INPUT_DELTA: {
        const input = held.inputs.get(event.index) ?? { tool: '', json: '', meta: event.meta }
        held.inputs.set(event.index, { ...input, json: input.json + event.json })
        return []
      }
      case Event.TEXT_DELTA:
      case Event.REASONING_DELTA:
        return this.#takeText(event, held)
      default:
        // A call that is written as text may begin before the text around it has ended.
        return [...this.#takeInputs(held), ...(endsText(event) ? this.#endTexts(event.meta.runId, held) : []), this.#clean(event)]
    }
  }

  /** Arguments as they may be shown. Remembers their secrets. */
  redactArguments(tool: string, args: JsonObject): JsonObject {
    this.#learn(tool, args)
    return this.#hideArguments(tool, args)
  }

  /** A text as it may be shown: without what looks like a key and without any secret seen so far. */
  redactText(text: string): string {
    return redactText(text, this.#secrets)
  }

  /** A result for a dump: without secrets, and without the values tools returned. It may be megabytes: others get their turn in between. */
  async redactResult(result: RunResult, pauses: Pauses = new Pauses()): Promise<Record<string, unknown> & { pending: object[] }> {
    // Secrets are learned from the calls of this run alone: what a client says was called before teaches nothing.
    for (const { tool, args, rawArguments } of result.toolCalls) {
      if (args === undefined) this.#learnText(rawArguments)
      else this.#learn(tool, args)
      await pauses.take()
    }
    this.#hidden = new Map()
    try {
      return await this.#cleanResult(result, pauses)
    } finally {
      this.#hidden = undefined
    }
  }

  async #cleanResult(result: RunResult, pauses: Pauses): Promise<Record<string, unknown> & { pending: object[] }> {
    const hide = (text: string) => this.redactText(text)
    const inTurn = async <T, U>(list: readonly T[], clean: (item: T) => U): Promise<U[]> => {
      const cleaned: U[] = []
      for (const item of list) {
        await pauses.take()
        cleaned.push(clean(item))
      }
      return cleaned
    }
    return {
      ...resultAsJson(result),
      text: hide(result.text),
      output: redact(result.output, undefined, this.#secrets),
      messages: await inTurn(result.messages, (message) => this.#cleanMessage(message)),
      newMessages: await inTurn(result.newMessages, (message) => this.#cleanMessage(message)),
      toolCalls: await inTurn(result.toolCalls, ({ value: _value, args, ...call }) => ({
        ...call,
        ...(args === undefined ? {} : { args: this.#hideArguments(call.tool, args) }),
        rawArguments: this.#hideJson(call.tool, call.rawArguments),
        content: this.#cleanContent(call.content, call.tool),
      })),
      pending: await inTurn(result.pending, (item) => {
        const shown = this.#cleanFields(item)
        const hidden = hiddenParts(item, shown)
        return hidden.length === 0 ? shown : { ...shown, hidden }
      }),
      steps: result.steps.map((step) => ({ ...step, warnings: step.warnings.map(hide) })),
      ...(result.error === undefined ? {} : { error: { code: result.error.code, message: hide(result.error.message) } }),
    }
  }

  #heldOf(runId: string): Held {
    const known = this.#held.get(runId)
    if (known !== undefined) return known
    const held: Held = { texts: new Map(), inputs: new Map() }
    this.#held.set(runId, held)
    return held
  }

  #takeText(event: TextDelta, { texts }: Held): RunEvent[] {
    const { text } = texts.get(event.type) ?? { text: new StreamedText(this.#secrets) }
    texts.set(event.type, { text, meta: event.meta })
    const shown = text.add(event.text)
    return shown === '' ? [] : [{ ...event, text: shown }]
  }

  *#endTexts(runId: string, { texts }: Held): Iterable<TextDelta> {
    for (const [type, { text, meta }] of texts) {
      const shown = text.end()
      if (shown !== '') yield { type, meta, text: shown }
    }
    this.#held.delete(runId)
  }

  *#takeInputs({ inputs }: Held): Iterable<InputDelta> {
    for (const [index, { tool, json, meta }] of inputs) {
      if (json !== '') yield { type: Event.TOOL_INPUT_DELTA, meta, index, json: this.#takeJson(tool, json) }
    }
    inputs.clear()
  }

  #clean(event: RunEvent): RunEvent {
    if (event.type === Event.TOOL_CALL_START) return { ...event, args: this.redactArguments(event.tool, event.args) }
    if (event.type === Event.TOOL_CALL_END) return { ...event, result: this.#hideResult(event.result, event.tool) }
    if (event.type === Event.TOOL_CALL_REJECTED) {
      const { tool } = event
      const args = typeof event.args === 'string' ? this.#takeJson(tool, event.args) : this.redactArguments(tool, event.args)
      return { ...event, tool: this.redactText(tool), args, error: this.redactText(event.error) }
    }
    return this.#cleanFields(event)
  }

  /** Of events and pending items: without the secrets in what others have written. */
  #cleanFields<T extends object>(item: T): T {
    const tool = 'tool' in item && typeof item.tool === 'string' ? item.tool : ''
    const fields = Object.entries(item).map(([name, field]): [string, unknown] => {
      if (ownFields.has(name)) return [name, field]
      if (name === 'args') return [name, this.redactArguments(tool, field)]
      if (name === 'update' && typeof field === 'string') return [name, this.#hideResult(field, tool)]
      return [name, redact(field, name === 'update' ? this.#keysOf(tool) : undefined, this.#secrets)]
    })
    return Object.fromEntries(fields) as T
  }

  #cleanMessage(message: ChatMessage): ChatMessage {
    const clean = { ...message, content: this.#cleanContent(message.content, isToolResult(message) ? (message.name ?? '') : undefined) }
    if ('providerData' in clean && clean.providerData !== undefined)
      clean.providerData = redact(clean.providerData, undefined, this.#secrets) as never
    if (!hasToolCalls(message)) return clean as ChatMessage
    const toolCalls = message.toolCalls.map((call) => {
      const { name, arguments: json } = call.function
      return { ...call, function: { name, arguments: this.#hideJson(name, json) } }
    })
    return { ...clean, toolCalls } as ChatMessage
  }

  /** `tool`: whose result it is; undefined: it is none. */
  #cleanContent(content: Content, tool: string | undefined): Content {
    const hide = (text: string) =>
      tool === undefined ? this.#once('text', text, () => this.redactText(text)) : this.#hideResult(text, tool)
    if (typeof content === 'string') return hide(content)
    return content.map((part) =>
      part.type === 'text' ? { ...part, text: hide(part.text) } : (redact(part, undefined, this.#secrets) as typeof part),
    )
  }

  #hideResult(text: string, tool: string): string {
    return this.#once(`result of ${tool}`, text, () => this.redactText(hideSecretValues(text, this.#keysOf(tool))))
  }

  #once(kind: string, text: string, hide: () => string): string {
    const known = this.#hidden?.get(kind)?.get(text)
    if (known !== undefined) return known
    const shown = hide()
    const texts = this.#hidden?.get(kind) ?? new Map<string, string>()
    this.#hidden?.set(kind, texts.set(text, shown))
    return shown
  }

  #hideArguments(tool: string, args: JsonObject): JsonObject {
    return redact(args, this.#keysOf(tool), this.#secrets) as JsonObject
  }

  /** Arguments in JSON. Of what is not JSON nothing is shown: there is no telling where a secret begins in it. */
  #hideJson(tool: string, json: string): string {
    return this.#once(`arguments of ${tool}`, json, () => this.#hideParsed(tool, json, argumentsIn(json)))
  }

  /** `args`: what the text says; undefined: it is not JSON. */
  #hideParsed(tool: string, json: string, args: Json | undefined): string {
    if (isJsonObject(args)) return JSON.stringify(this.#hideArguments(tool, args))
    if (args === null || typeof args === 'boolean') return json
    return json === '' ? '' : `${REDACTED} (${json.length} characters that are not a JSON object)`
  }

  /** The same, and its secrets are known from then on. */
  #takeJson(tool: string, json: string): string {
    const args = argumentsIn(json)
    if (isJsonObject(args)) this.#learn(tool, args)
    else if (args !== null && typeof args !== 'boolean') this.#learnText(json)
    return this.#hideParsed(tool, json, args)
  }

  #learn(tool: string, args: JsonObject): void {
    if (this.#secrets.isFull) return
    for (const secret of secretTexts(args, this.#keysOf(tool))) this.#secrets.add(secret)
  }

  /** An error quotes no more than the beginning of arguments that could not be read. */
  #learnText(json: string): void {
    if (json.length >= 3) this.#secrets.add(json)
  }

  #keysOf(tool: string): ReadonlySet<string> {
    return this.#secretKeys.get(tool) ?? noKeys
  }
}

const noKeys: ReadonlySet<string> = new Set()

/** After it, nothing more is added to the texts of its model's response. */
function endsText({ type }: RunEvent): boolean {
  return type === Event.MODEL_END || type === Event.RUN_END || type === Event.MODEL_START
}

/** Undefined: it is not JSON, as a model's arguments sometimes are not. */
function argumentsIn(json: string): Json | undefined {
  try {
    return JSON.parse(json)
  } catch {
    return undefined
  }
}

/** A result as plain JSON: the error as its code and message, without the values tools returned, which need not be JSON. */
export function resultAsJson({ error, ...result }: RunResult): Record<string, unknown> {
  const toolCalls = result.toolCalls.map(({ value: _value, ...call }) => call)
  return { ...result, toolCalls, ...(error === undefined ? {} : { error: { code: error.code, message: error.message } }) }
}
