import type { Page } from 'playwright-core'
import { describe, expect, it } from 'vitest'
import type { JsonObject } from '../../src/core/messages.ts'
import { type ScriptedTurn, scriptedModel } from '../../src/testing/index.ts'
import { defineTool } from '../../src/tools/tool.ts'
import { barriersInAllLooks } from './page-axe.ts'
import { hasBrowser, useBrowser } from './page-browser.ts'
import { watchWork } from './page-tasks.ts'
import { configFile, startService } from './start-service.ts'

/** A service whose model makes one call after the other, with these arguments. */
async function startAsking(calls: JsonObject[]) {
  const ran: unknown[] = []
  const write = defineTool({
    name: 'write_file',
    description: 'Writes a file.',
    approval: true,
    parameters: { type: 'object' },
    execute: (args) => void ran.push(args),
  })
  const turns = calls.flatMap((args): (ScriptedTurn | string)[] => [{ toolCalls: [{ name: 'write_file', arguments: args }] }, 'done'])
  const model = scriptedModel(turns)
  const { file } = await configFile('service: { maxBodyBytes: 20000000, waitingMegabytes: 200, keepRuns: { waitingMegabytes: 200 } }\n')
  const { url, post } = await startService({ model, tools: [write], configFile: file, modelIsFixed: true })
  return { url, ask: () => post('/v1/runs', { input: 'write it' }), ran }
}

const lines = `${Array.from({ length: 20_000 }, (_, at) => `line ${at} of a long file, with some more words in it\n`).join('')}THE END`

describe.skipIf(!hasBrowser)('calls that wait on the admin page, in a browser', () => {
  const open = useBrowser()
  const cardOf = (page: Page) => page.getByRole('article', { name: /write_file/ })

  it('DecisionCard with 1 MB of arguments never blocks the page: it shows them whole, searches them, edits parts of them, and approves them', async () => {
    expect(lines.length).toBeGreaterThan(1_000_000)
    const { url, ask, ran } = await startAsking([
      { path: 'a.txt', content: lines },
      { path: 'b.txt', content: lines },
    ])
    const page = await open(url, { path: '#/approvals' })
    page.setDefaultTimeout(90_000)
    const work = await watchWork(page)
    const card = cardOf(page)
    await ask()
    const approve = card.getByRole('button', { name: 'Approve', exact: true })
    await expect.poll(() => approve.isEnabled(), { timeout: 90_000 }).toBe(true)
    expect(await work.long()).toEqual([])
    expect(await card.getByRole('group', { name: 'Arguments' }).textContent()).toBe('{ "path": "a.txt" }')
    const content = card.getByRole('group', { name: 'content' })
    expect(await content.evaluate((element) => (element.textContent ?? '').length)).toBe(lines.length)
    await card.getByLabel('Find in content').fill('line 19999 of')
    await card.getByText('1 of 1', { exact: true }).waitFor()
    await approve.click()
    await page.getByText('Nothing is waiting for you.').waitFor()
    await ask()
    await card.getByRole('button', { name: 'Edit arguments' }).click()
    await card.getByText('content: is too large to edit here.').waitFor()
    await card.getByLabel('Arguments, as JSON').fill('{ "path": "c.txt" }')
    await card.getByRole('button', { name: 'Approve with these arguments' }).click()
    await page.getByText('Nothing is waiting for you.').waitFor()
    expect(ran.length).toBe(2)
    expect(ran[0]).toEqual({ path: 'a.txt', content: lines })
    expect(ran[1]).toEqual({ path: 'c.txt', content: lines })
  })

  it('DecisionCard with 5 MB of arguments shows them whole and approves them', async () => {
    const content = lines.repeat(Math.ceil(5_000_000 / lines.length))
    const { url, ask, ran } = await startAsking([{ path: 'a.txt', content }])
    const page = await open(url, { path: '#/approvals' })
    page.setDefaultTimeout(90_000)
    const card = cardOf(page)
    await ask()
    const approve = card.getByRole('button', { name: 'Approve', exact: true })
    await expect.poll(() => approve.isEnabled(), { timeout: 90_000 }).toBe(true)
    const shown = card.getByRole('group', { name: 'content' })
    expect(await shown.evaluate((element) => (element.textContent ?? '').length)).toBe(content.length)
    await approve.click()
    // To look for words in a text of 5 MB, again and again, would be the work of the page.
    await page.locator('.empty').waitFor()
    expect(ran).toEqual([{ path: 'a.txt', content }])
  })

  it('DecisionCard with 1 MB of JSON writes it out whole, and can fold it', async () => {
    const items = Array.from({ length: 400 }, (_, at) => ({ id: at, name: `name ${at} ${'x'.repeat(3_400)}`, tags: ['a', at % 7] }))
    expect(JSON.stringify(items).length).toBeGreaterThan(1_000_000)
    const { url, ask, ran } = await startAsking([{ items, dry: true }])
    const page = await open(url, { path: '#/approvals' })
    page.setDefaultTimeout(90_000)
    const work = await watchWork(page)
    await ask()
    const card = cardOf(page)
    const approve = card.getByRole('button', { name: 'Approve', exact: true })
    await expect.poll(() => approve.isEnabled(), { timeout: 90_000 }).toBe(true)
    await card.getByText('As a tree').click()
    await card.getByRole('treeitem').first().waitFor()
    expect(await work.long()).toEqual([])
    expect(JSON.parse((await card.getByRole('group', { name: 'items' }).textContent()) ?? '')).toEqual(items)
    await approve.click()
    await page.getByText('Nothing is waiting for you.').waitFor()
    expect(ran).toEqual([{ items, dry: true }])
  })

  it('DecisionCard does not approve a large argument if the service hides a part of it, even beside another one', async () => {
    const { url, ask, ran } = await startAsking([{ path: 'a.txt', content: { password: 'hunter2', text: lines.slice(0, 200_000) } }])
    const page = await open(url, { path: '#/approvals' })
    const card = cardOf(page)
    await ask()
    await card.getByText('Part of this call is redacted').waitFor()
    expect(await card.getByRole('button', { name: 'Approve', exact: true }).count()).toBe(0)
    await card.getByRole('button', { name: 'Edit arguments' }).click()
    await card.getByLabel('Arguments, as JSON').fill('{ "path": "c.txt" }')
    await card.getByRole('button', { name: 'Approve with these arguments' }).click()
    await card.getByText('Replace [redacted] with the actual value').waitFor()
    await card.getByLabel('Arguments, as JSON').fill('{ "path": "c.txt", "content": "none" }')
    await card.getByRole('button', { name: 'Approve with these arguments' }).click()
    await page.getByText('Nothing is waiting for you.').waitFor()
    expect(ran).toEqual([{ path: 'c.txt', content: 'none' }])
  })

  it('DecisionCard shows code as code', async () => {
    const content = 'def add(a, b):\n    return "a\u200b" + b\n'
    const { url, ask } = await startAsking([{ path: 'a.py', content }])
    const page = await open(url, { path: '#/approvals' })
    await ask()
    expect(await cardOf(page).getByRole('group', { name: 'content' }).textContent()).toBe(content.replace('\u200b', '‹U+200B›'))
    expect(await cardOf(page).getByRole('group', { name: 'Arguments' }).textContent()).toBe('{ "path": "a.py" }')
  })

  it('DecisionCard says what the call may do, what the model said and for whom; it shows a replaced text and a file as diffs, also while rejecting', async () => {
    const edit = defineTool({
      name: 'edit_file',
      description: 'Edits a file.',
      approval: true,
      effect: 'idempotent',
      parameters: {
        type: 'object',
        properties: { path: { type: 'string' }, old_string: { type: 'string' }, new_string: { type: 'string' } },
      },
      execute: () => 'edited',
    })
    const before = Array.from({ length: 5_000 }, (_, at) => `line ${at}`)
    const after = before.with(7, 'line seven').with(4_990, 'almost the last')
    const replace = defineTool({
      name: 'replace_file',
      description: 'Replaces a file.',
      parameters: { type: 'object', properties: { path: { type: 'string' } } },
      approval: ({ path }) => ({ about: { path, before: before.join('\n'), after: after.join('\n') } }),
      execute: () => 'replaced',
    })
    const args = { path: 'a.ts', old_string: 'one\ntwo\nthree', new_string: 'one\nTWO\nthree' }
    const model = scriptedModel([
      { text: 'I shout the second line.', toolCalls: [{ name: 'edit_file', args }] },
      { toolCalls: [{ name: 'replace_file', args: { path: 'b.ts' } }] },
    ])
    const { url, post } = await startService({ model, tools: [edit, replace] })
    await post('/v1/runs', { input: 'shout' })
    await post('/v1/runs', { input: 'replace' })
    const page = await open(url, { path: '#/approvals' })
    const card = page.getByRole('article', { name: /edit_file/ })
    await card.getByText('The model said: I shout the second line.').waitFor()
    await card.getByText('safe to repeat').waitFor()
    await card.getByText('started by operator').waitFor()
    expect(await card.getByRole('group', { name: 'Arguments' }).textContent()).toBe('{ "path": "a.ts" }')
    const shown = async (of: typeof card, name = 'Change') =>
      (await of.getByRole('group', { name }).locator('.diff-line').allTextContents()).map((line) => line.trimEnd())
    const diff = ['  one', '- removed: two', '+ added: TWO', '  three']
    expect(await shown(card)).toEqual(diff)
    expect(await barriersInAllLooks(page)).toEqual([])
    await card.getByRole('button', { name: 'Reject' }).click()
    await card.getByLabel('Reason').waitFor()
    expect(await shown(card)).toEqual(diff)
    const file = page.getByRole('article', { name: /replace_file/ })
    const changed = await shown(file, 'Proposed change')
    expect(changed.filter((line) => !line.startsWith('  line'))).toEqual([
      '  … 4 lines the same',
      '- removed: line 7',
      '+ added: line seven',
      '  … 4,976 lines the same',
      '- removed: line 4990',
      '+ added: almost the last',
      '  … 6 lines the same',
    ])
  })

  it('DecisionList filters and groups calls by tool and user, and selects only those it shows', async () => {
    const send = 'send_quarterly_report_to_every_customer_of_the_region'
    const tools = ['pay', send].map((name) => defineTool({ name, description: name, approval: true, execute: () => 'done' }))
    const model = scriptedModel(({ messages }) => {
      const last = messages.at(-1)
      return last?.role === 'user' ? { toolCalls: [{ name: String(last.content), args: {} }] } : 'done'
    })
    const { url, post } = await startService({ model, tools })
    for (const input of ['pay', send, 'pay']) await post('/v1/runs', { input })
    const page = await open(url, { path: '#/approvals' })
    const cards = page.locator('.decision')
    await expect.poll(() => cards.count()).toBe(3)
    expect(await page.getByLabel('User', { exact: true }).count()).toBe(0)
    await page.setViewportSize({ width: 390, height: 700 })
    expect(await page.locator('.arrange-bar').evaluate((bar) => bar.getBoundingClientRect().right)).toBeLessThan(390)
    await page.setViewportSize({ width: 1024, height: 700 })
    await page.getByLabel('Group by').selectOption('tool')
    expect(await page.getByRole('region', { name: 'pay' }).locator('.decision').count()).toBe(2)
    expect(await barriersInAllLooks(page)).toEqual([])
    await page.getByLabel('Select all').check()
    await page.getByLabel('Tool', { exact: true }).selectOption('pay')
    await page.getByText('2 selected').waitFor()
    await page.getByRole('button', { name: 'Approve selected' }).click()
    await page.getByRole('dialog').getByText('pay: 2 calls').waitFor()
    await page.getByRole('dialog').getByRole('button', { name: 'Approve' }).click()
    await page.getByText('Nothing that waits fits these filters.').waitFor()
    await page.getByLabel('Tool', { exact: true }).selectOption('')
    await expect.poll(() => cards.count()).toBe(1)
  })
})
