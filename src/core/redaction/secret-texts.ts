import { atOnce, type InParts } from '../time/give-way.ts'
import { type DecodedText, decodeText } from './decoded-text.ts'
import { Finder, type Search } from './finder.ts'
import { formsOf, isShortSecret } from './secret-forms.ts'
import type { Look, Span } from './spans.ts'

/** Only this many characters of a secret are stored. If the secret is longer, everything after a match is hidden. */
const mostKept = 4_096
const mostSecrets = 256
/** The size of the parts of a search: about a millisecond of work. */
const charactersInOnePart = 65_536

/**
 * Texts that must be hidden in other texts. They are found in any letter case, with the escapes of JSON, URLs and HTML, in hexadecimal, and
 * in base64. Texts of fewer than 6 characters are found only as they are, or escaped as in JSON. The time depends only on the length of the
 * searched text. Holds up to 256 texts. If more are added, every searched text is hidden as a whole.
 */
export class SecretTexts {
  readonly #secrets = new Set<string>()
  #isFull = false
  #finders: readonly Finder[] | undefined

  constructor(secrets: Iterable<string> = []) {
    for (const secret of secrets) this.add(secret)
    if (secrets instanceof SecretTexts) this.#finders = secrets.#newestFinders()
  }

  get size(): number {
    return this.#secrets.size
  }

  /** Whether there is nothing to hide. */
  get isEmpty(): boolean {
    return this.#secrets.size === 0 && !this.#isFull
  }

  /** Whether too many texts were added, so that everything is hidden. */
  get isFull(): boolean {
    return this.#isFull
  }

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

  /** Hides every text from now on, as if there were too many secrets. */
  hideAll(): void {
    this.#isFull = true
  }

  /** False if the text is too short for every secret. Its decoded form is never longer. */
  mayBeIn(text: string): boolean {
    return this.#isFull || this.#newestFinders().some(({ shortest }) => text.length >= shortest)
  }

  /** Finds the stored texts in another text. */
  findIn(text: string): Span[] {
    return this.lookAt(text).found
  }

  /** Like `findIn`, but in parts, for texts of megabytes. A match may span two parts. `decoded`: the text with its escapes decoded. */
  *findInParts(text: string, decoded?: DecodedText): InParts<Span[]> {
    if (!this.mayBeIn(text)) return []
    return (yield* this.#look(text, decoded ?? (yield* decodeText(text)))).found
  }

  /** Like `findIn`, for a text that is not complete yet. */
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

/** `unfinished`: the number of characters before `decided` that may be the start of an incomplete secret. */
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
