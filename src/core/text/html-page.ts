/** The start of a page. The tag `<html>` alone doesn't count, because an error message about HTML may quote it. */
const pageStart = /<!doctype\s+html\b|<html\b(?=[\s\S]{0,2000}?<(?:head|title|body|h1)\b)/i
/** The lengths are limited, so that a hostile page can't make the pattern scan the text repeatedly. */
const titleOf = /<title\b[^>]{0,200}>([^<]{1,1000})/i
const headingOf = /<(?:h1|pre)\b[^>]{0,200}>([^<]{1,1000})/i
const pageEnd = '</html>'
/** Comments that nginx adds after a short page, for browsers that would not show it otherwise. */
const padding = /<!--[\s\S]{0,200}?-->/g
/** Titles without information, such as Express's. */
const untelling = /^(?:error|document)?$/i
const mostTitle = 200

/**
 * Replaces an HTML page in a text, such as the error page of a gateway or proxy, by its title or heading. Returns a text without a page
 * unchanged.
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
