import type { RunResult } from '../../agent/run.ts'
import { Event, type EventMeta, type RunEvent } from '../../events.ts'
import { REDACTED, redact, redactText, secretTexts } from '../../log.ts'
import { type ChatMessage, hasToolCalls, isJsonObject, type Json, type JsonObject } from '../../messages.ts'
import type { AnyTool } from '../../tools/tool.ts'

type InputDelta = Extract<RunEvent, { type: 'TOOL_INPUT_DELTA' }>

/**
 * Takes the secrets out of one run's events and result: values under secret-looking names, under the names a tool lists in `secrets`,
 * and every later text that quotes such a value. The pieces of a call's arguments are held back and given out as one, because no
 * secret can be told from a piece.
 */
export class EventRedactor {
  /** Of tools that have some. */
  readonly #secretKeys = new Map<string, ReadonlySet<string>>()
  readonly #secrets: Set<string>
  /** Calls the model is writing, by their index in the response. */
  readonly #inputs = new Map<number, { tool: string; json: string; meta: EventMeta }>()

  /** `secrets`: values known already. */
  constructor(tools: Iterable<AnyTool>, secrets: readonly string[] = []) {
    for (const { name, secrets: keys = [] } of tools) if (keys.length > 0) this.#secretKeys.set(name, new Set(keys))
    this.#secrets = new Set(secrets)
  }

  /** Values seen so far that must not be shown. */
  get secrets(): readonly string[] {
    return [...this.#secrets]
  }

  /** The events to show for `event`, in order: none while a call's arguments are being collected. */
  redact(event: RunEvent): RunEvent[] {
    if (event.type === Event.TOOL_INPUT_START) {
      this.#inputs.set(event.index, { tool: event.tool, json: '', meta: event.meta })
      return [event]
    }
    if (event.type === Event.TOOL_INPUT_DELTA) {
      const input = this.#inputs.get(event.index) ?? { tool: '', json: '', meta: event.meta }
      this.#inputs.set(event.index, { ...input, json: input.json + event.json })
      return []
    }
    return [...this.#takeInputs(), this.#clean(event)]
  }

  /** Arguments as they may be shown. Remembers their secrets. */
  redactArguments(tool: string, args: JsonObject): JsonObject {
    const keys = this.#secretKeys.get(tool) ?? new Set()
    for (const secret of secretTexts(args, keys)) this.#secrets.add(secret)
    return redact(args, keys, [...this.#secrets]) as JsonObject
  }

  /** A text as it may be shown: without what looks like a key and without any secret seen so far. */
  redactText(text: string): string {
    return redactText(text, [...this.#secrets])
  }

  /** A result for a dump: without secrets, and without the values tools returned. */
  redactResult(result: RunResult): unknown {
    const shown = {
      ...resultAsJson(result),
      messages: result.messages.map((message) => this.#cleanMessage(message)),
      newMessages: result.newMessages.map((message) => this.#cleanMessage(message)),
      toolCalls: result.toolCalls.map(({ value: _value, ...call }) => ({
        ...call,
        ...(call.args === undefined ? {} : { args: this.redactArguments(call.tool, call.args) }),
        rawArguments: this.#cleanJson(call.tool, call.rawArguments),
      })),
    }
    return redact(shown, undefined, [...this.#secrets])
  }

  *#takeInputs(): Iterable<InputDelta> {
    for (const [index, { tool, json, meta }] of this.#inputs) {
      if (json !== '') yield { type: Event.TOOL_INPUT_DELTA, meta, index, json: this.#cleanJson(tool, json) }
    }
    this.#inputs.clear()
  }

  #clean(event: RunEvent): RunEvent {
    // By far the most frequent, and nothing in them but their text comes from outside.
    if (event.type === Event.TEXT_DELTA || event.type === Event.REASONING_DELTA) return { ...event, text: this.redactText(event.text) }
    if (event.type === Event.TOOL_CALL_START || event.type === Event.DECISION_NEEDED)
      return { ...event, args: this.redactArguments(event.tool, event.args) }
    if (event.type === Event.TOOL_CALL_REJECTED) {
      const args = typeof event.args === 'string' ? this.#cleanJson(event.tool, event.args) : this.redactArguments(event.tool, event.args)
      return { ...event, args, error: this.redactText(event.error) }
    }
    return redact(event, undefined, [...this.#secrets]) as RunEvent
  }

  #cleanMessage(message: ChatMessage): ChatMessage {
    if (!hasToolCalls(message)) return message
    const toolCalls = message.toolCalls.map((call) => {
      const { name, arguments: json } = call.function
      return { ...call, function: { name, arguments: this.#cleanJson(name, json) } }
    })
    return { ...message, toolCalls }
  }

  /** Arguments in JSON. Of what is not JSON nothing is shown: there is no telling where a secret begins in it. */
  #cleanJson(tool: string, json: string): string {
    try {
      const args: Json = JSON.parse(json)
      if (isJsonObject(args)) return JSON.stringify(this.redactArguments(tool, args))
      if (args === null || typeof args === 'boolean') return json
    } catch {
      // Falls through: a model's broken arguments are nothing unusual.
    }
    if (json.length >= 3) this.#secrets.add(json)
    return json === '' ? '' : `${REDACTED} (${json.length} characters that are not a JSON object)`
  }
}

/** A result as plain JSON: the error as its code and message, without the values tools returned, which need not be JSON. */
export function resultAsJson({ error, ...result }: RunResult): Record<string, unknown> {
  const toolCalls = result.toolCalls.map(({ value: _value, ...call }) => call)
  return { ...result, toolCalls, ...(error === undefined ? {} : { error: { code: error.code, message: error.message } }) }
}
