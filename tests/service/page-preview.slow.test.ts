import { describe, expect, it } from 'vitest'
import { defineTool } from '../../src/index.ts'
import { scriptedModel } from '../../src/testing/index.ts'
import { hasBrowser, useBrowser } from './page-browser.ts'
import { json, startService } from './start-service.ts'

describe.skipIf(!hasBrowser)('the plan of a preview on the admin page, in a browser', () => {
  const open = useBrowser()

  it('PlanBar is a checklist: one button carries out the selected calls and rejects the others', async () => {
    const paid: string[] = []
    const pay = defineTool({
      name: 'pay',
      description: 'Pays.',
      parameters: { type: 'object', properties: { id: { type: 'string' } }, required: ['id'] },
      execute: ({ id }) => {
        paid.push(id)
        return `paid ${id}`
      },
    })
    const toolCalls = ['a', 'b', 'c'].map((id) => ({ name: 'pay', args: { id } }))
    const { url, post } = await startService({ model: scriptedModel([{ toolCalls }, 'The plan.', 'Done.']), tools: [pay] })
    const { id } = await json(post('/v1/runs', { input: 'pay', effects: 'preview' }))
    const page = await open(url, { path: `#/runs/${id}` })
    const cards = page.locator('.decision')
    await expect.poll(() => cards.count()).toBe(3)
    await page.getByText('Call 2 of 3 in the plan').waitFor()
    await page.getByRole('checkbox', { name: 'The whole plan' }).check()
    await page.getByRole('button', { name: 'Carry out 3 of 3' }).waitFor()
    await cards.nth(1).getByRole('checkbox', { name: 'Select pay' }).uncheck()
    await page.getByRole('button', { name: 'Carry out 2 of 3' }).click()
    await expect.poll(() => cards.count()).toBe(0)
    await page.getByText('Done.').first().waitFor()
    expect(paid).toEqual(['a', 'c'])
  })

  it('shows once what the model said, and asks before all calls are rejected', async () => {
    const pay = defineTool({ name: 'pay', description: 'Pays.', parameters: { type: 'object' }, execute: () => 'paid' })
    const toolCalls = ['a', 'b', 'c'].map((id) => ({ name: 'pay', args: { id } }))
    const model = scriptedModel([{ text: 'I pay them all.', toolCalls }, 'The plan.', 'None was paid.'])
    const { url, post } = await startService({ model, tools: [pay] })
    const { id } = await json(post('/v1/runs', { input: 'pay', effects: 'preview' }))
    const page = await open(url, { path: `#/runs/${id}` })
    const cards = page.locator('.decision')
    await expect.poll(() => cards.count()).toBe(3)
    expect(await page.locator('.decision-said').count()).toBe(1)
    await page.getByRole('button', { name: 'Reject all' }).click()
    const dialog = page.getByRole('dialog', { name: 'Reject 3 calls?' })
    await dialog.getByText('pay: 3 calls').waitFor()
    await dialog.getByRole('button', { name: 'Cancel' }).click()
    await expect.poll(() => page.getByRole('dialog').count()).toBe(0)
    expect(await cards.count()).toBe(3)
    await page.getByRole('button', { name: 'Reject all' }).click()
    await dialog.getByRole('button', { name: 'Reject' }).click()
    await page.getByText('None was paid.').first().waitFor()
    expect(await cards.count()).toBe(0)
  })
})
