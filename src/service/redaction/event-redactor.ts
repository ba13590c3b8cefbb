import { withShownAbout } from '../../agent/nested/nested-items.ts'
import type { RunResult } from '../../agent/types/options.ts'
import { Event, type EventMeta, type RunEvent } from '../../core/events.ts'
import {
  type ChatMessage,
  type Content,
  type ContentPart,
  hasToolCalls,
  isJsonObject,
  isToolResult,
  type Json,
  type JsonObject,
  type ToolCall,
  withoutUndefined,
} from '../../core/messages.ts'
import { redact, redactText, redactTextInParts, secretTexts } from '../../core/redaction/redact.ts'
import { SecretTexts } from '../../core/redaction/secret-texts.ts'
import { REDACTED } from '../../core/redaction/spans.ts'
import { isBase64 } from '../../core/text/base64.ts'
import { giveWay, inTurns } from '../../core/time/give-way.ts'
import type { AnyTool } from '../../tools/tool.ts'
import { maxArgumentValues } from '../max-argument-values.ts'
import { argumentsIn, resultAsJson, ShownMetadata, StreamedText, secretKeysOf } from './event-parts.ts'
import { hiddenParts } from './hidden-arguments.ts'

type TextDelta = Extract<RunEvent, { type: 'TEXT_DELTA' | 'REASONING_DELTA' }>
type InputDelta = Extract<RunEvent, { type: 'TOOL_INPUT_DELTA' }>

/** The texts and arguments of one run that are held back until they can be redacted. */
interface Held {
  texts: Map<TextDelta['type'], { text: StreamedText; meta: EventMeta }>
  /** The calls that the model is writing, keyed by their index in the response. */
  inputs: Map<number, { tool: string; id: string; json: string; meta: EventMeta }>
}

/** The fields of events that this package sets. They are never hidden, even if a secret has the same value. */
const ownFields = new Set([
  'type',
  'meta',
  'kind',
  'effect',
  'toolCallId',
  'fingerprint',
  'place',
  'stopReason',
  'finishReason',
  'errorCode',
  'outcome',
  'usage',
])

/**
 * Redacts the events and the result of one run. Hides values with names that suggest a secret, and the arguments that a tool lists in
 * `secrets`. Also hides these values in later texts. Sends the arguments of a call in one event, because a secret can't be recognized in a
 * chunk. Holds back the end of a text if it may be the start of a secret.
 */
export class EventRedactor {
  /** The tools that have secret arguments. */
  readonly #secretKeys: ReadonlyMap<string, ReadonlySet<string>>
  /** The secret values that were found so far. */
  readonly #secrets: SecretTexts
  readonly #maxArgumentValues: number
  readonly #held = new Map<string, Held>()
  readonly #metadata: ShownMetadata
  /**
   * The redacted texts of the current result, by tool. They are cached, because most of them occur several times and may be megabytes long.
   */
  #hidden: Map<string, Map<string, string>> | undefined

  /** `secrets` contains values that are already known. `most` is the limit on the number of values in a call's arguments. */
  constructor(tools: Iterable<AnyTool>, secrets: Iterable<string> = [], most: number = maxArgumentValues) {
    this.#maxArgumentValues = most
    this.#secretKeys = secretKeysOf(tools)
    this.#secrets = new SecretTexts(secrets)
    this.#metadata = new ShownMetadata(this.#secrets)
  }

  get secrets(): SecretTexts {
    return this.#secrets
  }

  /**
   * Returns the events to show for `event`, in order. Returns an empty list while the arguments of a call are being collected, or while the
   * end of a text is held back. Must be called for one event at a time. Yields to the event loop, because texts and arguments may be
   * megabytes long.
   */
  async redact(event: RunEvent): Promise<RunEvent[]> {
    return this.#metadata.hideIn(await this.#show(event))
  }

  async #show(event: RunEvent): Promise<RunEvent[]> {
    if (event.type === Event.MODEL_RETRY && event.discards) this.#held.delete(event.meta.runId)
    const held = this.#heldOf(event.meta.runId)
    switch (event.type) {
      case Event.TOOL_INPUT_START:
        held.inputs.set(event.index, { tool: event.tool, id: event.id, json: '', meta: event.meta })
        // The name is redacted, because the model may have invented it.
        return [{ ...event, tool: this.redactText(event.tool) }]
      case Event.TOOL_INPUT_DELTA: {
        const input = held.inputs.get(event.index) ?? { tool: '', id: event.id, json: '', meta: event.meta }
        held.inputs.set(event.index, { ...input, json: input.json + event.json })
        return []
      }
      case Event.TEXT_DELTA:
      case Event.REASONING_DELTA:
        return this.#takeText(event, held)
      default:
        // Most events don't end the texts, which may continue after them.
        return [
          ...(await this.#takeInputs(held)),
          ...(endsText(event) ? this.#endTexts(event.meta.runId, held) : []),
          await this.#clean(event),
        ]
    }
  }

  /** Redacts arguments, and remembers their secrets. */
  redactArguments(tool: string, args: JsonObject): JsonObject {
    this.learn(tool, args)
    return this.#hideArguments(tool, args)
  }

  /** Redacts a text. Hides every text that looks like a key, and every known secret. */
  redactText(text: string): string {
    return redactText(text, this.#secrets)
  }

  /** Redacts a result. Leaves out the values that tools returned. Yields to the event loop, because a result may be megabytes long. */
  async redactResult(result: RunResult): Promise<Record<string, unknown> & { pending: object[] }> {
    // Secrets are collected only from the calls of this run, not from the calls in the history, because the client supplied the history.
    for (const { tool, args, rawArguments } of result.toolCalls) this.learn(tool, args ?? rawArguments)
    this.#hidden = new Map()
    try {
      return await this.#cleanResult(result)
    } finally {
      this.#hidden = undefined
    }
  }

  async #cleanResult(result: RunResult): Promise<Record<string, unknown> & { pending: object[] }> {
    const inOrder = async <T, U>(list: readonly T[], clean: (item: T) => Promise<U>): Promise<U[]> => {
      const cleaned: U[] = []
      for (const item of list) cleaned.push(await clean(item))
      return cleaned
    }
    return {
      ...resultAsJson(result),
      text: await this.#hideText(result.text, undefined),
      output: redact(result.output, undefined, this.#secrets),
      messages: await inOrder(result.messages, (message) => this.#cleanMessage(message)),
      newMessages: await inOrder(result.newMessages, (message) => this.#cleanMessage(message)),
      toolCalls: await inOrder(result.toolCalls, async ({ value: _value, args, decision, ...call }) => ({
        ...call,
        tool: this.redactText(call.tool),
        ...(decision === undefined ? {} : { decision: redact(decision, undefined, this.#secrets) }),
        ...(args === undefined ? {} : { args: this.#hideArguments(call.tool, args) }),
        rawArguments: await this.#hideJson(call.tool, call.rawArguments),
        content: await this.#cleanContent(call.content, call.tool),
      })),
      ...(result.unread === undefined ? {} : { unread: await inOrder(result.unread, (message) => this.#cleanMessage(message)) }),
      pending: await inOrder(result.pending.map(withShownAbout), async ({ secrets: _secrets, ...item }) => {
        const shown = await this.#cleanFields(item)
        const hidden = hiddenParts(item, shown)
        return hidden.length === 0 ? shown : { ...shown, hidden }
      }),
      steps: result.steps.map((step) => ({ ...step, warnings: step.warnings.map((text) => this.redactText(text)) })),
      ...withoutUndefined({ error: result.error && { code: result.error.code, message: this.redactText(result.error.message) } }),
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

  async #takeInputs({ inputs }: Held): Promise<InputDelta[]> {
    const whole: InputDelta[] = []
    for (const [index, { tool, id, json, meta }] of inputs) {
      if (json !== '') whole.push({ type: Event.TOOL_INPUT_DELTA, meta, index, id, json: await this.#takeJson(tool, json) })
    }
    inputs.clear()
    return whole
  }

  async #takeArguments(tool: string, args: JsonObject): Promise<JsonObject> {
    this.learn(tool, args)
    await giveWay()
    return this.#hideArguments(tool, args)
  }

  async #clean(event: RunEvent): Promise<RunEvent> {
    if (event.type === Event.TOOL_CALL_START) return { ...event, args: await this.#takeArguments(event.tool, event.args) }
    if (event.type === Event.TOOL_CALL_END) {
      // The raw return value is left out, because `result` contains it as text.
      const { value: _value, args, ...end } = event
      const result = await this.#hideText(event.result, event.tool)
      return { ...end, result, ...(args === undefined ? {} : { args: this.#hideArguments(event.tool, args) }) }
    }
    if (event.type === Event.TOOL_CALL_REJECTED) {
      const { tool } = event
      const args = typeof event.args === 'string' ? await this.#takeJson(tool, event.args) : await this.#takeArguments(tool, event.args)
      return { ...event, tool: this.redactText(tool), args, error: this.redactText(event.error) }
    }
    return this.#cleanFields(event.type === Event.DECISION_NEEDED ? withShownAbout(event) : event)
  }

  /** Redacts the fields of an event or a pending item that contain data from outside this package. */
  async #cleanFields<T extends object>(item: T): Promise<T> {
    const tool = 'tool' in item && typeof item.tool === 'string' ? item.tool : ''
    const clean = async (name: string, field: unknown): Promise<unknown> => {
      if (ownFields.has(name)) return field
      if (name === 'args') return this.#takeArguments(tool, field as JsonObject)
      if (name === 'update' && typeof field === 'string') return this.#hideText(field, tool)
      return redact(field, name === 'update' ? this.#keysOf(tool) : undefined, this.#secrets)
    }
    const fields: [string, unknown][] = []
    for (const [name, field] of Object.entries(item)) fields.push([name, await clean(name, field)])
    return Object.fromEntries(fields) as T
  }

  async #cleanMessage(message: ChatMessage): Promise<ChatMessage> {
    const content = await this.#cleanContent(message.content, isToolResult(message) ? (message.name ?? '') : undefined)
    const clean = { ...message, content }
    if ('providerData' in clean && clean.providerData !== undefined)
      clean.providerData = redact(clean.providerData, undefined, this.#secrets) as never
    if (!hasToolCalls(message)) return clean as ChatMessage
    const toolCalls: ToolCall[] = []
    for (const call of message.toolCalls) {
      const { name, arguments: json } = call.function
      toolCalls.push({ ...call, function: { name: this.redactText(name), arguments: await this.#hideJson(name, json) } })
    }
    return { ...clean, toolCalls } as ChatMessage
  }

  /** Redacts content. `tool` is set if the content is that tool's result. */
  async #cleanContent(content: Content, tool: string | undefined): Promise<Content> {
    if (typeof content === 'string') return this.#hideText(content, tool)
    const parts: ContentPart[] = []
    for (const part of content) {
      if (part.type === 'text') parts.push({ ...part, text: await this.#hideText(part.text, tool) })
      // A large image is not searched, because it contains no readable secrets and the search would take long.
      else if ('data' in part && part.data.length > 65_536 && isBase64(part.data))
        parts.push({ ...(redact({ ...part, data: '' }, undefined, this.#secrets) as typeof part), data: part.data })
      else parts.push(redact(part, undefined, this.#secrets) as typeof part)
    }
    return parts
  }

  /** Redacts a text. `tool` is set if the text is from that tool's result. */
  #hideText(text: string, tool: string | undefined): Promise<string> {
    const keys = tool === undefined ? noKeys : this.#keysOf(tool)
    return this.#once(`result of ${tool}`, text, () => inTurns(redactTextInParts(text, this.#secrets, keys)))
  }

  async #once(kind: string, text: string, hide: () => Promise<string>): Promise<string> {
    const known = this.#hidden?.get(kind)?.get(text)
    if (known !== undefined) return known
    await giveWay()
    const shown = await hide()
    const texts = this.#hidden?.get(kind) ?? new Map<string, string>()
    this.#hidden?.set(kind, texts.set(text, shown))
    return shown
  }

  #hideArguments(tool: string, args: JsonObject): JsonObject {
    return redact(args, this.#keysOf(tool), this.#secrets) as JsonObject
  }

  /** Redacts arguments in JSON. A text that isn't JSON is hidden completely, because a secret may start anywhere in it. */
  #hideJson(tool: string, json: string): Promise<string> {
    return this.#once(`arguments of ${tool}`, json, async () => this.#hideParsed(tool, json, argumentsIn(json, this.#maxArgumentValues)))
  }

  /** Redacts arguments that were parsed. `args` is undefined if the text is not JSON. */
  async #hideParsed(tool: string, json: string, args: Json | undefined): Promise<string> {
    if (isJsonObject(args)) {
      await giveWay()
      const shown = this.#hideArguments(tool, args)
      return JSON.stringify(shown)
    }
    if (args === null || typeof args === 'boolean') return json
    return json === '' ? '' : `${REDACTED} (${json.length} characters that are not a JSON object)`
  }

  /** Like `#hideJson`, but also remembers the secrets. */
  async #takeJson(tool: string, json: string): Promise<string> {
    const args = argumentsIn(json, this.#maxArgumentValues)
    if (isJsonObject(args)) this.learn(tool, args)
    else if (args !== null && typeof args !== 'boolean') this.#learnText(json)
    return this.#hideParsed(tool, json, args)
  }

  /** Remembers the secrets of a call. If the arguments could not be parsed, their whole text counts as a secret. */
  learn(tool: string, args: JsonObject | string): void {
    if (this.#secrets.isFull) return
    if (typeof args === 'string') this.#learnText(args)
    else for (const secret of secretTexts(args, this.#keysOf(tool))) this.#secrets.add(secret)
  }

  /** Remembers arguments that could not be parsed. */
  #learnText(json: string): void {
    if (json.length >= 3) this.#secrets.add(json)
  }

  #keysOf(tool: string): ReadonlySet<string> {
    return this.#secretKeys.get(tool) ?? noKeys
  }
}

const noKeys: ReadonlySet<string> = new Set()

/** Whether this event ends the texts of a model's response. A truncated response may be continued. */
function endsText(event: RunEvent): boolean {
  if (event.type === Event.MODEL_END) return event.finishReason !== 'length'
  return event.type === Event.RUN_END || (event.type === Event.MODEL_START && !event.continues)
}
