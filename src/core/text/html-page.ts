/** Where a page begins: a start tag alone may be quoted by an error that is about HTML. */
const pageStart = /<!doctype\s+html\b|<html\b(?=[\s\S]{0,2000}?<(?:head|title|body|h1)\b)/i
/** Bounded, so that a page can't make it read itself again and again. */
const titleOf = /<title\b[^>]{0,200}>([^<]{1,1000})/i
const headingOf = /<(?:h1|pre)\b[^>]{0,200}>([^<]{1,1000})/i
const pageEnd = '</html>'
/** Comments that nginx sends behind a page, for browsers that show none which is short. */
const padding = /<!--[\s\S]{0,200}?-->/g
/** Titles that say nothing, such as that of Express. */
const untelling = /^(?:error|document)?$/i
const mostTitle = 200

/**
 * A text in which a page of HTML, such as a gateway or a proxy sends in place of an answer, is told in a few words: by its title, or else by its
 * heading. A text without one stays as it is.
 */
export function withoutPage(text: string): string {
  const start = text.search(pageStart)
  if (start === -1) return text
  const page = text.slice(start)
  const end = page.toLowerCase().indexOf(pageEnd)
  const after =
    end === -1
      ? ''
      : page
          .slice(end + pageEnd.length)
          .replace(padding, '')
          .replace(/\s+/g, ' ')
          .trimEnd()
  return `${text.slice(0, start)}${describePage(page)}${after}`
}

function describePage(page: string): string {
  const told = [titleOf, headingOf].map((part) => part.exec(page)?.[1]?.replace(/\s+/g, ' ').trim() ?? '')
  const title = told.find((text) => !untelling.test(text))
  return title === undefined ? 'an HTML page' : `an HTML page titled "${title.slice(0, mostTitle).toWellFormed()}"`
}
