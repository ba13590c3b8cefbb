import type { JsonObject } from '../../core/messages.ts'
import { TextBuffer } from '../../core/text/text-buffer.ts'
import type { ModelSink } from '../chat-model.ts'
import { gapBetween, type LayoutPiece } from '../streaming/response-layout.ts'
import { restOf } from './response-call.ts'

interface Part {
  text: TextBuffer
  fields: JsonObject
}

/** A message of a response. It has one or more texts. Each text arrives in pieces, and then again as a whole. */
export class ResponseMessage {
  readonly kind = 'message'
  /** The latest state of the item. */
  item: JsonObject
  readonly #sink: ModelSink | undefined
  readonly #parts = new Map<number, Part>()
  /** The characters that separate the text from the text of the previous messages. Undefined until the first text arrives. */
  #gap: string | undefined
  #contradicts = false

  constructor(item: JsonObject, sink: ModelSink | undefined) {
    this.item = item
    this.#sink = sink
  }

  get text(): string {
    return [...this.#parts.values()].map(({ text }) => text.toString()).join('')
  }

  get gap(): string {
    return this.#gap ?? ''
  }

  get isEmpty(): boolean {
    return this.#gap === undefined
  }

  get isRefusal(): boolean {
    return [...this.#parts.values()].some(({ text, fields }) => fields.type === 'refusal' && !text.isEmpty)
  }

  /** Whether the final text differs from the text that was streamed. */
  get contradicts(): boolean {
    return this.#contradicts
  }

  /** Adds a piece of the text at index `at`. `before` returns the text of the previous messages. */
  add(at: number, delta: string, isRefusal: boolean, before: () => string): void {
    if (delta === '') return
    if (this.#gap === undefined) {
      this.#gap = gapBetween(before(), delta)
      if (this.#gap !== '') this.#sink?.text?.(this.#gap)
    }
    this.#part(at, isRefusal).text.add(delta)
    this.#sink?.text?.(delta)
  }

  close(at: number, { type, text, refusal, annotations, logprobs: _, ...rest }: JsonObject, before: () => string): void {
    const isRefusal = type === 'refusal'
    const whole = isRefusal ? refusal : text
    if (typeof whole !== 'string') return
    const part = this.#part(at, isRefusal)
    const more = restOf(part.text, whole)
    if (more !== undefined) this.add(at, more, isRefusal, before)
    else {
      this.#contradicts = true
      // The final text replaces the pieces only if they were not streamed to a sink.
      if (this.#sink?.text === undefined) {
        part.text = new TextBuffer()
        part.text.add(whole)
      }
    }
    const kept: JsonObject = Array.isArray(annotations) && annotations.length > 0 ? { annotations } : {}
    part.fields = { ...part.fields, ...rest, ...kept }
  }

  layout(): LayoutPiece[] {
    const { type: _t, role: _r, content: _c, ...fields } = this.item
    const pieces: LayoutPiece[] = []
    if (this.gap !== '') pieces.push({ gap: this.gap.length })
    for (const { text, fields: part } of this.#parts.values()) {
      const { length } = text.toString()
      const all = Object.keys(part).length === 0 ? fields : { ...fields, part }
      if (length > 0) pieces.push({ text: length, ...(Object.keys(all).length === 0 ? {} : { fields: all }) })
    }
    return pieces
  }

  #part(at: number, isRefusal: boolean): Part {
    let part = this.#parts.get(at)
    if (part === undefined) {
      part = { text: new TextBuffer(), fields: isRefusal ? { type: 'refusal' } : {} }
      this.#parts.set(at, part)
    }
    return part
  }
}
