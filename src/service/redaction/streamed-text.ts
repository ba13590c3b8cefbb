import { lookForSecrets, secretsIn } from '../../core/redaction/redact.ts'
import type { SecretTexts } from '../../core/redaction/secret-texts.ts'
import { decidedPart, hideParts, REDACTED } from '../../core/redaction/spans.ts'

/** Characters that have been shown, by which what follows is known for a secret: the name before a value, the user before a password. */
const keptOfShown = 512
/** What is held back for longer is looked at again only when it has grown by a quarter: else a long value would take quadratic time. */
const mostAtOnce = 1_024

/**
 * A text that comes in pieces and is shown in pieces, without what would be hidden in the whole of it: the end of a piece that may belong
 * to a secret is held back until it is known whether it does.
 */
export class StreamedText {
  readonly #secrets: SecretTexts
  #held = ''
  #shown = ''
  /** How long what is held back has to be before it is looked at. */
  #next = 0
  #isHidden = false

  constructor(secrets: SecretTexts) {
    this.#secrets = secrets
  }

  /** What can be shown with this piece; `''`: nothing yet. */
  add(piece: string): string {
    this.#held += piece
    if (this.#held === '' || (this.#held.length < this.#next && !this.#secrets.isFull)) return ''
    return this.#show(false)
  }

  /** What was held back to the last. Another text may follow. */
  end(): string {
    const shown = this.#held === '' ? '' : this.#show(true)
    this.#held = ''
    this.#shown = ''
    this.#next = 0
    this.#isHidden = false
    return shown
  }

  #show(isEnd: boolean): string {
    if (this.#secrets.isFull) return this.#hideAll()
    const start = this.#shown.length
    const text = this.#shown + this.#held
    const look = isEnd ? { found: secretsIn(text, this.#secrets), decided: text.length } : lookForSecrets(text, this.#secrets, start)
    const end = isEnd ? text.length : Math.max(start, decidedPart(look))
    this.#held = text.slice(end)
    this.#next = this.#held.length < mostAtOnce ? 0 : this.#held.length * 1.25
    const given = text.slice(0, end)
    this.#shown = given.slice(-keptOfShown)
    // What begins in what has been shown was none, by all of the text before.
    const parts = look.found.filter(({ from }) => from >= start && from < end)
    return hideParts(given, parts, start)
  }

  /** Once for all that follows. */
  #hideAll(): string {
    this.#held = ''
    if (this.#isHidden) return ''
    this.#isHidden = true
    return REDACTED
  }
}
