import { isJsonObject, type Json, type JsonObject, withoutUndefined } from '../../core/messages.ts'
import { TextBuffer } from '../../core/text/text-buffer.ts'
import type { ModelSink } from '../chat-model.ts'
import type { ToolCallAccumulator } from '../streaming/accumulator.ts'
import { gapBetween, type LayoutPiece } from '../streaming/response-layout.ts'
import { PartialArgs } from './partial-args.ts'

type Piece =
  /** `gap`: the number of characters that toolloop inserted between this text and the previous text. */
  | { kind: 'text'; gap: number; length: number; fields: JsonObject | undefined }
  | CallPiece
  /** A part that is sent back unchanged: a call or result of the provider's own tools, an image, a signed thought, or an unknown part. */
  | { kind: 'kept'; part: JsonObject }

interface CallPiece {
  kind: 'call'
  number: number
  id: string | undefined
  name: string | undefined
  fields: JsonObject
  /** Collects arguments that arrive in pieces. */
  partial: PartialArgs | undefined
  hasArguments: boolean
  /** Whether the provider will send more arguments. */
  isOpen: boolean
}

/** Fields with images and files. Parts with these fields are kept but not displayed, and a warning is added. */
const shown = ['inlineData', 'fileData']

/**
 * Collects the parts of a response as they arrive. Text and thoughts go to the sink, calls go to the accumulator, and all other parts are
 * kept. A signature stays on the part with which it arrived: https://ai.google.dev/gemini-api/docs/thought-signatures
 */
export class GoogleContent {
  readonly warnings: string[] = []
  readonly #calls: ToolCallAccumulator
  readonly #sink: ModelSink | undefined
  /** The original names of renamed tools, keyed by the names that were sent. */
  readonly #names: ReadonlyMap<string, string>
  readonly #pieces: Piece[] = []
  readonly #callsById = new Map<string, CallPiece>()
  #lastCall: CallPiece | undefined
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

  /** Returns whether the arguments of all calls are complete. Called once, at the end of the response. */
  endCalls(): boolean {
    const calls = this.#pieces.filter((piece) => piece.kind === 'call')
    for (const call of calls) {
      if (!call.isOpen) this.#endArguments(call)
      if (!call.hasArguments) this.#addArguments(call, {})
    }
    return !calls.some(({ isOpen }) => isOpen)
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

  /** Returns the layout of the response. `positions`: for each call, the position of its part. */
  layout(positions: readonly (number | undefined)[]): LayoutPiece[] {
    return this.#pieces.flatMap((piece): LayoutPiece[] => {
      if (piece.kind === 'kept') return [{ block: piece.part }]
      if (piece.kind === 'text') {
        const text = { text: piece.length, ...withoutUndefined({ fields: piece.fields }) }
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

  /** Keeps only signed thoughts, because the API doesn't accept summaries. */
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
    if (seen !== undefined) this.#warn(`A part of type \`${seen}\` of the response was kept in \`providerData\`: it is not text`)
    this.#pieces.push({ kind: 'kept', part: { ...part } })
  }

  #addCall({ id, name, args, partialArgs, willContinue }: JsonObject, fields: JsonObject): void {
    const named = typeof name === 'string' && name !== '' ? (this.#names.get(name) ?? name) : undefined
    const call = this.#namedFurther(named, id) ?? this.#calledBy(named, id, !isEmpty(args))
    Object.assign(call.fields, fields)
    call.isOpen = willContinue === true
    if (!isEmpty(args)) {
      call.partial = undefined
      this.#addArguments(call, args)
    } else if (call.isOpen || Array.isArray(partialArgs)) {
      call.partial ??= new PartialArgs()
      call.partial.add(partialArgs)
    }
    if (!call.isOpen) this.#endArguments(call)
  }

  /** If `name` continues the name of the last call, appends it and returns that call. */
  #namedFurther(name: string | undefined, id: Json | undefined): CallPiece | undefined {
    const last = this.#lastCall
    if (name === undefined || last === undefined || !this.#calls.isNamePiece(last.number, name)) return undefined
    if (typeof id === 'string' && id !== '' && !this.#callsById.has(id)) this.#callsById.set(id, last)
    this.#calls.add({ index: last.number, name }, this.#sink)
    return last
  }

  #calledBy(name: string | undefined, id: Json | undefined, hasArguments: boolean): CallPiece {
    const known = typeof id === 'string' ? this.#callsById.get(id) : undefined
    const isOpen = known?.isOpen === true && known === this.#lastCall
    const lacksArguments = known?.hasArguments === false && known.partial === undefined && known.name === name
    const isToldAgain = isOpen || (lacksArguments && hasArguments)
    const begins = name !== undefined && !isToldAgain
    return (begins ? undefined : this.#continuedCall(id)) ?? this.#openCall(id, begins ? name : undefined)
  }

  /** Returns the call that a part without a name continues, because arguments may arrive in a separate part. */
  #continuedCall(id: Json | undefined): CallPiece | undefined {
    const last = this.#lastCall
    if (typeof id !== 'string' || id === '') return last
    return this.#callsById.get(id) ?? (last?.id === undefined ? last : undefined)
  }

  #openCall(id: Json | undefined, name: string | undefined): CallPiece {
    // A new name ends the previous call.
    if (this.#lastCall !== undefined) this.#lastCall.isOpen = false
    // A second call with the same id gets no id, because otherwise the two calls would be merged.
    const own = typeof id === 'string' && id !== '' && !this.#callsById.has(id) ? id : undefined
    const call: CallPiece = {
      kind: 'call',
      number: this.#pieces.length,
      id: own,
      name,
      fields: {},
      partial: undefined,
      hasArguments: false,
      isOpen: false,
    }
    this.#pieces.push(call)
    this.#lastCall = call
    if (own !== undefined) this.#callsById.set(own, call)
    this.#calls.add({ index: call.number, id: own ?? null, name: name ?? null, extra: { piece: call.number } }, this.#sink)
    return call
  }

  #endArguments(call: CallPiece): void {
    if (call.partial === undefined) return
    this.#addArguments(call, call.partial.value)
    call.partial = undefined
  }

  #addArguments(call: CallPiece, args: Json): void {
    call.hasArguments = true
    this.#calls.add({ index: call.number, arguments: argumentsText(args) }, this.#sink)
  }

  #warn(warning: string): void {
    if (!this.warnings.includes(warning)) this.warnings.push(warning)
  }
}

/** Whether a part has only a signature. Such a part is sent back with an empty text, because the API refuses a part without data. */
function isBare({ thoughtSignature, ...data }: JsonObject): boolean {
  return thoughtSignature !== undefined && Object.keys(data).length === 0
}

function isEmpty(args: Json | undefined): args is undefined {
  return args === undefined || args === null || args === '' || (isJsonObject(args) && Object.keys(args).length === 0)
}

/** If the arguments can't be serialized, returns a text that is not JSON. */
function argumentsText(args: Json): string {
  try {
    return typeof args === 'string' ? args : JSON.stringify(args)
  } catch {
    // `JSON.stringify` throws for arguments that are nested too deeply.
    return 'arguments nested too deep'
  }
}
