import { checkOptionNames, type OptionNames } from '../core/check-options.ts'
import { InvalidOptionError } from '../core/errors.ts'
import { TextBuffer } from '../core/text/text-buffer.ts'
import { type CharacterKind, kindOf, OpenQuotes } from './characters.ts'
import { type StopMeaning, WordContext } from './full-stops.ts'
import { mergeLanguages, type SentenceLanguage, sentenceLanguages, type WordLists } from './languages.ts'

/** The languages and abbreviations for finding sentences. */
export interface SentenceOptions {
  /** The languages whose abbreviations, months and ordinals are recognized, as names or as custom lists. Default: all bundled languages. */
  languages?: readonly (keyof typeof sentenceLanguages | SentenceLanguage)[]
  /** Further abbreviations that never end a sentence, with or without their last full stop: `['Abf.', 'gl.']`. */
  abbreviations?: readonly string[]
}

const sentenceOptionNames: OptionNames<SentenceOptions> = { languages: true, abbreviations: true }

/** A position at which the sentence may have ended. The text after it decides. */
interface PossibleEnd {
  kind: 'stop' | 'ellipsis' | 'mark' | 'end'
  meaning: StopMeaning
  /** Whether a full stop followed a mark, as in `foo?.bar`. */
  isStopped: boolean
  /** Whether a closing quote or bracket followed. */
  isClosed: boolean
  /** Whether a space or an emoji followed. */
  isSpaced: boolean
  /** Whether only spaces lie between the end and the current position. */
  hasGap: boolean
  behind: 'word' | 'letter' | 'address' | 'other'
  /** The start of the following word. Set if this word decides whether the sentence ended. */
  word?: string
}

type Judgement = 'ends' | 'goes-on' | 'read-word'

/** Only this number of characters of a following word is stored. No list contains a longer word. */
const maxFollowerLength = 24

/**
 * Splits a text into sentences as it arrives.
 *
 * A sentence ends at a line break, and at the marks `。！？!?`. It continues after a mark if a comma follows, and after `!` or `?` inside a
 * URL or code. A sentence also ends at a full stop or ellipsis if another sentence may start there: after a space, and not in lower case
 * (as in rule SB8 of https://unicode.org/reports/tr29/). A full stop after an abbreviation, an initial, an ordinal or the number of a list
 * item doesn't end the sentence. Closing quotes and brackets, and emoji, belong to the sentence before them.
 *
 * A sentence is returned unchanged except for white space around it, as soon as the next character (rarely, the next word) shows that it
 * has ended. The sentences don't depend on how the text is split into pieces. The time is linear in the length of the text.
 */
export class SentenceSplitter {
  readonly #lists: WordLists
  readonly #words = new WordContext()
  readonly #quotes = new OpenQuotes()
  /** The current sentence so far, without the text after a possible end. */
  #sentence = new TextBuffer()
  #possibleEnd: PossibleEnd | undefined
  /** The text after the possible end. */
  #behind = ''
  /** The first half of a surrogate pair. Its second half has not arrived yet. */
  #half = ''

  /** If another splitter is passed, its options are used. Throws `invalid_option` for an unknown language. */
  constructor(options: SentenceOptions | SentenceSplitter = {}) {
    this.#lists = options instanceof SentenceSplitter ? options.#lists : listsOf(options)
  }

  /** Reads the next piece of the text. Returns the sentences that are now known to be complete. */
  push(piece: string): string[] {
    let text = this.#half + piece
    this.#half = ''
    const last = text.charCodeAt(text.length - 1)
    if (last >= 0xd800 && last <= 0xdbff) {
      this.#half = text.slice(-1)
      text = text.slice(0, -1)
    }
    return this.#read(text)
  }

  /** Ends the text and returns the remaining sentences. Another text may then be pushed. */
  end(): string[] {
    const sentences = this.#read(this.#half)
    this.#half = ''
    if (this.#possibleEnd?.word !== undefined) this.#judge(this.#judgeWord(this.#possibleEnd, ''), sentences)
    this.#keep(this.#behind)
    this.#behind = ''
    this.#finish(sentences)
    this.#startParagraph()
    return sentences
  }

  #read(text: string): string[] {
    const sentences: string[] = []
    /** The start of the part of `text` that is not stored yet. */
    let from = 0
    for (let at = 0; at < text.length; ) {
      const character = String.fromCodePoint(text.codePointAt(at) ?? 0)
      const next = at + character.length
      const kind = kindOf(character)
      let endsBehind = kind === 'newline'
      if (this.#possibleEnd !== undefined) {
        const judgement = this.#follow(this.#possibleEnd, character, kind)
        if (judgement === 'takes') endsBehind = true
        else if (judgement !== 'waits') this.#judge(judgement, sentences)
      }
      if (this.#possibleEnd === undefined && this.#mayEnd(kind)) {
        this.#possibleEnd = this.#openEnd(kind)
        endsBehind = true
      }
      if (endsBehind) {
        this.#keep(this.#behind)
        this.#keep(text.slice(from, next))
        this.#behind = ''
        from = next
      }
      if (kind === 'newline') {
        this.#finish(sentences)
        this.#startParagraph()
      } else {
        if (kind === 'quote') this.#quotes.take(character)
        this.#words.take(character, kind)
      }
      at = next
    }
    if (this.#possibleEnd === undefined) this.#keep(text.slice(from))
    else this.#behind += text.slice(from)
    return sentences
  }

  /** Whether a character may end the sentence. It can't if no word precedes it: `!important`, `.NET`, `... and then`. */
  #mayEnd(kind: CharacterKind): kind is PossibleEnd['kind'] {
    return (kind === 'stop' || kind === 'ellipsis' || kind === 'mark' || kind === 'end') && this.#words.hasWords
  }

  #openEnd(kind: PossibleEnd['kind']): PossibleEnd {
    const { isAddress, inWord, behindLetter } = this.#words
    return {
      kind,
      meaning: kind === 'stop' ? this.#words.meaningOfStop(this.#lists) : 'end',
      isStopped: false,
      isClosed: false,
      isSpaced: false,
      hasGap: false,
      behind: isAddress ? 'address' : inWord ? 'word' : behindLetter ? 'letter' : 'other',
    }
  }

  /**
   * Judges a character after a possible end. `takes`: the character belongs to the sentence, so the end moves behind it. `waits`: more text
   * is needed.
   */
  #follow(end: PossibleEnd, character: string, kind: CharacterKind): Judgement | 'takes' | 'waits' {
    if (end.word !== undefined) {
      if (kind !== 'lower' && kind !== 'upper' && kind !== 'letter' && kind !== 'joiner') return this.#judgeWord(end, character)
      if (end.word.length < maxFollowerLength) end.word += character
      return 'waits'
    }
    if (kind === 'newline') return 'ends'
    if (kind === 'space') {
      end.isSpaced = true
      end.hasGap = true
      return 'waits'
    }
    if (kind === 'joiner') return end.hasGap ? 'waits' : 'takes'
    if (this.#extend(end, character, kind)) return 'takes'
    const judgement = judge(end, character, kind)
    if (judgement !== 'read-word') return judgement
    end.word = character
    return 'waits'
  }

  /** Whether a character belongs to the sentence before the possible end. */
  #extend(end: PossibleEnd, character: string, kind: CharacterKind): boolean {
    switch (kind) {
      case 'emoji':
        end.isSpaced = true
        end.hasGap = false
        return true
      case 'closer':
      case 'quote':
        if (kind === 'closer' ? end.hasGap : !this.#quotes.closes(character)) return false
        end.isClosed = true
        end.hasGap = false
        if (end.meaning === 'short-number') end.meaning = 'end'
        return true
      case 'stop':
      case 'ellipsis':
        if (end.hasGap) return false
        if (end.kind === 'stop') end.kind = 'ellipsis'
        end.isStopped = kind === 'stop'
        return true
      case 'mark':
      case 'end':
        end.kind = end.kind === 'end' ? 'end' : kind
        end.isStopped = false
        end.hasGap = false
        return true
      default:
        return false
    }
  }

  #judgeWord({ meaning, word = '' }: PossibleEnd, behindWord: string): Judgement {
    const known = word.toLowerCase()
    if (meaning === 'short-number') return this.#lists.months.has(known) ? 'goes-on' : 'ends'
    const isInitial = word.length === 1 && behindWord === '.'
    return this.#lists.starters.has(known) && !isInitial ? 'ends' : 'goes-on'
  }

  #judge(judgement: Judgement, sentences: string[]): void {
    if (judgement === 'ends') {
      this.#finish(sentences)
      this.#words.startSentence(this.#possibleEnd?.word !== undefined)
    }
    this.#possibleEnd = undefined
    this.#keep(this.#behind)
    this.#behind = ''
  }

  #keep(text: string): void {
    this.#sentence.add(text)
  }

  #finish(sentences: string[]): void {
    const sentence = this.#sentence.toString().trim()
    if (sentence !== '') sentences.push(sentence)
    this.#sentence = new TextBuffer()
  }

  #startParagraph(): void {
    this.#possibleEnd = undefined
    this.#words.startParagraph()
    this.#quotes.clear()
  }
}

/** Decides whether the sentence ends, by the first character after a possible end that is neither a space nor part of the end. */
function judge(
  { kind: end, meaning, isStopped, isClosed, isSpaced, behind }: PossibleEnd,
  character: string,
  kind: CharacterKind,
): Judgement {
  if (kind === 'comma' && !isSpaced) return 'goes-on'
  // 「はい。」と言った is one sentence.
  if (isClosed && (character === 'と' || character === 'っ')) return 'goes-on'
  const isCased = kind === 'lower' || kind === 'upper'
  switch (end) {
    case 'end':
      return 'ends'
    case 'mark':
      if (isSpaced) return isClosed && kind === 'lower' ? 'goes-on' : 'ends'
      if (isCased) return behind === 'word' && !isClosed && !isStopped ? 'ends' : 'goes-on'
      return behind === 'letter' || !isAscii(character) ? 'ends' : 'goes-on'
    case 'ellipsis':
      return isSpaced && (kind === 'upper' || kind === 'letter') ? 'ends' : 'goes-on'
    case 'stop':
      // A sentence continues in `3.14`, `file.txt` and `e.g`, but not in 「OK.然后」.
      if (!isSpaced && (isCased || kind === 'digit' || isAscii(character))) return 'goes-on'
      if (kind === 'lower' || meaning === 'inside') return 'goes-on'
      if (meaning === 'either') return kind === 'upper' ? 'read-word' : 'goes-on'
      if (kind === 'digit') return meaning === 'end' ? 'ends' : 'goes-on'
      return meaning === 'short-number' && kind === 'upper' ? 'read-word' : 'ends'
  }
}

function isAscii(character: string): boolean {
  return character <= '\u007f'
}

const everything = mergeLanguages(Object.values(sentenceLanguages))

function listsOf(options: SentenceOptions): WordLists {
  checkOptionNames(options, sentenceOptionNames, '`SentenceSplitter`')
  const { languages, abbreviations = [] } = options
  if (languages === undefined && abbreviations.length === 0) return everything
  const chosen = (languages ?? Object.values(sentenceLanguages)).map((language): SentenceLanguage => {
    if (typeof language === 'object' && language !== null) return language
    if (typeof language === 'string' && Object.hasOwn(sentenceLanguages, language)) return sentenceLanguages[language]
    throw new InvalidOptionError('languages', `names out of ${Object.keys(sentenceLanguages).join(', ')}, or word lists`, language)
  })
  return mergeLanguages([...chosen, { inside: abbreviations }])
}
