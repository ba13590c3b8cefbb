import type { Style } from '../style.ts'
import { readInline, type Span } from './inline.ts'
import { layOutTable, looksLikeTable } from './table.ts'

/**
 * Matches the start of a line whose kind (such as a heading or a list item) is not certain yet. The pattern has only one way to match a
 * text, so it never takes exponential time.
 */
const undecided = /^(?:[#>*+\-`~_=\s\d]|(?<=\d)[.)])*(?:\[[ xX]?\]?\s*)?$|^\s*\||^ {0,3}(?:```|~~~)/
const fence = /^ {0,3}(`{3,}|~{3,}(?!~))([^`]*)$/
const longestRule = 60
/** Once the start of a line is longer than this, it is checked again only after it has grown by a quarter. */
const longestLookedAt = 256

interface Screen {
  style(styles: readonly Style[], text: string): string
  columns(): number
}

/**
 * Renders Markdown on a terminal while it arrives. A line appears piece by piece. Only unfinished spans, such as an emphasis, and
 * unfinished tables wait for later text. The output is never changed afterwards, so that nothing flickers.
 */
export class MarkdownWriter {
  readonly #screen: Screen
  /** The part of the current line that is not shown yet. */
  #line = ''
  /** The length that `#line` must reach before it is checked again. */
  #lookFrom = 0
  /** The style of the rest of the current line. Undefined until the start of the line is shown. */
  #begun: { styles: readonly Style[]; before: string } | undefined
  /** The marks that end the current code block, and whether the block is a diff. */
  #code: { marks: string; isDiff: boolean } | undefined
  #table: string[] = []

  constructor(screen: Screen) {
    this.#screen = screen
  }

  /** Returns the output for the next piece of Markdown. The piece must not contain control characters other than line ends and tabs. */
  push(piece: string): string {
    const lines = piece.split('\n')
    lines[0] = `${this.#line}${lines[0] ?? ''}`
    this.#line = lines.pop() ?? ''
    if (lines.length > 0) this.#lookFrom = 0
    return `${lines.map((line) => this.#endLine(line)).join('')}${this.#partOfLine()}`
  }

  /** Ends the text. Returns the output of an unfinished last line or table. */
  end(): string {
    const line = this.#line
    this.#line = ''
    this.#lookFrom = 0
    const isEmpty = line === '' && this.#begun === undefined
    const shown = isEmpty ? this.#endTable() : this.#endLine(line).replace(/\n$/, '')
    this.#code = undefined
    return `${shown}${this.#endTable()}`
  }

  #endLine(line: string): string {
    if (this.#begun !== undefined) return `${this.#rest(line)}\n`
    if (this.#code !== undefined) return `${this.#codeLine(line, this.#code)}\n`
    if (looksLikeTable(line)) {
      this.#table.push(line)
      return ''
    }
    const table = this.#endTable()
    const [, marks, info = ''] = fence.exec(line) ?? []
    if (marks !== undefined) {
      this.#code = { marks, isDiff: /^\s*(diff|patch)\b/.test(info) }
      return `${table}${this.#rule(info.trim())}\n`
    }
    if (/^ {0,3}([-*_])(\s*\1){2,}\s*$/.test(line)) return `${table}${this.#rule('')}\n`
    const { shown, rest } = this.#begin(line)
    return `${table}${shown}${this.#rest(rest)}\n`
  }

  /** Returns the output for the part of the unfinished line that later text can't change. */
  #partOfLine(): string {
    if (this.#code !== undefined || this.#line === '' || this.#line.length < this.#lookFrom) return ''
    let shown = ''
    if (this.#begun === undefined) {
      if (undecided.test(this.#line)) {
        this.#lookFrom = this.#line.length < longestLookedAt ? 0 : this.#line.length * 1.25
        return ''
      }
      this.#lookFrom = 0
      const begun = this.#begin(this.#line)
      shown = `${this.#endTable()}${begun.shown}`
      this.#line = begun.rest
    }
    const { styles, before } = this.#begun ?? { styles: [], before: '' }
    const { spans, length } = readInline(this.#line, before, false, styles)
    this.#begun = { styles, before: length === 0 ? before : (this.#line[length - 1] ?? '') }
    this.#line = this.#line.slice(length)
    return `${shown}${this.#written(spans)}`
  }

  /** Splits a line into its mark, such as a bullet, and the rest. The mark is returned as it is shown. */
  #begin(line: string): { shown: string; rest: string } {
    const [whole = '', indent = '', quote, heading, bullet, box, number] =
      /^(\s*)(?:((?:> ?)+)|(#{1,6})\s+(?=\S)|([-*+])\s+(?=\S)(\[[ xX]\]\s+)?|(\d+[.)])\s+(?=\S))?/.exec(line) ?? []
    this.#begun = { styles: heading === undefined ? [] : heading.length === 1 ? ['bold', 'underline'] : ['bold'], before: '' }
    const mark =
      quote !== undefined
        ? this.#dim('│ '.repeat(quote.replaceAll(' ', '').length))
        : bullet !== undefined
          ? `${box === undefined ? '•' : /x/i.test(box) ? '☑' : '☐'} `
          : number === undefined
            ? ''
            : `${number} `
    return { shown: `${indent}${mark}`, rest: line.slice(whole.length) }
  }

  /** Returns the output for the rest of a complete line. The start of the line was already shown. */
  #rest(line: string): string {
    const { styles, before } = this.#begun ?? { styles: [], before: '' }
    this.#begun = undefined
    return this.#written(readInline(line, before, true, styles).spans)
  }

  #codeLine(line: string, { marks, isDiff }: { marks: string; isDiff: boolean }): string {
    const isEnd = line.trim().startsWith(marks) && new RegExp(`^\\s*[${marks[0]}]+\\s*$`).test(line)
    if (isEnd) {
      this.#code = undefined
      return this.#rule('')
    }
    if (!isDiff) return line
    const [first] = line
    return first === '+' || first === '-' ? this.#screen.style([first === '+' ? 'green' : 'red'], line) : line
  }

  #endTable(): string {
    if (this.#table.length === 0) return ''
    const lines = this.#table
    this.#table = []
    const rows = layOutTable(lines, this.#screen.columns() - 1)
    const shown = rows === undefined ? lines : rows.map((row) => this.#written(row))
    return `${shown.join('\n')}\n`
  }

  #rule(name: string): string {
    const width = Math.min(longestRule, this.#screen.columns() - 1)
    return this.#dim(name === '' ? '─'.repeat(width) : `── ${name} `.padEnd(width, '─'))
  }

  #dim(text: string): string {
    return this.#screen.style(['dim'], text)
  }

  #written(spans: readonly Span[]): string {
    return spans.map(({ text, styles }) => (styles.length === 0 || text === '' ? text : this.#screen.style(styles, text))).join('')
  }
}
