import { Lexer } from 'marked'
import { copyButton } from '../ui/copy.js'
import { h } from '../ui/dom.js'

/** @typedef {any} Token */

/** What is nested deeper is shown as it is written. */
const deepest = 24

/** What nobody writes to be read, and what would take the reader much longer than all else. */
const isHard = /\S{2000}|(?:> ?){50}|(?:[-*+] ){50}/

/** Names of characters that models write. */
const entities = /** @type {Record<string, string>} */ ({
  ...{ amp: '&', lt: '<', gt: '>', quot: '"', apos: "'", nbsp: '\u00a0', copy: '©', reg: '®', trade: '™', deg: '°', middot: '·' },
  ...{ ndash: '–', mdash: '—', hellip: '…', laquo: '«', raquo: '»', times: '×', euro: '€', bull: '•', larr: '←', rarr: '→' },
})

/**
 * The blocks of a Markdown text, each with what it is written as. Its elements are made here, from a list of what may be there: markup in the
 * text stays text, images are links, and links lead to addresses on the web alone. Undefined: it is to be shown as it is.
 * @param {string} text
 * @returns {{ raw: string, element: () => Node | undefined }[] | undefined}
 */
export function blocksOf(text) {
  if (isHard.test(text)) return undefined
  try {
    return new Lexer({ gfm: true }).lex(text).map((token) => ({ raw: token.raw, element: () => block(token, 0) }))
  } catch (error) {
    // Nested deeper than the reader can follow.
    if (error instanceof RangeError) return undefined
    throw error
  }
}

/** @param {Token[]} tokens @param {number} depth */
function blocks(tokens, depth) {
  return tokens.map((token) => block(token, depth))
}

/** @param {Token} token @param {number} depth @returns {Node | undefined} */
function block(token, depth) {
  if (depth > deepest) return h('p', {}, token.raw)
  switch (token.type) {
    case 'space':
    case 'def':
      return undefined
    case 'heading':
      return h(token.depth === 1 ? 'h4' : token.depth === 2 ? 'h5' : 'h6', {}, ...inlines(token.tokens, depth))
    case 'paragraph':
    case 'text':
      return h('p', {}, ...(token.tokens === undefined ? [decoded(token.text)] : inlines(token.tokens, depth)))
    case 'code':
      return code(token)
    case 'blockquote':
      return h('blockquote', {}, ...blocks(token.tokens, depth + 1))
    case 'list':
      return h(
        token.ordered ? 'ol' : 'ul',
        { start: token.ordered && token.start !== 1 ? token.start : undefined },
        ...token.items.map((/** @type {Token} */ item) =>
          h('li', {}, item.task && (item.checked ? '☑ ' : '☐ '), ...blocks(item.tokens, depth + 1)),
        ),
      )
    case 'table':
      return table(token, depth)
    case 'hr':
      return h('hr')
    default:
      return h('p', {}, token.raw)
  }
}

/** @param {Token} token */
function code({ text, lang = '' }) {
  const [language = ''] = lang.split(/\s/)
  return h(
    'div',
    { className: 'value code-block' },
    language !== '' && h('span', { className: 'muted' }, language),
    h('pre', { className: 'code', tabindex: '0', role: 'group', 'aria-label': `Code ${language}`.trim() }, text),
    copyButton('Copy code', () => text),
  )
}

/** @param {Token} token @param {number} depth */
function table({ header, rows }, depth) {
  const row = (/** @type {Token[]} */ cells, /** @type {'th' | 'td'} */ tag) =>
    h('tr', {}, ...cells.map(({ tokens, align }) => h(tag, { 'data-align': align ?? undefined }, ...inlines(tokens, depth))))
  return h(
    'div',
    { className: 'table-box', tabindex: '0', role: 'group', 'aria-label': 'Table' },
    h('table', {}, h('thead', {}, row(header, 'th')), h('tbody', {}, ...rows.map((/** @type {Token[]} */ cells) => row(cells, 'td')))),
  )
}

/** @param {Token[]} tokens @param {number} depth @returns {(Node | string)[]} */
function inlines(tokens, depth) {
  return tokens.map((token) => inline(token, depth + 1))
}

/** @param {Token} token @param {number} depth @returns {Node | string} */
function inline(token, depth) {
  if (depth > deepest) return token.raw
  switch (token.type) {
    case 'text':
      return token.tokens === undefined ? decoded(token.text) : h('span', {}, ...inlines(token.tokens, depth))
    case 'escape':
      return token.text
    case 'strong':
    case 'em':
    case 'del':
      return h(/** @type {'strong' | 'em' | 'del'} */ (token.type), {}, ...inlines(token.tokens, depth))
    case 'codespan':
      return h('code', {}, token.text)
    case 'br':
      return h('br')
    case 'link':
      return link(token.href, inlines(token.tokens, depth)) ?? token.raw
    case 'image':
      return link(token.href, [`Image: ${token.text || token.href}`]) ?? token.raw
    default:
      return token.raw
  }
}

const schemes = ['http:', 'https:', 'mailto:']

/** @param {string} href @param {(Node | string)[]} content */
function link(href, content) {
  // Without a base: what leads to a place of this page or this service is none of the model's.
  const url = URL.parse(href)
  if (url === null || !schemes.includes(url.protocol)) return undefined
  return h('a', { href: url.href, rel: 'noreferrer noopener', target: '_blank', title: url.href }, ...content)
}

/** @param {string} text */
function decoded(text) {
  return text.replace(/&(?:#(\d{1,7})|#x([\da-f]{1,6})|(\w{2,8}));/gi, (whole, decimal, hex, name) => {
    const number = Number(decimal ?? `0x${hex ?? ''}`)
    if (name !== undefined) return (Object.hasOwn(entities, name) ? entities[name] : undefined) ?? whole
    return number > 0 && number <= 0x10ffff ? String.fromCodePoint(number) : whole
  })
}
