import { Lexer, type Token, type Tokens } from 'marked'
import type { ComponentChildren } from 'preact'
import { CopyButton } from '../ui/copy.tsx'
import { scrollable } from '../ui/scrollable.ts'

/** Maximum nesting depth. Deeper content is shown as plain text. */
const deepest = 24

/** Matches text that would keep the parser busy for very long. Text that is written for readers doesn't match. */
const isHard = /\S{2000}|(?:> ?){50}|(?:[-*+] ){50}/

/** The HTML entities that models use. */
const entities: Readonly<Record<string, string>> = {
  ...{ amp: '&', lt: '<', gt: '>', quot: '"', apos: "'", nbsp: '\u00a0', copy: '©', reg: '®', trade: '™', deg: '°', middot: '·' },
  ...{ ndash: '–', mdash: '—', hellip: '…', laquo: '«', raquo: '»', times: '×', euro: '€', bull: '•', larr: '←', rarr: '→' },
}

/** A block of a Markdown text: its source, and the function that draws it. */
export interface MarkdownBlock {
  raw: string
  draw(): ComponentChildren
}

/**
 * Parses a Markdown text into blocks. Blocks are drawn with a fixed set of elements: HTML in the text stays text, images become links, and
 * links lead only to web addresses. Returns undefined if the text should be shown unformatted.
 */
export function blocksOf(text: string): MarkdownBlock[] | undefined {
  if (isHard.test(text)) return undefined
  try {
    return new Lexer({ gfm: true }).lex(text).map((token) => ({ raw: token.raw, draw: () => block(token, 0) }))
  } catch (error) {
    // The text is nested deeper than the parser can handle.
    if (error instanceof RangeError) return undefined
    throw error
  }
}

/** The tokens that the parser creates. The parser's own type `Token` is not used, because it allows any type of token. */
type Known =
  | Tokens.Space
  | Tokens.Def
  | Tokens.Heading
  | Tokens.Paragraph
  | Tokens.Text
  | Tokens.Code
  | Tokens.Blockquote
  | Tokens.List
  | Tokens.Table
  | Tokens.Hr
  | Tokens.Escape
  | Tokens.Strong
  | Tokens.Em
  | Tokens.Del
  | Tokens.Codespan
  | Tokens.Br
  | Tokens.Link
  | Tokens.Image

function blocks(tokens: Token[], depth: number): ComponentChildren[] {
  return tokens.map((token) => block(token, depth))
}

function block(any: Token, depth: number): ComponentChildren {
  const token = any as Known
  if (depth > deepest) return <p>{token.raw}</p>
  switch (token.type) {
    case 'space':
    case 'def':
      return null
    case 'heading': {
      const Heading = token.depth === 1 ? 'h4' : token.depth === 2 ? 'h5' : 'h6'
      return <Heading>{inlines(token.tokens, depth)}</Heading>
    }
    case 'paragraph':
    case 'text':
      return <p>{token.tokens === undefined ? decoded(token.text) : inlines(token.tokens, depth)}</p>
    case 'code':
      return <Code {...token} />
    case 'blockquote':
      return <blockquote>{blocks(token.tokens, depth + 1)}</blockquote>
    case 'list': {
      const List = token.ordered ? 'ol' : 'ul'
      return (
        <List start={token.ordered && token.start !== 1 && token.start !== '' ? token.start : undefined}>
          {token.items.map((item) => listItem(item, depth))}
        </List>
      )
    }
    case 'table':
      return <Table {...token} depth={depth} />
    case 'hr':
      return <hr />
    default:
      return <p>{token.raw}</p>
  }
}

function listItem({ task, checked, tokens }: Tokens.ListItem, depth: number) {
  return (
    <li>
      {task && (checked ? '☑ ' : '☐ ')}
      {blocks(tokens, depth + 1)}
    </li>
  )
}

function Code({ text, lang = '' }: { text: string; lang?: string }) {
  const [language = ''] = lang.split(/\s/)
  return (
    <div class="value code-block">
      {language !== '' && <span class="muted">{language}</span>}
      <pre class="code" {...scrollable(`Code ${language}`.trim())}>
        {text}
      </pre>
      <CopyButton label="Copy code" textOf={() => text} />
    </div>
  )
}

function Table({ header, rows, depth }: Pick<Tokens.Table, 'header' | 'rows'> & { depth: number }) {
  const cell = ({ tokens, align, header: isHeader }: Tokens.TableCell) => {
    const Cell = isHeader ? 'th' : 'td'
    return <Cell data-align={align ?? undefined}>{inlines(tokens, depth)}</Cell>
  }
  const line = (cells: Tokens.TableCell[]) => <tr>{cells.map(cell)}</tr>
  return (
    <div class="table-box" {...scrollable('Table')}>
      <table>
        <thead>{line(header)}</thead>
        <tbody>{rows.map(line)}</tbody>
      </table>
    </div>
  )
}

function inlines(tokens: Token[], depth: number): ComponentChildren[] {
  return tokens.map((token) => inline(token, depth + 1))
}

function inline(any: Token, depth: number): ComponentChildren {
  const token = any as Known
  if (depth > deepest) return token.raw
  switch (token.type) {
    case 'text':
      return token.tokens === undefined ? decoded(token.text) : <span>{inlines(token.tokens, depth)}</span>
    case 'escape':
      return token.text
    case 'strong':
    case 'em':
    case 'del': {
      const Mark = token.type
      return <Mark>{inlines(token.tokens, depth)}</Mark>
    }
    case 'codespan':
      return <code>{token.text}</code>
    case 'br':
      return <br />
    case 'link':
      return link(token.href, inlines(token.tokens, depth)) ?? token.raw
    case 'image':
      return link(token.href, `Image: ${token.text || token.href}`) ?? token.raw
    default:
      return token.raw
  }
}

const schemes = ['http:', 'https:', 'mailto:']

/** Returns a link, or undefined if the address is not a web address. */
function link(href: string, content: ComponentChildren) {
  // The address is parsed without a base, because a model must not link to parts of this page or service.
  const url = URL.parse(href)
  if (url === null || !schemes.includes(url.protocol)) return undefined
  return (
    <a href={url.href} rel="noreferrer noopener" target="_blank" title={url.href}>
      {content}
    </a>
  )
}

function decoded(text: string): string {
  return text.replace(/&(?:#(\d{1,7})|#x([\da-f]{1,6})|(\w{2,8}));/gi, (whole, decimal, hex, name) => {
    const number = Number(decimal ?? `0x${hex ?? ''}`)
    if (name !== undefined) return (Object.hasOwn(entities, name) ? entities[name] : undefined) ?? whole
    return number > 0 && number <= 0x10ffff ? String.fromCodePoint(number) : whole
  })
}
