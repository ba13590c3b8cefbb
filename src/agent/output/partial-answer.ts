import { Event, type EventName, type RunEvent } from '../../core/events.ts'
import { isJsonObject, type Json } from '../../core/messages.ts'
import { isNameOfAnswerTool } from './output.ts'
import { PartialJson } from './partial-json.ts'

/** The events that `PartialAnswer` needs. */
export const answerEvents: ReadonlySet<EventName> = new Set<EventName>([
  Event.RUN_START,
  Event.TEXT_DELTA,
  Event.TOOL_INPUT_START,
  Event.TOOL_INPUT_DELTA,
  Event.MODEL_START,
  Event.MODEL_RETRY,
])

/** Reads an answer with a schema while it arrives, from the model's text or from the arguments of the answer tool. */
export class PartialAnswer {
  readonly #wrapped: boolean
  #runId: string | undefined
  #tools: ReadonlySet<string> = new Set()
  #text = new AnswerText()
  /** The model's text, including `#earlier`: the text that the current response continues. */
  #said = ''
  #earlier = ''
  #call: { index: number; json: PartialJson } | undefined
  /** Whether the answer is the `value` of an object. Undefined until the first field of the object has arrived. */
  #isInValue: boolean | undefined

  /** `wrapped`: the model was asked for an object with the answer as its `value`. */
  constructor(wrapped: boolean) {
    this.#wrapped = wrapped
  }

  /** Returns the answer so far if this event adds to the answer. Returns the same object each time while the answer grows. */
  take(event: RunEvent): Json | undefined {
    this.#runId ??= event.meta.runId
    // Answers of nested runs are not part of this answer.
    if (event.meta.runId !== this.#runId) return undefined
    switch (event.type) {
      case Event.RUN_START:
        this.#tools = new Set(event.tools)
        return undefined
      case Event.MODEL_START:
      case Event.MODEL_RETRY:
        if (event.type === Event.MODEL_START) this.#earlier = event.continues ? this.#said : ''
        if (event.type === Event.MODEL_START && event.continues) return undefined
        this.#text = new AnswerText()
        this.#said = this.#earlier
        this.#text.add(this.#earlier)
        this.#call = undefined
        this.#isInValue = undefined
        return undefined
      case Event.TOOL_INPUT_START:
        if (isNameOfAnswerTool(event.tool) && !this.#tools.has(event.tool)) {
          this.#call = { index: event.index, json: new PartialJson() }
          this.#isInValue = undefined
        }
        return undefined
      case Event.TOOL_INPUT_DELTA:
        if (this.#call?.index !== event.index) return undefined
        this.#call.json.add(event.json)
        return this.#unwrapped(this.#call.json.value)
      case Event.TEXT_DELTA:
        if (this.#call !== undefined) return undefined
        this.#said += event.text
        return this.#unwrapped(this.#text.add(event.text))
      default:
        return undefined
    }
  }

  #unwrapped(value: Json | undefined): Json | undefined {
    if (!this.#wrapped || !isJsonObject(value)) return value
    if (this.#isInValue === undefined) {
      const [first] = Object.keys(value)
      if (first === undefined) return undefined
      // A model may return only the answer, although it was asked for an object with the answer as its `value`.
      this.#isInValue = first === 'value'
    }
    return this.#isInValue ? value.value : value
  }
}

/** Reads JSON from a text, bare or in a code fence. */
class AnswerText {
  readonly #json = new PartialJson()
  /** The text before the JSON. Undefined once the JSON has begun. */
  #before: string | undefined = ''

  add(text: string): Json | undefined {
    if (this.#before === undefined) this.#json.add(text)
    else if (this.#before.length < longestBefore) {
      this.#before += text
      const begun = /^\s*(?:```[^\n]*\n\s*)?([^\s`][\s\S]*)/.exec(this.#before)?.[1]
      if (begun !== undefined) {
        this.#before = undefined
        this.#json.add(begun)
      }
    }
    return this.#json.value
  }
}

/** The search for the start of the JSON ends after this many characters. Whitespace and the first line of a code fence are shorter. */
const longestBefore = 1_000
