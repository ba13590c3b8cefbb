import { describe, expect, it } from 'vitest'
import { scriptedModel } from '../../src/testing/index.ts'
import { hasBrowser, useBrowser } from './page-browser.ts'
import { payTool, startService } from './start-service.ts'

describe.skipIf(!hasBrowser)('the command palette of the admin page, in a browser', () => {
  const open = useBrowser()

  it('Palette opens views, runs and tools and runs commands, by keyboard alone, and says what is selected', async () => {
    const { tool } = payTool()
    const { url, post } = await startService({ model: scriptedModel(['the answer', 'other']), tools: [tool] })
    const { id } = (await (await post('/v1/runs', { input: 'about cranes' })).json()) as { id: string }
    await post('/v1/runs', { input: 'about herons' })
    const page = await open(url, { path: '#/approvals' })
    await page.getByRole('heading', { name: 'Approvals' }).waitFor()
    const field = page.getByRole('combobox', { name: 'Command' })
    const hash = () => new URL(page.url()).hash
    const chosen = () =>
      page.evaluate<string | undefined>(`(() => {
        const option = document.getElementById(document.querySelector('[role=combobox]')?.getAttribute('aria-activedescendant') ?? '')
        return option?.getAttribute('aria-selected') === 'true' ? option.querySelector('.palette-name').textContent : undefined
      })()`)
    const find = async (text: string, wanted: string) => {
      await page.keyboard.press('Control+k')
      await field.and(page.locator(':focus')).waitFor()
      await field.fill(text)
      await expect.poll(chosen).toBe(wanted)
      await page.keyboard.press('Enter')
      await field.waitFor({ state: 'detached' })
    }

    await find('mod', 'Models')
    await expect.poll(hash).toBe('#/models')
    await find('cranes', 'about cranes')
    await expect.poll(hash).toBe(`#/runs/${id}`)
    await page.getByRole('heading', { name: 'about cranes' }).waitFor()
    await find('export this', 'Export this run')
    await page.getByRole('dialog', { name: 'Export this run' }).waitFor()
    // A dialog is answered first.
    await page.keyboard.press('Control+k')
    expect(await field.count()).toBe(0)
    await page.keyboard.press('Escape')
    // By words of its answer, which only the service knows.
    await find('"herons" other'.replaceAll('"', ''), 'about herons')
    await page.getByRole('heading', { name: 'about herons' }).waitFor()
    await find('pay', 'pay')
    await expect.poll(hash).toBe('#/tools/pay')
    await expect.poll(() => page.locator('details.tool[open] .tool-name').textContent()).toBe('pay')
    const isDark = () => page.evaluate(`document.documentElement.dataset.theme === 'dark'`)
    await find('dark', 'Dark colors')
    await expect.poll(isDark).toBe(true)

    await page.getByRole('button', { name: 'Find' }).click()
    await expect.poll(chosen).toBe('Overview')
    await page.keyboard.press('ArrowUp')
    const last = await chosen()
    expect(last).not.toBe('Overview')
    await page.keyboard.press('ArrowDown')
    expect(await chosen()).toBe('Overview')
    expect(await page.getByRole('option', { selected: true }).count()).toBe(1)
    await field.fill('nothing is called so')
    await page.getByText('Nothing found').waitFor()
    expect(await chosen()).toBeUndefined()
    await page.keyboard.press('Escape')
    await field.waitFor({ state: 'detached' })
    await page.getByRole('button', { name: 'Find' }).and(page.locator(':focus')).waitFor()
    await find('sign out', 'Sign out')
    await page.getByRole('heading', { name: 'Sign in to toolloop' }).waitFor()
    await page.keyboard.press('Control+k')
    expect(await field.count()).toBe(0)
  })

  it('X4 Palette receives letters that are typed while it or the list of shortcuts loads; they decide nothing', async () => {
    const { tool, paid } = payTool()
    const asks = { toolCalls: [{ name: 'pay', arguments: { euros: 250 } }] }
    const { url, post } = await startService({ model: scriptedModel(() => asks), tools: [tool] })
    await post('/v1/runs', { input: 'a refund' })
    const page = await open(url, { path: '#/approvals' })
    const card = page.getByRole('article', { name: /pay/ })
    await card.getByText('250').waitFor()
    // Somebody has chosen the card: one more key would approve.
    await page.keyboard.press('a')
    await card.and(page.locator(':focus')).waitFor()
    const held = Promise.withResolvers<void>()
    const chunks = /\/(palette|commands|shortcut-list)-[^/]+\.js/
    await page.route(chunks, async (route) => {
      await held.promise
      await route.continue()
    })
    await page.keyboard.press('Control+k')
    await page.keyboard.type('approvalsx', { delay: 5 })
    await page.keyboard.press('Backspace')
    await page.keyboard.press('Enter')
    held.resolve()
    const field = page.getByRole('combobox', { name: 'Command' })
    await field.and(page.locator(':focus')).waitFor()
    await expect.poll(() => field.inputValue()).toBe('approvals')
    await page.getByRole('option', { name: /Approvals/, selected: true }).waitFor()
    await page.keyboard.press('Escape')
    await card.and(page.locator(':focus')).waitFor()
    await page.keyboard.press('?')
    await page.keyboard.type('aaa')
    await page.getByRole('dialog', { name: 'Keyboard shortcuts' }).waitFor()
    await page.keyboard.press('Escape')
    expect(await page.locator('.decision[data-decided]').count()).toBe(0)
    expect(paid).toEqual([])
  })

  it('X4 DecisionCard after a decided one has the focus but is not selected: no key decides it, nor Enter, held or pressed', async () => {
    const { tool, paid } = payTool()
    const { url, post } = await startService({
      model: scriptedModel(({ messages }) =>
        messages.at(-1)?.role === 'tool' ? 'done' : { toolCalls: [{ name: 'pay', arguments: { euros: 7 } }] },
      ),
      tools: [tool],
    })
    for (const input of ['first', 'second', 'third']) await post('/v1/runs', { input })
    const page = await open(url, { path: '#/approvals' })
    const waiting = page.locator('.decision:not([data-decided])')
    await expect.poll(() => waiting.count()).toBe(3)
    await waiting.first().getByRole('button', { name: 'Approve' }).and(page.locator(':enabled')).waitFor()
    await page.keyboard.press('a')
    await page.keyboard.press('a')
    await page.keyboard.press('Control+Enter')
    await expect.poll(() => paid.length).toBe(1)
    await page.locator('.decision:not([data-decided]):focus').waitFor()
    await page.keyboard.press('Enter')
    await page.keyboard.press('Control+Enter')
    // Held down, as the system repeats it.
    await page.keyboard.down('a')
    await page.keyboard.down('a')
    await page.keyboard.up('a')
    await page.locator('.decision:not([data-decided]):focus').waitFor()
    expect(paid).toHaveLength(1)
    await page.keyboard.press('a')
    await page.keyboard.press('Control+Enter')
    await expect.poll(() => paid.length).toBe(2)
  })

  it('X4 ApprovalsView approves nothing if a text is typed outside a field; `a` and Ctrl+Enter approve the selected call', async () => {
    const { tool, paid } = payTool()
    const asks = { toolCalls: [{ name: 'pay', arguments: { euros: 250 } }] }
    const { url, post } = await startService({ model: scriptedModel([asks, 'done']), tools: [tool] })
    await post('/v1/runs', { input: 'a refund' })
    const page = await open(url, { path: '#/approvals' })
    const card = page.getByRole('article', { name: /pay/ })
    await card.getByRole('button', { name: 'Approve' }).and(page.locator(':enabled')).waitFor()
    await page.keyboard.type('what a day, aa ja  ')
    await page.keyboard.press('Enter')
    await page.keyboard.press('j')
    await page.keyboard.press('Space')
    await page.keyboard.press('Control+Enter')
    await card.and(page.locator(':focus')).waitFor()
    expect(await page.locator('.decision[data-decided], .decision[aria-busy]').count()).toBe(0)
    expect(paid).toEqual([])
    await page.keyboard.press('a')
    await card.getByText('Ctrl Enter approves this call').and(page.locator(':focus')).waitFor()
    await page.keyboard.press('Control+Enter')
    await page.getByText('Nothing is waiting for you.').waitFor()
    expect(paid).toEqual([{ euros: 250 }])
  })

  it('DecisionCard still shows the arguments while its call is rejected', async () => {
    const { tool } = payTool()
    const asks = { toolCalls: [{ name: 'pay', arguments: { euros: 250 } }] }
    const { url, post } = await startService({ model: scriptedModel([asks, 'done']), tools: [tool] })
    await post('/v1/runs', { input: 'a refund' })
    const page = await open(url, { path: '#/approvals' })
    const card = page.getByRole('article', { name: /pay/ })
    await card.getByRole('button', { name: 'Reject' }).click()
    await card.getByLabel('Reason').and(page.locator(':focus')).waitFor()
    expect(await card.getByRole('group', { name: 'Arguments' }).textContent()).toBe('{ "euros": 250 }')
  })
})
