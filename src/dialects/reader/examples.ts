/** Words that may be between a phrase such as `here is` and the word `example`. */
const kinds = String.raw`(?:(?:an?|another|one|some|two|few|short|simple|brief|quick|concrete|complete|possible|usage|call|tool|function|json|code)\s+)`
const uses = String.raw`(?:(?:function|tool)\s+)?(?:calls?|usage|use|requests?|invocations?)`
const presents = String.raw`(?:^|[,;]\s+(?=here\b))(?:(?:here(?:['’]?s|\s+is|\s+are)|(?:this|that|below|the\s+following)\s+(?:is|are)|consider|see|take|as)\s+)?`

/** Match a sentence that announces an example. The word `example` alone is not enough. */
const announcements: readonly RegExp[] = [
  /(?:\bfor (?:example|instance)|\be\.g\.?|\bsuch as)\s*[,:]?$/i,
  /^(?:for (?:example|instance)|e\.g\.?)[\s,:].*:$/i,
  new RegExp(String.raw`${presents}${kinds}*examples?(?:\s+(?:\d+|${uses}))?\s*:?$`, 'i'),
  new RegExp(String.raw`${presents}${kinds}*examples?\s+(?:\d+|${uses}|of|for|with|would|could|might)\b.*:$`, 'i'),
  /(?:例如|比如|例子|示例)[^:]{0,12}:?$/,
]
/** Match a sentence about a hypothetical call, or about the format of calls. */
const hypotheses: readonly RegExp[] = [
  /\b(?:you|one) (?:would|could|might)(?: \w+ly| then| just| also)? (?:call|invoke)\b/i,
  /\b(?:you|one) (?:would|could|might)(?: \w+ly| then| just| also)? (?:use|write|say)\b.*:$/i,
  /\b(?:(?:would|could|might) be|(?:it|this|that|calls?|requests?|functions?|would|could|might) looks?(?: something)? like)(?: this| that| as follows)?\s*:$/i,
  /\b(?:use|used|call|called|invoke|invoked|write|written)\b.{0,40}\blike this\s*:$/i,
]
/** Match a line that introduces a format. */
const forms: readonly RegExp[] = [
  /^(?:\w+ )?(?:syntax|format|schema|template)\s*:$/i,
  /\b(?:syntax|format|schema|template)(?: (?:of|for) .{1,40})? (?:is|looks like)(?: this| as follows)?\s*:$/i,
  /(?:格式|語法|语法)[^:]{0,4}:$/,
]
/**
 * Phrases that say that a call is impossible. Phrases such as `I can't know` don't match, because they may explain why the model makes the
 * call.
 */
const declines =
  /\b(?:cannot|can['’]?t|can not|unable to|not able to|not possible to)(?: \w+)? (?:(?:call|invoke)\b|(?:use|make|execute)\b.{0,40}\b(?:function|tool|call)s?\b)|(?:无法|不能)(?:直接)?(?:调用|使用)/i
/** Phrases that say what the model does next. */
const intends =
  /\b(?:let me|let['’]s|(?:i|we)(?:['’]ll| will| must| should|['’]m going to| am going to| are going to)|(?<!\byou(?:['’]d| would| will| may| might)? )needs? to|(?<!\b(?:of|for|by) )(?:calling|checking|fetching|searching|trying)|look(?:ing)? (?:\w+ )?up|instead)\b|让我|我来|我会|我将|我需要/i
const illustrates = /\b(?:show|give|provide)\b.{0,40}\bexamples?\b/i

/**
 * Whether a line's last sentence announces an example, so that a call after it must not run. If the sentence also announces the model's
 * next step, the call runs: dropping a real call does more harm than running an example.
 */
export function announcesExample({ text, own }: LastLine): boolean {
  if (text === '') return false
  const sentence = plain(lastSentence(text), own)
  if (intends.test(sentence)) return illustrates.test(sentence) && sentence.endsWith(':')
  const signs = [...announcements, ...hypotheses, declines, ...(own ? forms : [])]
  return signs.some((sign) => sign.test(sentence))
}

/** Whether a line announces a call. Used after another line has announced an example. */
export function announcesCall({ text }: LastLine): boolean {
  return endsInColon(text) && intends.test(lastSentence(text)) && !announcesExample({ text, own: false })
}

/** Whether a marker is a special token of a model's own format. Models never write such tokens to talk about a call. */
export function isControlToken(marker: string): boolean {
  return /<[|｜]|[|｜]>|^\]<\]|^\[TOOL_CALLS\]$|^<start_function_call>$/.test(marker)
}

/**
 * Removes emphasis, list marks, heading marks, addresses and paths from a sentence. If more text follows the sentence on its line, appends
 * a colon.
 */
function plain(sentence: string, continues: boolean): string {
  const words = sentence
    .replace(/\S*(?:[/\\@]|\w\.\w\w)\S*?(?=[:,.]?(?:\s|$))/g, '…')
    .replace(/^[^\p{L}…]+|[\s*_`"“(]+$/gu, '')
    .replace(/\s*：/g, ':')
    .replace(/:[\s*_]+$/, ':')
  return continues && /[\p{L}\p{N}]$/u.test(words) ? `${words}:` : words
}

const sentenceEnds = '.!?。！？'

function lastSentence(text: string): string {
  let at = text.length - 1
  while (at >= 0 && sentenceEnds.includes(text.charAt(at))) at--
  for (; at >= 0; at--) {
    if (!sentenceEnds.includes(text.charAt(at))) continue
    const continues = text.charAt(at) === '.' && (text.charAt(at + 1) !== ' ' || /e\.g$/i.test(text.slice(at - 3, at)))
    if (!continues) return text.slice(at + 1)
  }
  return text
}

export interface LastLine {
  text: string
  /** Whether the call follows on the same line. */
  own: boolean
}

/** The number of lines to look back, including blank lines and lines that start code fences. */
const maxLines = 4

/** The last line of a text that is neither blank nor the start of a code fence. */
export function lastLineOf(text: string): LastLine {
  let end = text.length
  for (let count = 0; count < maxLines && end >= 0; count++) {
    const start = text.lastIndexOf('\n', end - 1) + 1
    const line = start < end ? text.slice(start, end).trim() : ''
    const own = end === text.length
    const counts = own ? !beginsItem(line) : !/^(?:```|~~~)/.test(line)
    if (line !== '' && counts) return { text: line, own }
    end = start - 1
  }
  return { text: '', own: false }
}

/** Whether a line ends in a colon, as in `**Call:**`. Ignores the colon after a JSON key. */
export function endsInColon(line: string): boolean {
  return /[^"'\s][*_]{0,3}\s{0,8}[:：][*_]{0,3}$/.test(line)
}

/** Whether a line is only the start of a list item or a quotation. */
export function beginsItem(line: string): boolean {
  return /^\s{0,16}(?:[-*+•>]|\d{1,3}[.)])$/.test(line)
}
