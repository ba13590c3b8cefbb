import type { CharacterKind } from './characters.ts'
import type { WordLists } from './languages.ts'

/** Whether a full stop ends the sentence, judged by the word before it. */
export type StopMeaning =
  /** The full stop does not end the sentence. */
  | 'inside'
  /** The full stop ends the sentence only if the next word is one that often starts sentences. */
  | 'either'
  /** The full stop does not end the sentence before a number. */
  | 'before-number'
  /** The word is a number of one or two digits. The full stop does not end the sentence before another number or a month. */
  | 'short-number'
  /** The full stop ends the sentence, unless a lower-case letter follows. */
  | 'end'

/** The length limit of a stored word. A longer word can't be a list number or an initial. */
const maxWordLength = 24

/** The words of the current sentence, as far as they decide whether the next full stop ends it. Uses constant memory. */
export class WordContext {
  /** The current word so far, with its digits and full stops. `''` between words. */
  #word = ''
  /**
   * The word before the current one, in lower case, with its full stop if it has one. Several abbreviated words are joined: `i. d.` becomes
   * `i.d.`
   */
  #previous = ''
  /** The number of words before the current one in the sentence. */
  #count = 0
  /** The character directly before the current word. */
  #before = ''
  /** Whether a colon precedes the current word, ignoring spaces. */
  #behindColon = false
  #last = ''
  #isAddress = false
  #behindLetter = false

  /** Whether the sentence has a letter or digit so far. */
  get hasWords(): boolean {
    return this.#count > 0 || this.#word !== ''
  }

  /** Whether the last character is a digit, or part of a word in a script with case. */
  get inWord(): boolean {
    return this.#word !== ''
  }

  /** Whether the last character is a letter of a script without case. */
  get behindLetter(): boolean {
    return this.#behindLetter
  }

  get isAddress(): boolean {
    return this.#isAddress
  }

  take(character: string, kind: CharacterKind): void {
    if (kind === 'joiner') return
    this.#behindLetter = kind === 'letter'
    const belongs = kind === 'lower' || kind === 'upper' || kind === 'digit'
    if (belongs || (this.#word !== '' && (kind === 'stop' || character === "'" || character === '’'))) {
      if (this.#word === '') this.#before = this.#last
      if (this.#word.length < maxWordLength) this.#word += character
    } else {
      if (this.#beginsAddress(character)) this.#isAddress = true
      this.#finishWord()
      if (kind === 'letter') this.#count++
      if (kind === 'space' || kind === 'letter') this.#isAddress = false
      if (kind !== 'space') this.#behindColon = character === ':'
    }
    this.#last = character
  }

  /** Starts a new sentence. If `keepWord` is true, the current word belongs to the new sentence. */
  startSentence(keepWord: boolean): void {
    this.#previous = ''
    this.#count = 0
    if (!keepWord) this.#word = ''
  }

  startParagraph(): void {
    this.startSentence(false)
    this.#behindColon = false
    this.#last = ''
    this.#isAddress = false
    this.#behindLetter = false
  }

  /** Returns the meaning of a full stop directly after the word. */
  meaningOfStop(lists: WordLists): StopMeaning {
    const word = this.#word.toLowerCase()
    const joined = this.#previous.endsWith('.') ? this.#previous + word : word
    if (word === '' || word.length >= maxWordLength) return 'end'
    if (lists.inside.has(word) || lists.inside.has(joined)) return 'inside'
    // At the start of a sentence, a number or a single letter is a list number or an initial.
    if (this.#count === 0 && /^(\d{1,2}|\p{L})$/u.test(word)) return 'inside'
    if (word === '1' && this.#behindColon && this.#before !== ':') return 'inside'
    if (lists.beforeOrdinals.has(this.#previous) && /^(\d+|[IVXLC]+)$/.test(this.#word)) return 'either'
    if (/^\d{1,2}$/.test(word)) return 'short-number'
    if (lists.either.has(word) || lists.either.has(joined)) return 'either'
    // Matches initials such as `U.S.`, but not the units in `°C` and `km/h`.
    if (/^\p{L}(\.\p{L})*$/u.test(word)) return /[°/&+-]/.test(this.#before) ? 'end' : 'either'
    return lists.beforeNumbers.has(word) ? 'before-number' : 'end'
  }

  #finishWord(): void {
    if (this.#word === '') return
    const word = this.#word.toLowerCase()
    const continues = word.endsWith('.') && this.#previous.endsWith('.') && this.#previous.length < maxWordLength
    this.#previous = continues ? this.#previous + word : word
    this.#word = ''
    this.#behindColon = false
    this.#count++
  }

  /** An address begins at `//`, or at a slash after a name with a dot. */
  #beginsAddress(character: string): boolean {
    if (character !== '/') return false
    return this.#word === '' ? this.#last === '/' : this.#word.includes('.')
  }
}
