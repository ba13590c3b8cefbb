import { describe, expect, it } from 'vitest'
import type { Caller } from '../../src/service/http/auth.ts'
import { scriptedModel } from '../../src/testing/index.ts'
import { hasBrowser, useBrowser } from './page-browser.ts'
import { json, payTool, startService } from './start-service.ts'

describe.skipIf(!hasBrowser)('the admin page of one tenant, in a browser', () => {
  const open = useBrowser()

  it('P3.7 App of a tenant shows its runs and decides their calls, and says why it has no configuration', async () => {
    const { tool, paid } = payTool()
    const model = scriptedModel(({ messages }) =>
      messages.at(-1)?.role === 'tool' ? 'done' : { toolCalls: [{ name: 'pay', args: { euros: 5 } }] },
    )
    const authenticate = (request: Request): Caller => ({
      name: 'boss',
      roles: ['run', 'admin'],
      tenant: { org: request.headers.get('x-org') ?? 'acme' },
    })
    const { url, post } = await startService({ model, tools: [tool], authenticate })
    await json(post('/v1/runs', { input: 'pay for acme' }))
    const other = await json(post('/v1/runs', { input: 'pay for zeta' }, { 'x-org': 'zeta' }))
    const page = await open(url, { path: '#/approvals' })
    const card = page.getByRole('article', { name: /pay/ })
    await card.getByRole('button', { name: 'Approve', exact: true }).click()
    await page.getByText('Nothing is waiting for you.').waitFor()
    expect(paid).toEqual([{ euros: 5 }])
    await page.goto(`${url}/admin/#/runs`)
    await page.getByText('pay for acme').first().waitFor()
    expect(await page.getByText('pay for zeta').count()).toBe(0)
    for (const path of ['config', 'models', 'tools']) {
      await page.goto(`${url}/admin/#/${path}`)
      await page.getByText('This concerns the whole service').first().waitFor()
    }
    await page.goto(`${url}/admin/#/overview`)
    await page.getByText('Runs', { exact: true }).first().waitFor()
    await page.goto(`${url}/admin/#/runs/${other.id}`)
    await page.getByText('It never existed, or is no longer stored.').first().waitFor()
    expect(await page.getByText('pay for zeta').count()).toBe(0)
  })
})
