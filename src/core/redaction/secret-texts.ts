import { atOnce, type InParts } from '../time/give-way.ts'
import { type DecodedText, decodeText } from './decoded-text.ts'
import { Finder, type Search } from './finder.ts'
import { formsOf, isShortSecret } from './secret-forms.ts'
import type { Look, Span } from './spans.ts'

/** Of a longer secret no more is kept: from its beginning on, the rest of a text is hidden. */
const mostKept = 4_096
const mostSecrets = 256
/** Of a text that is searched in parts: a millisecond's work. */
const charactersInOnePart = 65_536

/**
 * Texts that must not be shown, and where they are in others, in any case: as they are, with the escapes of JSON, URLs and HTML, in hexadecimal
 * and in base64. Finding them takes time by the length of the text alone. There is room for 256 of them: with more, every text is hidden as a
 * whole.
 */
export class SecretTexts {
  readonly #secrets = new Set<string>()
  #isFull = false
  #finders: readonly Finder[] | undefined

  constructor(secrets: Iterable<string> = []) {
    for (const secret of secrets) this.add(secret)
  }

  get size(): number {
    return this.#secrets.size
  }

  /** Whether there is nothing to hide. */
  get isEmpty(): boolean {
    return this.#secrets.size === 0 && !this.#isFull
  }

  /** Whether there were too many, so that all texts are hidden. */
  get isFull(): boolean {
    return this.#isFull
  }

  /** Those there was room for. */
  *[Symbol.iterator](): Iterator<string> {
    yield* this.#secrets
  }

  add(given: string): void {
    const secret = given.slice(0, mostKept)
    if (secret === '' || this.#isFull || this.#secrets.has(secret)) return
    if (this.#secrets.size === mostSecrets) {
      this.#isFull = true
      return
    }
    this.#secrets.add(secret)
    this.#finders = undefined
  }

  /** From now on every text is hidden, as if there were too many secrets. */
  hideAll(): void {
    this.#isFull = true
  }

  /** Where they are in a text. */
  findIn(text: string): Span[] {
    return this.lookAt(text).found
  }

  /** The same in parts, for texts of megabytes: a secret may lie in two of them. `decoded`: the text with its escapes undone. */
  *findInParts(text: string, decoded?: DecodedText): InParts<Span[]> {
    return (yield* this.#look(text, decoded ?? (yield* decodeText(text)))).found
  }

  /** The same in a text that may go on. */
  lookAt(text: string, decoded: DecodedText | undefined = atOnce(decodeText(text))): Look {
    return atOnce(this.#look(text, decoded))
  }

  *#look(text: string, decoded: DecodedText | undefined): InParts<Look> {
    if (this.#isFull && text !== '') return { found: [{ from: 0, to: text.length }], decided: text.length }
    const look: Look = { found: [], decided: text.length }
    if (this.#secrets.size === 0) return look
    for (const finder of this.#newestFinders()) {
      const { found, unfinished } = yield* searchInParts(finder, text, text.length)
      for (const span of found) look.found.push(span)
      look.decided = Math.min(look.decided, text.length - unfinished)
      if (decoded === undefined) continue
      const { starts, decided } = decoded
      const within = yield* searchInParts(finder, decoded.text, decided)
      const place = (at: number) => (at <= decoded.text.length ? (starts[at] ?? 0) : text.length + at - decoded.text.length)
      for (const { from, to } of within.found) look.found.push({ from: place(from), to: place(to) })
      look.decided = Math.min(look.decided, place(decided - within.unfinished))
    }
    return look
  }

  #newestFinders(): readonly Finder[] {
    if (this.#finders === undefined) {
      const [short, long] = [true, false].map((isShort) =>
        [...this.#secrets]
          .filter((secret) => isShortSecret(secret) === isShort)
          .flatMap((secret) => formsOf(secret, secret.length === mostKept)),
      )
      this.#finders = [new Finder(long ?? [], { folds: true }), new Finder(short ?? [], { folds: false })].filter(({ isEmpty }) => !isEmpty)
    }
    return this.#finders
  }
}

/** `unfinished`: how many characters before the place `decided` may belong to a secret that goes on. */
function* searchInParts(finder: Finder, text: string, decided: number): InParts<{ found: Span[]; unfinished: number }> {
  const search: Search = { found: [], state: 0 }
  for (let from = 0; from < decided; from += charactersInOnePart) {
    if (from > 0) yield
    finder.search(text, from, Math.min(from + charactersInOnePart, decided), search)
  }
  const unfinished = finder.unfinishedIn(search)
  finder.search(text, decided, text.length, search)
  return { found: search.found, unfinished }
}
