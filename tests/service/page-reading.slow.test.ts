import type { Locator, Page } from 'playwright-core'
import { describe, expect, it } from 'vitest'
import { scriptedModel } from '../../src/testing/index.ts'
import { defineTool } from '../../src/tools/tool.ts'
import { hasBrowser, useBrowser } from './page-browser.ts'
import { watchWork } from './page-tasks.ts'
import { json, startService } from './start-service.ts'

const large = { maxResultBytes: 20_000_000 }

/** What was copied last; a page without TLS has no clipboard of its own here. */
const keepCopies = `window.copied = ''; Object.defineProperty(navigator, 'clipboard', { value: { writeText: async (text) => { window.copied = text } } })`
/** Slower machines take longer. */
const eventually = <Value>(look: () => Promise<Value>) => expect.poll(look, { timeout: 30_000 })
/** Without all of it: to send it from one process to another is work of the page as well. */
const copied = (page: Page) =>
  page.evaluate<string>('`${window.copied.length} ${window.copied.slice(0, 80)} … ${window.copied.slice(-80)}`')
const short = (text: string) => `${text.length} ${text.slice(0, 80)} … ${text.slice(-80)}`

/** What the time line has of a call. */
async function detailsOf(page: Page, tool: string): Promise<Locator> {
  await page.getByRole('region', { name: 'Time line' }).locator('.bar-button', { hasText: tool }).click()
  return page.locator('.bar-details:not([hidden])')
}

describe.skipIf(!hasBrowser)('what is read on the admin page, in a browser', () => {
  const open = useBrowser()

  it('a result of 5 MB does not keep the page from answering: it is shown in parts, searched, and copied whole', async () => {
    const text = `${Array.from({ length: 100_000 }, (_, at) => `line ${at} of a long log, with some words\n`).join('')}THE END`
    const look = defineTool({ name: 'look', description: 'Looks.', parameters: { type: 'object' }, execute: () => text })
    const model = scriptedModel([{ toolCalls: [{ name: 'look' }] }, 'done'])
    const { url, post } = await startService({ model, tools: [look], agent: large })
    const { id } = await json(post('/v1/runs', { input: 'look' }))
    const page = await open(url)
    page.setDefaultTimeout(30_000)
    const work = await watchWork(page)
    await page.evaluate(keepCopies)
    await page.evaluate(`location.hash = '#/runs/${id}'`)
    const call = await detailsOf(page, 'look')
    await call.getByRole('button', { name: `Show all ${text.length.toLocaleString('en')} characters` }).click()
    const field = call.locator('[aria-label="Find in Result"]')
    const said = call.locator('.find-bar [role=status]')
    await field.fill('line 99999 of')
    await eventually(() => said.textContent()).toBe('1 of 1')
    const result = call.locator('[aria-label=Result]')
    const isSeen = (words: string) =>
      eventually(() =>
        page.evaluate(`(() => {
      const [range] = CSS.highlights.get('found') ?? []
      const [place, box] = [range?.getBoundingClientRect(), document.querySelector('.bar-details pre[role=group]').getBoundingClientRect()]
      return range?.toString() === ${JSON.stringify(words)} && place.top >= box.top && place.bottom <= box.bottom
    })()`),
      ).toBe(true)
    await isSeen('line 99999 of')
    await field.fill('SOME WORDS')
    await eventually(() => said.textContent()).toBe('1 of 1,000+')
    await field.press('Enter')
    await eventually(() => said.textContent()).toBe('2 of 1,000+')
    await field.press('Shift+Enter')
    await call.locator('[aria-label="Previous match"]').click()
    await eventually(() => said.textContent()).toBe('1,000 of 1,000+')
    await isSeen('some words')
    expect(await result.evaluate((element) => (element.textContent ?? '').length)).toBeGreaterThan(text.length - 50)
    await call.locator('[aria-label="Copy result"]').click()
    await eventually(() => copied(page)).toBe(short(text))
    await call.locator('.value-tools .link-button').click()
    await eventually(() => result.textContent()).toMatch(/^line 0 of .*\n.*words$/s)
    expect(await work.long()).toEqual([])
  })

  it('an answer of 5 MB does not keep the page from answering', async () => {
    const text = `${Array.from({ length: 25_000 }, (_, at) => `## Part ${at}\n\nSome *words* about \`it\`, and [a link](https://example.com/${at}).\n\n- one\n- two\n\n${'word '.repeat(24)}\n\n`).join('')}THE END`
    expect(text.length).toBeGreaterThan(5_000_000)
    const { url, post } = await startService({ model: scriptedModel([{ chunks: [text] }]) })
    const { id } = await json(post('/v1/runs', { input: 'say much' }))
    const page = await open(url)
    page.setDefaultTimeout(30_000)
    const work = await watchWork(page)
    await page.evaluate(keepCopies)
    await page.evaluate(`location.hash = '#/runs/${id}'`)
    const answer = page.locator('.item.assistant')
    await answer.locator('h5', { hasText: /^Part 1$/ }).waitFor()
    await answer.locator('.link-button', { hasText: /^Show [\d,]+ of [\d,]+ more characters/ }).click()
    await answer.locator('h5', { hasText: /^Part 700$/ }).waitFor({ state: 'attached' })
    await answer.locator('[aria-label="As written"]').click()
    await answer.locator('.text-block', { hasText: '## Part 1 ' }).first().waitFor()
    await answer.locator('[aria-label="Copy answer"]').click()
    await eventually(() => copied(page)).toBe(short(text))
    expect(await work.long()).toEqual([])
  })

  it('JSON of 200,000 values folds, is searched and copied by its parts, with keys and for screen readers', async () => {
    const items = Array.from({ length: 40_000 }, (_, at) => ({
      id: at,
      'the name': `name ${at} ${'x'.repeat(60)}`,
      tags: ['a', at % 7],
      ok: at % 2 === 0,
    }))
    const value = { items, text: `first line\n${'a long text '.repeat(50)}`, 'not an identifier': { deep: [{ end: 'NEEDLE' }] } }
    const look = defineTool({ name: 'look', description: 'Looks.', parameters: { type: 'object' }, execute: () => value })
    const model = scriptedModel([{ toolCalls: [{ name: 'look' }] }, 'done'])
    const { url, post } = await startService({ model, tools: [look], agent: large })
    const { id } = await json(post('/v1/runs', { input: 'look' }))
    const page = await open(url)
    page.setDefaultTimeout(30_000)
    const work = await watchWork(page)
    await page.evaluate(keepCopies)
    await page.evaluate(`location.hash = '#/runs/${id}'`)
    const call = await detailsOf(page, 'look')
    const tree = call.getByRole('tree', { name: 'Result' })
    await tree.waitFor()
    const rows = tree.getByRole('treeitem')
    expect(await rows.count()).toBeLessThan(30)
    expect(await tree.textContent()).toContain('40,000 items')
    await rows.first().focus()
    for (const key of ['ArrowRight', 'ArrowRight', 'ArrowRight', 'ArrowRight', 'ArrowRight', 'ArrowRight']) await page.keyboard.press(key)
    const selected = tree.locator('[aria-selected=true]')
    await eventually(() => selected.getAttribute('aria-level')).toBe('4')
    const path = call.locator('.json-path')
    expect(await path.textContent()).toBe('$.items')
    const field = call.locator('[aria-label="Find in Result"]')
    const said = call.locator('.find-bar [role=status]')
    await field.fill('needle')
    await eventually(() => said.textContent()).toBe('1 of 1')
    await eventually(() => path.textContent()).toBe('$["not an identifier"].deep[0].end')
    await field.fill('name 31234')
    await eventually(() => path.textContent()).toBe('$.items[31234]["the name"]')
    expect(await selected.textContent()).toContain('name 31234')
    await call.getByRole('button', { name: 'Copy value' }).click()
    await eventually(() => copied(page)).toBe(short(items[31_234]?.['the name'] ?? ''))
    await call.getByRole('button', { name: 'Copy path' }).click()
    await eventually(() => copied(page)).toBe(short('$.items[31234]["the name"]'))
    await call.getByRole('button', { name: 'Copy all' }).click()
    await eventually(() => copied(page)).toBe(short(JSON.stringify(value, null, 2)))
    await call.getByRole('button', { name: 'Unfold all' }).click()
    await eventually(() => rows.count()).toBeGreaterThan(1_000)
    await call.getByRole('button', { name: 'Fold all', exact: true }).click()
    await eventually(() => rows.count()).toBe(1)
    // By keys alone: opened, to its end, back to what it is part of.
    await rows.first().focus()
    await page.keyboard.press('Enter')
    await eventually(() => rows.count()).toBe(4)
    await page.keyboard.press('End')
    expect(await selected.textContent()).toContain('not an identifier')
    await page.keyboard.press('ArrowUp')
    await page.keyboard.press(' ')
    await tree.getByText('first line\na long text').waitFor()
    await page.keyboard.press('ArrowLeft')
    await page.keyboard.press('ArrowLeft')
    expect(await selected.getAttribute('aria-level')).toBe('1')
    expect(
      await rows.evaluateAll((all) =>
        all.map((row) => ['level', 'posinset', 'setsize'].map((name) => Number(row.getAttribute(`aria-${name}`)))),
      ),
    ).toEqual([
      [1, 1, 1],
      [2, 1, 3],
      [2, 2, 3],
      [2, 3, 3],
    ])
    expect(await work.long()).toEqual([])
  })
})
