import { decodeHTML } from 'entities/decode'
import { TextBuffer } from '../../../core/text/text-buffer.ts'
import { giveWay } from '../../../core/time/give-way.ts'

// This is a custom parser, because htmlparser2 needs four more packages, and parse5 blocks the event loop until it has parsed the whole
// page.

/** The readable content of a page: its title, and its text with headings, list items and table cells marked as in Markdown. */
export interface PageText {
  title: string
  text: string
}

/** Elements whose content is not part of the page's text. */
const unread = new Set(['script', 'style', 'template', 'svg', 'iframe', 'object', 'canvas', 'math'])
const blocks = new Set(
  (
    'address article aside blockquote dd details dialog div dl dt fieldset figcaption figure footer form h1 h2 h3 h4 h5 h6 header hr ' +
    'legend li main nav ol option p pre section select summary table tbody tfoot thead tr ul'
  ).split(' '),
)
/** Block elements, besides headings, that get an empty line before and after. */
const spaced = new Set(['p', 'ul', 'ol', 'dl', 'table', 'blockquote', 'pre'])

const maxTitle = 4_096

/**
 * Removes the tags from HTML. Reads the text once in linear time, and yields to the event loop meanwhile. Does not run scripts or apply
 * styles. Rejects with the signal's reason if the signal is aborted.
 */
export async function htmlToText(html: string, signal?: AbortSignal): Promise<PageText> {
  const out = new TextBuilder()
  let title = ''
  let at = 0
  for (let tags = 0; at < html.length; tags++) {
    if (tags % 256 === 0) await giveWay(signal)
    const open = html.indexOf('<', at)
    if (open === -1) break
    await out.longText(html, at, open, signal)
    const tag = readTag(html, open)
    at = tag.end
    if (tag.name === '') {
      out.text(tag.text)
    } else if (tag.name === 'title' && !tag.closing) {
      const end = endOfElement(html, tag.end, 'title')
      if (title === '')
        title = decodeHTML(html.slice(tag.end, Math.min(end, tag.end + maxTitle)))
          .replace(/\s+/g, ' ')
          .trim()
      at = end
    } else if (unread.has(tag.name) && !tag.closing) {
      at = endOfElement(html, tag.end, tag.name)
    } else {
      out.tag(tag.name, tag.closing)
    }
  }
  await out.longText(html, at, html.length, signal)
  return { title, text: await out.toText(signal) }
}

interface Tag {
  /** The tag's name in lower case, or `''` if this is not a tag. */
  name: string
  closing: boolean
  /** The text, if this is not a tag. */
  text: string
  end: number
}

function readTag(html: string, open: number): Tag {
  const comment = html.startsWith('<!--', open)
  if (comment || html[open + 1] === '!' || html[open + 1] === '?') {
    const close = html.indexOf(comment ? '-->' : '>', open + 2)
    return { name: '', closing: false, text: '', end: close === -1 ? html.length : close + (comment ? 3 : 1) }
  }
  const closing = html[open + 1] === '/'
  tagName.lastIndex = open + (closing ? 2 : 1)
  const name = tagName.exec(html)?.[0].toLowerCase()
  // This is a single `<`, as in `a < b`.
  if (name === undefined) return { name: '', closing, text: '<', end: open + 1 }
  return { name, closing, text: '', end: endOfTag(html, tagName.lastIndex) }
}

const tagName = /[a-z][a-z0-9:-]{0,60}/iy

/** Returns the position after the next `>` outside quotes. */
function endOfTag(html: string, from: number): number {
  let isAfterEquals = false
  for (let at = from; at < html.length; at++) {
    const code = html.charCodeAt(at)
    if (code === greaterThan) return at + 1
    if ((code === doubleQuote || code === singleQuote) && isAfterEquals) {
      const close = html.indexOf(html.charAt(at), at + 1)
      if (close === -1) return html.length
      at = close
    }
    if (code > space) isAfterEquals = code === equalsSign
  }
  return html.length
}

const [space, doubleQuote, singleQuote, equalsSign, greaterThan] = [0x20, 0x22, 0x27, 0x3d, 0x3e]

/** Returns the position of the closing tag of an element whose content is not parsed. */
function endOfElement(html: string, from: number, name: string): number {
  const closing = new RegExp(`</${name}(?=[\\s/>])`, 'gi')
  closing.lastIndex = from
  return closing.exec(html)?.index ?? html.length
}

/** Number of characters that are decoded at once, and the maximum length of a character reference such as `&amp;`. */
const [stretch, longestReference] = [65_536, 64]

/** Returns a position at which the text can be cut without cutting a character reference. */
function endOfStretch(html: string, from: number, end: number): number {
  const latest = from + stretch
  if (latest >= end) return end
  const reference = html.lastIndexOf('&', latest)
  return reference > latest - longestReference ? reference : latest
}

/** Collects text as it is read. Collapses white space outside `<pre>`, and starts each block on a new line. */
class TextBuilder {
  readonly #pieces = new TextBuffer()
  #preformatted = 0
  /** Whether white space is dropped because the line has no text yet. */
  #lineStart = true
  /** Number of line breaks since the last text. */
  #breaks = 2
  #cells = 0

  /** Adds text of any length, and yields to the event loop meanwhile. */
  async longText(html: string, from: number, end: number, signal: AbortSignal | undefined): Promise<void> {
    for (let at = from; at < end; ) {
      const next = endOfStretch(html, at, end)
      this.text(html.slice(at, next))
      at = next
      if (at < end) await giveWay(signal)
    }
  }

  text(raw: string): void {
    if (raw === '') return
    const decoded = decodeHTML(raw)
    if (this.#preformatted > 0) {
      this.#pieces.add(decoded)
      this.#lineStart = decoded.endsWith('\n')
      this.#breaks = this.#lineStart ? 1 : 0
      return
    }
    const plain = decoded.replace(/\s+/g, ' ')
    const piece = this.#lineStart ? plain.trimStart() : plain
    if (piece === '') return
    this.#pieces.add(piece)
    this.#lineStart = piece.endsWith(' ')
    this.#breaks = 0
  }

  tag(name: string, closing: boolean): void {
    if (name === 'pre') this.#preformatted = Math.max(0, this.#preformatted + (closing ? -1 : 1))
    if (name === 'tr') this.#cells = 0
    if ((name === 'td' || name === 'th') && !closing && this.#cells++ > 0) this.#mark(' | ')
    if (name === 'br') this.#break(this.#breaks + 1)
    if (!blocks.has(name)) return
    const heading = /^h\d$/.test(name)
    this.#break(heading || spaced.has(name) ? 2 : 1)
    if (closing) return
    if (name === 'li') this.#mark('- ')
    if (heading) this.#mark(`${'#'.repeat(Number(name.slice(1)))} `)
  }

  /** Adds line breaks until there are at least `min` since the last text. */
  #break(min: number): void {
    if (this.#breaks < min) this.#pieces.add('\n'.repeat(min - this.#breaks))
    this.#breaks = Math.max(this.#breaks, min)
    this.#lineStart = true
  }

  #mark(mark: string): void {
    this.#pieces.add(mark)
    this.#lineStart = true
    this.#breaks = 0
  }

  /** Removes spaces at line ends and repeated empty lines. */
  async toText(signal: AbortSignal | undefined): Promise<string> {
    const whole = this.#pieces.toString()
    const lines: string[] = []
    for (let start = 0, count = 0; start <= whole.length; count++) {
      if (count % 4_096 === 0) await giveWay(signal)
      const newline = whole.indexOf('\n', start)
      const end = newline === -1 ? whole.length : newline
      const line = whole.slice(start, end).trimEnd()
      if (line !== '' || (lines.length > 0 && lines.at(-1) !== '')) lines.push(line)
      start = end + 1
    }
    return lines.join('\n').trimEnd()
  }
}
