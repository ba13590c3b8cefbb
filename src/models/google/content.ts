import { isJsonObject, type Json, type JsonObject } from '../../core/messages.ts'
import { TextBuffer } from '../../core/text-buffer.ts'
import type { ModelSink } from '../chat-model.ts'
import type { ToolCallAccumulator } from '../streaming/accumulator.ts'
import { gapBetween, type LayoutPiece } from '../streaming/response-layout.ts'
import { PartialArgs } from './partial-args.ts'

type Piece =
  /** `gap`: characters that keep it apart from the text before. */
  | { kind: 'text'; gap: number; length: number; fields: JsonObject | undefined }
  | { kind: 'call'; number: number; fields: JsonObject }
  /** Not ours to read: what the provider's own tools did, pictures, signed thoughts, and what is not known yet. */
  | { kind: 'kept'; part: JsonObject }

/** What parts besides text and calls are: kept, with a word to the caller where there was something to see. */
const shown = ['inlineData', 'fileData']

/**
 * The parts of a response, in order, as they arrive: text and thoughts go to the sink, calls to the accumulator, and the rest is kept. A
 * signature stays on the very part it came with: https://ai.google.dev/gemini-api/docs/thought-signatures
 */
export class GoogleContent {
  readonly warnings: string[] = []
  readonly #calls: ToolCallAccumulator
  readonly #sink: ModelSink | undefined
  /** Our name of a tool, by the one it has on the wire. */
  readonly #names: ReadonlyMap<string, string>
  readonly #pieces: Piece[] = []
  readonly #ids = new Set<string>()
  /** The call whose arguments come in pieces, while they do. */
  #open: { piece: Piece & { kind: 'call' }; args: PartialArgs } | undefined
  readonly #text = new TextBuffer()
  #reasoning = ''

  constructor(calls: ToolCallAccumulator, sink: ModelSink | undefined, names: ReadonlyMap<string, string>) {
    this.#calls = calls
    this.#sink = sink
    this.#names = names
  }

  get text(): string {
    return this.#text.toString()
  }

  get reasoning(): string {
    return this.#reasoning
  }

  /** A call's arguments have not come to their end. */
  get isOpen(): boolean {
    return this.#open !== undefined
  }

  add(part: Json): void {
    if (!isJsonObject(part)) return
    const { text, thought, thoughtSignature: signature, functionCall } = part
    if (isJsonObject(functionCall)) this.#addCall(functionCall, typeof signature === 'string' ? { thoughtSignature: signature } : {})
    else if (thought === true && typeof text === 'string') this.#addThought(text, part)
    else if (typeof text === 'string') this.#addText(text, signature)
    else if (isBare(part)) this.#addText('', signature)
    else this.#keep(part)
  }

  /** `positions`: the number of each call's piece, in the order of the calls. */
  layout(positions: readonly (number | undefined)[]): LayoutPiece[] {
    return this.#pieces.flatMap((piece): LayoutPiece[] => {
      if (piece.kind === 'kept') return [{ block: piece.part }]
      if (piece.kind === 'text') {
        const text = { text: piece.length, ...(piece.fields === undefined ? {} : { fields: piece.fields }) }
        return piece.gap === 0 ? [text] : [{ gap: piece.gap }, text]
      }
      const call = positions.indexOf(piece.number)
      return call === -1 ? [] : [{ call, ...(Object.keys(piece.fields).length === 0 ? {} : { fields: piece.fields }) }]
    })
  }

  #addText(text: string, signature: Json | undefined): void {
    const last = this.#pieces.at(-1)
    const gap = text === '' || last === undefined || last.kind === 'text' ? '' : gapBetween(this.text, text)
    const fields = typeof signature === 'string' ? { thoughtSignature: signature } : undefined
    if (text === '' && fields === undefined) return
    if (fields === undefined && last?.kind === 'text' && last.fields === undefined) last.length += text.length
    else this.#pieces.push({ kind: 'text', gap: gap.length, length: text.length, fields })
    if (text === '') return
    if (gap !== '') {
      this.#text.add(gap)
      this.#sink?.text?.(gap)
    }
    this.#text.add(text)
    this.#sink?.text?.(text)
  }

  /** Summaries are not taken back, but for what is signed. */
  #addThought(text: string, part: JsonObject): void {
    if (part.thoughtSignature !== undefined) this.#pieces.push({ kind: 'kept', part: { ...part } })
    if (text === '') return
    this.#reasoning += text
    this.#sink?.reasoning?.(text)
  }

  #keep(part: JsonObject): void {
    const [type] = Object.keys(part)
    if (type === undefined) return
    const seen = shown.find((key) => part[key] !== undefined)
    if (seen !== undefined) this.#warn(`A part of type \`${seen}\` of the response was kept in \`providerData\`: it is no text`)
    this.#pieces.push({ kind: 'kept', part: { ...part } })
  }

  #addCall(call: JsonObject, fields: JsonObject): void {
    const isPiece = call.willContinue === true || Array.isArray(call.partialArgs)
    if (typeof call.name === 'string' && call.name !== '') this.#close()
    if (this.#open === undefined) {
      const piece = this.#openCall(call, fields, isPiece)
      if (!isPiece) return
      this.#open = { piece, args: new PartialArgs() }
    }
    Object.assign(this.#open.piece.fields, fields)
    this.#open.args.add(call.partialArgs)
    if (call.willContinue !== true) this.#close()
  }

  #openCall({ id, name, args }: JsonObject, fields: JsonObject, isPiece: boolean): Piece & { kind: 'call' } {
    const number = this.#pieces.length
    const piece: Piece & { kind: 'call' } = { kind: 'call', number, fields: { ...fields } }
    this.#pieces.push(piece)
    // An id that is used twice would make one call of two.
    const isNew = typeof id === 'string' && id !== '' && !this.#ids.has(id)
    if (isNew) this.#ids.add(id)
    this.#calls.add(
      {
        index: number,
        id: isNew ? id : null,
        name: typeof name === 'string' ? (this.#names.get(name) ?? name) : null,
        arguments: isPiece ? null : argumentsText(args ?? {}),
        extra: { piece: number },
      },
      this.#sink,
    )
    return piece
  }

  #close(): void {
    if (this.#open === undefined) return
    const { piece, args } = this.#open
    this.#open = undefined
    this.#calls.add({ index: piece.number, arguments: argumentsText(args.value) }, this.#sink)
  }

  #warn(warning: string): void {
    if (!this.warnings.includes(warning)) this.warnings.push(warning)
  }
}

/** A signature with nothing else in its part: an empty text to the API, which takes no part without data. */
function isBare({ thoughtSignature, ...data }: JsonObject): boolean {
  return thoughtSignature !== undefined && Object.keys(data).length === 0
}

/** What can't be written is told in words, which are no arguments. */
function argumentsText(args: Json): string {
  try {
    return typeof args === 'string' ? args : JSON.stringify(args)
  } catch {
    // Nested so deep that it can only be read.
    return 'arguments nested too deep'
  }
}
