import { describe, expect, it } from 'vitest'
import { ask as askSomebody } from '../../src/index.ts'
import { scriptedModel } from '../../src/testing/index.ts'
import { defineTool } from '../../src/tools/tool.ts'
import { hasBrowser, useBrowser } from './page-browser.ts'
import { json, startService } from './start-service.ts'

/** On how many lines the words before the rows of a table stand. */
const linesOfRowHeads = `[...new Set([...document.querySelectorAll('.compare th[scope=row]')].map((head) => {
  const words = new Range()
  words.selectNodeContents(head)
  return words.getClientRects().length
}))]`

describe.skipIf(!hasBrowser)('what runs say on the admin page, in a browser', () => {
  const open = useBrowser()

  it('Waterfall shows names that a model makes up without changing what is beside them', async () => {
    const model = scriptedModel([{ toolCalls: [{ name: 'safe\u202eyap' }] }, 'done'])
    const { url, post } = await startService({ model })
    const { id } = await json(post('/v1/runs', { input: 'go' }))
    const page = await open(url, { path: `#/runs/${id}` })
    const shown = 'safe‹U+202E›yap'
    await page.locator('.turns summary').click()
    expect(await page.locator('.call-tool').textContent()).toBe(shown)
    await page.getByRole('article', { name: `Call to ${shown}` }).waitFor()
    expect(await page.locator('.bars .bar-name').allTextContents()).toEqual(['Turn 1', shown, 'Turn 2'])
    await page.goto(`${url}/admin/#/overview`)
    await page.locator('.share-table').getByText(shown).waitFor()
  })

  it('RunView of an ended run opens with its answer and a summary, its turns folded; the ticks of its timeline are round numbers', async () => {
    const tool = defineTool({ name: 'look', description: 'Looks.', parameters: { type: 'object' }, execute: () => 'seen' })
    const model = scriptedModel([{ text: 'I look.', toolCalls: [{ name: 'look' }] }, { chunks: ['**All** is ', 'well.'] }])
    const { url, post } = await startService({ model, tools: [tool] })
    const { id } = await json(post('/v1/runs', { input: 'How is it?' }))
    const page = await open(url, { path: `#/runs/${id}` })
    const run = page.getByRole('region', { name: 'Run' })
    await run.getByRole('region', { name: 'Answer' }).getByText('All is well.').waitFor()
    const facts = await run.locator('.facts').first().locator('dt').allTextContents()
    expect(facts).toEqual(['Model', 'User', 'Started', 'Worked', 'Turns', 'Calls', 'Tokens', 'ID'])
    await run.getByRole('region', { name: 'Time line' }).waitFor()
    const order = await run.evaluate((panel) =>
      ['.facts', '.run-answer', '.outcome-line', '.waterfall', '.turns'].map((one) =>
        [...panel.querySelectorAll('*')].findIndex((element) => element.matches(one)),
      ),
    )
    expect(order).toEqual(order.toSorted((a, b) => a - b))
    expect(await run.getByText('I look.').count()).toBe(0)
    const ticks = await run.locator('.axis-line span').allTextContents()
    expect(ticks.length).toBeGreaterThan(1)
    expect(ticks.filter((tick) => !/^(0|[125]0{0,2} ms|[\d.]+ m?s)$/.test(tick) || tick.length > 6)).toEqual([])
    await run.getByText('Show what happened: 2 turns, 1 call').click()
    await run.getByText('I look.').waitFor()
    await run.getByRole('article', { name: 'Call to look' }).getByText('seen').waitFor()
  })

  it('CallCard shows a question of a tool neither as its result nor as an error', async () => {
    const choose = defineTool({
      name: 'choose',
      description: 'Asks.',
      parameters: { type: 'object' },
      execute: () => askSomebody({ about: 'Which account?', schema: { enum: ['one', 'two'] } }),
    })
    const { url, post } = await startService({ model: scriptedModel([{ toolCalls: [{ name: 'choose' }] }, 'done']), tools: [choose] })
    const { id } = await json(post('/v1/runs', { input: 'go' }))
    const page = await open(url, { path: `#/runs/${id}` })
    await page.locator('.decision').getByText('Which account?').waitFor()
    await page.locator('.bar-button', { hasText: 'choose' }).click()
    const details = page.locator('.bar-details:not([hidden])')
    await details.getByText('Outcome').waitFor()
    expect(await details.locator('h4').allTextContents()).toEqual(['Arguments'])
  })

  it('Compare shows two runs side by side, also on a phone, and only the view scrolls', async () => {
    const long = (word: string) => Array.from({ length: 200 }, (_, at) => `${word} ${at}`).join('\n')
    const { url, post } = await startService({ model: scriptedModel([long('left'), long('right')]) })
    const ids = [await json(post('/v1/runs', { input: 'left' })), await json(post('/v1/runs', { input: 'right' }))].map(({ id }) => id)
    for (const viewport of [
      { width: 1024, height: 700 },
      { width: 390, height: 844 },
    ]) {
      const page = await open(url, { path: `#/runs/${ids.join('~')}`, viewport })
      await page.locator('.compare .diff').getByText('right 50').waitFor()
      expect(await page.evaluate(`document.documentElement.scrollHeight`)).toBe(viewport.height)
      const table = page.getByRole('group', { name: 'Both runs' })
      expect(await table.evaluate((box) => [box.scrollWidth - box.clientWidth, box.scrollHeight - box.clientHeight])).toEqual([0, 0])
      expect(await page.evaluate(linesOfRowHeads)).toEqual([1])
    }
  })

  it('DecisionForms distinguish a choice among the items of a list from a list', async () => {
    const pick = defineTool({
      name: 'pick',
      description: 'Picks.',
      parameters: { type: 'object', properties: { kinds: { type: 'array', items: { enum: ['a', 'b'] } } } },
      execute: () => '',
    })
    const { url } = await startService({ model: scriptedModel([]), tools: [pick] })
    const page = await open(url, { path: '#/tools/pick' })
    expect(await page.locator('.parameters .type').textContent()).toBe('("a" | "b")[]')
  })
})
