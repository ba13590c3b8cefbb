import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import type { Page } from 'playwright-core'

const axe = readFileSync(fileURLToPath(import.meta.resolve('axe-core/axe.min.js')), 'utf8')

/** What is out of view is laid out as well: otherwise the browser would do that again for each of axe's questions. */
const layOutAll = `document.styleSheets[0].insertRule('* { content-visibility: visible !important }')`

/** What keeps somebody from using the page as it is: what axe calls serious, and headings that leave out a level. */
export async function barriers(page: Page): Promise<string[]> {
  await page.evaluate(axe)
  await page.evaluate(layOutAll)
  const found = await page.evaluate<string[]>(`axe.run(document, { resultTypes: ['violations'] }).then(({ violations }) => violations
    .filter(({ id, impact }) => impact === 'serious' || impact === 'critical' || id === 'heading-order')
    .map(({ id, nodes }) => id + ' ' + nodes[0].html))`)
  await page.evaluate('document.styleSheets[0].deleteRule(0)')
  return found
}

/** Each color scheme, on a desktop and on a phone. The last one is where the tests begin. */
const looks = (['dark', 'light'] as const).flatMap((colorScheme) => [390, 1024].map((width) => ({ colorScheme, width })))

/** The barriers of what is on the page, in every look. */
export async function barriersInAllLooks(page: Page): Promise<string[]> {
  const found: string[] = []
  for (const { colorScheme, width } of looks) {
    await page.emulateMedia({ colorScheme })
    await page.setViewportSize({ width, height: 844 })
    found.push(...(await barriers(page)).map((barrier) => `${colorScheme} ${width}: ${barrier}`))
  }
  return found
}
