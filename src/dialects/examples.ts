/** Words that announce an example, or a call that is only spoken of. */
const announces =
  /\b(?:e\.g|for instance|examples?|such as|like this|looks? like|(?:would|could|might) (?:call|look|write|use|say)|(?:would|could|might) be\s*[:：]?$)|例如|比如|例子|示例/i
/** Words that do so in the line of what follows them, behind a colon or not. */
const describes = /\b(?:syntax|format|schema|template)\b|格式|語法|语法/i
const declines = /\b(?:cannot|can['’]?t|can not|unable to|not able to|not possible)\b|无法|不能/i
/** A model that can't do one thing may be about to do another. */
const intends = /\b(?:let me|let['’]s|i['’]ll|i will|i['’]m going to|i am going to|calling|instead)\b|让我|我来|我会/i

/**
 * Whether a line announces that what comes next, in it or below it, is an example: no call that is meant to run. A line that ends in a
 * statement of what the model does next announces none, whatever stands before.
 */
export function announcesExample({ text, own }: LastLine): boolean {
  if (text === '') return false
  const sentence = lastSentence(text)
  if (intends.test(sentence)) return /\bexamples?\b|for instance/i.test(sentence)
  return announces.test(sentence) || (own && describes.test(sentence)) || declines.test(text)
}

const sentenceEnds = '.!?。！？'

/** From behind the last sentence's end on; the signs at the very end are the last sentence's own. Looks at each character once. */
function lastSentence(text: string): string {
  let at = text.length - 1
  while (at >= 0 && sentenceEnds.includes(text.charAt(at))) at--
  for (; at >= 0; at--) {
    if (!sentenceEnds.includes(text.charAt(at))) continue
    const goesOn = text.charAt(at) === '.' && (text.charAt(at + 1) !== ' ' || /e\.g$/i.test(text.slice(at - 3, at)))
    if (!goesOn) return text.slice(at + 1)
  }
  return text
}

export interface LastLine {
  text: string
  /** It goes on with what comes next. */
  own: boolean
}

/** How many lines are looked back, blank ones and those of fences included. */
const mostLines = 4

/** The last line of a text that is not blank; the opening line of a code fence aside. */
export function lastLineOf(text: string): LastLine {
  let end = text.length
  for (let count = 0; count < mostLines && end >= 0; count++) {
    const start = text.lastIndexOf('\n', end - 1) + 1
    const line = start < end ? text.slice(start, end).trim() : ''
    const own = end === text.length
    const counts = own ? !beginsItem(line) : !/^(?:```|~~~)/.test(line)
    if (line !== '' && counts) return { text: line, own }
    end = start - 1
  }
  return { text: '', own: false }
}

/** `**Call:**`, but not the colon behind a key of JSON. */
export function endsInColon(line: string): boolean {
  return /[^"'\s][*_]{0,3}\s{0,8}[:：][*_]{0,3}$/.test(line)
}

/** Whether a line is nothing but the beginning of an item, or of a quotation. */
export function beginsItem(line: string): boolean {
  return /^\s{0,16}(?:[-*+•>]|\d{1,3}[.)])$/.test(line)
}
