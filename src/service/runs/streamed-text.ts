import { REDACTED, secretsIn } from '../../core/logger.ts'
import { hideParts, type SecretTexts } from '../../core/redaction/secret-texts.ts'

/** A token that is still being written, to the end of the text. */
const openToken =
  /(?:(?<![a-zA-Z0-9_])(?:(?:sk|pk|rk|xai|gsk|gh[oprsu]|github_pat|glpat|xox[abeprs]|hf|npm)[-_]|AIza|AKIA|ASIA)[\w-]*|(?<![\w-])eyJ[\w.-]*|(?<![a-zA-Z0-9_])[Bb](?:earer|asic)\s{1,16}[\w.~+/=-]*|:\/\/[^\s/:@]{0,256}(?::[^\s/@]{0,256})?)$/
/** Characters of a token that are held back. All of one that is longer is hidden. */
const mostHeld = 1_024
const restOfToken = /^[\w.~+/=-]+/
/** Characters that have been shown, by which a token is known for one: `Bearer` and the spaces behind it. */
const keptOfShown = 24

/**
 * A text that comes in pieces and is shown in pieces, without what would be hidden in the whole of it: the end of a piece that may belong
 * to a secret is held back until it is known whether it does.
 */
export class StreamedText {
  readonly #secrets: SecretTexts
  #held = ''
  #shown = ''
  #isInToken = false
  /** Characters of a secret that has been recognised by its beginning. */
  #hiddenAhead = 0

  constructor(secrets: SecretTexts) {
    this.#secrets = secrets
  }

  /** What can be shown with this piece; `''`: nothing yet. */
  add(piece: string): string {
    let fresh = piece.slice(this.#hiddenAhead)
    this.#hiddenAhead -= piece.length - fresh.length
    if (this.#isInToken) fresh = fresh.replace(restOfToken, '')
    if (fresh === '') return ''
    const start = this.#shown.length
    const text = this.#shown + this.#held + fresh
    const open = openTokenIn(text)
    this.#isInToken = open > mostHeld
    this.#hiddenAhead = this.#secrets.hiddenBehind(text)
    const end = this.#hiddenAhead > 0 ? text.length : Math.max(start, this.#endOfShown(text, open))
    this.#held = this.#isInToken ? '' : text.slice(end)
    return this.#show(text.slice(0, end), start) + (this.#isInToken ? REDACTED : '')
  }

  /** What was held back to the last. Another text may follow. */
  end(): string {
    const shown = this.#show(this.#shown + this.#held, this.#shown.length)
    this.#held = ''
    this.#shown = ''
    this.#isInToken = false
    this.#hiddenAhead = 0
    return shown
  }

  #show(text: string, start: number): string {
    this.#shown = text.slice(-keptOfShown)
    return hideParts(text, secretsIn(text, this.#secrets), start)
  }

  #endOfShown(text: string, open: number): number {
    const held = this.#secrets.unfinishedIn(text, open)
    // A token that is complete is not to be cut either.
    const cut = held === open ? 0 : openTokenIn(text.slice(0, text.length - held))
    return text.length - (cut === 0 ? held : this.#secrets.unfinishedIn(text, held + cut))
  }
}

/** How many of the last characters belong to a token that may go on. */
function openTokenIn(text: string): number {
  // A token that was longer than this has been hidden before.
  return openToken.exec(text.slice(-2 * mostHeld))?.[0].length ?? 0
}
