import { describe, expect, it } from 'vitest'
import { scriptedModel } from '../../src/testing/index.ts'
import { hasBrowser, useBrowser } from './page-browser.ts'
import { payTool, startService } from './start-service.ts'

describe.skipIf(!hasBrowser)('the command palette of the admin page, in a browser', () => {
  const open = useBrowser()

  it('goes to views, runs and tools and does things, by the keyboard alone, and says what it has chosen', async () => {
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
    await find('dark', 'Dark colours')
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
})
