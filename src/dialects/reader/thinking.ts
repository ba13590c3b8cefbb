import { answerMarks, endTokens, strikeTags, thinkingTags, turnStarts } from '../thinking-tags.ts'
import { Cursor } from './cursor.ts'
import { MarkerSet, wide } from './markers.ts'
import { type Lookout, nothing, TextScanner } from './scanner.ts'

/** Receives the thinking and the answer of a response as its text arrives. */
export interface ThinkingSink {
  text(text: string): void
  reasoning(text: string): void
  /** Called if the text so far turns out to be thinking, because an end tag has arrived without a start tag. */
  thoughtSoFar(): void
}

/** The thinking tags. Start tags have even indexes, and each is followed by its end tag. */
const tags = thinkingTags.flat()
/** All markers to look for. The thinking tags come first. */
const markers = [...tags, ...answerMarks, ...endTokens, ...turnStarts, strikeTags[0]]
const lookout = lookoutFor(markers)

function lookoutFor(markers: readonly string[]): Lookout {
  const starts = new Uint8Array(wide + 1)
  // Line breaks and backticks must also be examined, to recognize code.
  for (const text of ['\n', '`', ...markers]) starts[Math.min(text.charCodeAt(0), wide)] = 1
  return { markers: new MarkerSet(markers), starts, bare: [], bareAtHead: new Set() }
}

/**
 * Divides a response into thinking and answer as it arrives. Thinking is the text between thinking tags at the start of the response. If
 * the start tag was part of the prompt, only the end tag is needed. Tags in code or later in the response are text. The model's own markers
 * around the answer are removed, except in JSON.
 */
export class ThinkingReader {
  readonly #sink: ThinkingSink
  readonly #opened: boolean
  readonly #cursor: Cursor = new Cursor()
  readonly #scanner: TextScanner = new TextScanner((text) => this.#take(text), lookout)
  /**
   * `'answer'`: the text so far may still turn out to be thinking. `'json'`: only the end of the response is looked for. `'over'`: the rest
   * of the response is dropped.
   */
  #state: 'head' | 'thinking' | 'answer' | 'plain' | 'json' | 'over' = 'head'
  /** The end tag of the current thinking. If undefined, any end tag counts. */
  #endTag: string | undefined
  #hasTag = false
  /** The number of characters so far, and the number of those before the answer. */
  #length = 0
  #prefixLength = 0
  /** Blanks at the start. They belong to the answer if no tag follows. */
  #blanks = ''
  #gap = ''
  #isInThought = false
  /** Tokens that end the turn, and blanks after them. They are text if more text follows. */
  #ends = ''
  /** Whether an HTML tag `<s>` is open. Its end tag looks like an end token. */
  #isStruck = false

  /** `opened`: the prompt opened the thinking, so the text begins inside it. */
  constructor(sink: ThinkingSink, opened: boolean) {
    this.#sink = sink
    this.#opened = opened
  }

  /** The number of characters before the answer. Final only after `end`. */
  get prefixLength(): number {
    return this.#prefixLength
  }

  /** Whether the whole text was read as thinking although it contained no thinking tag. */
  get isUnproven(): boolean {
    return this.#state === 'thinking' && !this.#hasTag
  }

  push(chunk: string): void {
    const cursor = this.#cursor
    cursor.load(chunk)
    while (cursor.at < chunk.length) {
      if (this.#state === 'over') {
        this.#scanner.end()
        this.#take(chunk.slice(cursor.at))
        cursor.at = chunk.length
      } else {
        const found = this.#scanner.scan(cursor)
        if (found !== nothing && found < tags.length) this.#readTag(found)
        else if (found !== nothing) this.#readToken(markers[found] ?? '')
      }
    }
  }

  end(): void {
    this.#scanner.end()
    if (this.#state === 'thinking' || (this.#state === 'head' && this.#hasTag)) this.#prefixLength = this.#length
    else if (this.#state === 'head' && this.#blanks !== '') this.#sink.text(this.#blanks)
  }

  #readToken(token: string): void {
    const { line } = this.#scanner
    const isJson = this.#state === 'json'
    const isMark = answerMarks.includes(token)
    const isCode = !isJson && (line.fence !== 0 || line.inCode)
    if (isCode || this.#state === 'thinking' || this.#strikes(token)) this.#scanner.pass(token)
    else if (isMark && !isJson) {
      this.#length += token.length
      this.#scanner.reset()
    } else if (isMark || endTokens.includes(token)) this.#ends += token
    else if (this.#ends !== '' && !isJson && turnStarts.includes(token)) this.#state = 'over'
    else this.#scanner.pass(token)
  }

  /** Whether a token is an HTML tag: `<s>`, or `</s>` after `<s>`. */
  #strikes(token: string): boolean {
    const isTag = strikeTags.includes(token) && (token === strikeTags[0] || this.#isStruck)
    if (isTag) this.#isStruck = token === strikeTags[0]
    return isTag
  }

  #readTag(index: number): void {
    const tag = tags[index] ?? ''
    const isEnd = index % 2 === 1
    const { line } = this.#scanner
    const isCode = line.fence !== 0 || line.inCode
    if (!this.#counts(tag, isEnd, isCode)) {
      this.#scanner.pass(tag)
      // The answer mentions a thinking tag, so a later end tag may be a mention too.
      if (this.#state === 'answer' && !isCode) this.#state = 'plain'
      return
    }
    if (this.#state === 'answer') this.#sink.thoughtSoFar()
    if (this.#state === 'answer' || this.#isInThought) this.#gap = '\n\n'
    this.#state = isEnd ? 'head' : 'thinking'
    this.#endTag = tags[index + 1]
    this.#hasTag = true
    this.#isInThought = false
    this.#length += this.#ends.length + tag.length
    this.#ends = ''
    this.#scanner.reset()
  }

  #counts(tag: string, isEnd: boolean, isCode: boolean): boolean {
    switch (this.#state) {
      case 'head':
        return true
      case 'thinking':
        return isEnd && (this.#endTag === undefined || tag === this.#endTag)
      case 'answer':
        return isEnd && !isCode
      default:
        return false
    }
  }

  #take(given: string): void {
    if (this.#state === 'over') return
    if (this.#ends !== '' && given.trim() === '') {
      this.#ends += given
      return
    }
    const text = this.#ends + given
    this.#ends = ''
    const before = this.#length
    this.#length += text.length
    if (this.#state === 'thinking') this.#think(text)
    else if (this.#state !== 'head') this.#sink.text(text)
    else {
      const words = text.trimStart()
      const blanks = text.slice(0, text.length - words.length)
      if (!this.#hasTag) this.#blanks += blanks
      if (words !== '') this.#begin(words, before + blanks.length)
    }
  }

  #begin(words: string, at: number): void {
    if (this.#opened && !this.#hasTag) {
      this.#state = 'thinking'
      this.#think(words)
      return
    }
    if (this.#hasTag) this.#prefixLength = at
    // Tags in JSON are part of its strings.
    this.#state = /^[{[]/.test(words) ? 'json' : this.#hasTag ? 'plain' : 'answer'
    this.#sink.text(this.#hasTag ? words : this.#blanks + words)
  }

  /** Passes on thinking without the blanks around it. */
  #think(text: string): void {
    const words = this.#isInThought ? text : text.trimStart()
    const told = words.trimEnd()
    if (told === '') {
      if (this.#isInThought) this.#gap += words
      return
    }
    this.#sink.reasoning(this.#gap + told)
    this.#gap = words.slice(told.length)
    this.#isInThought = true
  }
}

export interface DividedText {
  /** The text before the answer, as written: tags, thinking and blanks. */
  prefix: string
  reasoning: string
  text: string
}

/** Divides a complete text. `isCut`: the text may have been cut off inside its thinking. */
export function divideThinking(text: string, opened: boolean, isCut: boolean): DividedText {
  let reasoning = ''
  let answer = ''
  const sink: ThinkingSink = {
    text: (piece) => {
      answer += piece
    },
    reasoning: (piece) => {
      reasoning += piece
    },
    thoughtSoFar: () => {
      reasoning = answer.trim()
      answer = ''
    },
  }
  const reader = new ThinkingReader(sink, opened)
  reader.push(text)
  reader.end()
  if (reader.isUnproven && !isCut) return { prefix: '', reasoning: '', text }
  return { prefix: text.slice(0, reader.prefixLength), reasoning, text: answer }
}
