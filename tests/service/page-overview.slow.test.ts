import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Locator } from 'playwright-core'
import { describe, expect, it, onTestFinished } from 'vitest'
import { scriptedModel } from '../../src/testing/index.ts'
import { barriersInAllLooks } from './page-axe.ts'
import { hasBrowser, useBrowser } from './page-browser.ts'
import { seedRuns } from './seed-runs.ts'
import { configFile, payTool, startService } from './start-service.ts'

describe.skipIf(!hasBrowser)('the overview of the admin page, in a browser', () => {
  const open = useBrowser()

  it('OverviewView shows the results of the runs of the last hour and day, as plots and as a table, and adds those that end meanwhile', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'toolloop-page-'))
    onTestFinished(() => rm(folder, { recursive: true, force: true }))
    await seedRuns(folder, [
      { id: 'a', title: 'the dear one', minutesAgo: 600, tools: ['pay'], costUsd: 2, answeredBy: 'openai/large', owner: 'ann' },
      {
        id: 'b',
        title: 'the failed one',
        minutesAgo: 20,
        stopReason: 'model_error',
        errorCode: 'rate_limited',
        answeredBy: 'openai/large',
      },
      // Waiting for people is no duration.
      { id: 'c', title: 'the good one', minutesAgo: 70, tools: ['look'], costUsd: 1, waitedMs: 3_600_000, answeredBy: 'google/small' },
    ])
    const { file } = await configFile(`service: { keepRuns: { folder: ${folder}, count: 10000, minutes: 1000000 } }\n`)
    const { url, post } = await startService({ configFile: file, model: scriptedModel(['done']) })
    const page = await open(url, { path: '#/overview' })
    const card = (name: string) => page.locator('section.metric').filter({ has: page.getByRole('heading', { name, exact: true }) })
    const total = (name: string) => card(name).locator('.metric-total').textContent()
    await card('Runs').waitFor()
    expect(await Promise.all(['Runs', 'Failures', 'Worked', 'Tokens', 'Cost'].map(total))).toEqual(['2', '1', '1.50 s', '240', '$1.00'])
    await card('How other runs ended').getByText('model error').waitFor()
    await card('By tool').getByText('look').waitFor()
    expect(await card('Runs').getByRole('img').getAttribute('aria-label')).toBe(
      'Runs by time: 2, ended. The numbers are in the table below.',
    )
    expect(await card('Runs').locator('.plot-bar').count()).toBe(2)
    const rows = page.locator('.overview-table tbody tr')
    await page.getByText('Show the numbers as a table').click()
    expect(await rows.count()).toBe(30)
    const ofRuns = async () => (await rows.locator('td:nth-child(2)').allTextContents()).reduce((sum, one) => sum + Number(one), 0)
    expect(await ofRuns()).toBe(2)

    await page.getByRole('link', { name: 'Last day', exact: true }).click()
    await expect.poll(() => total('Runs')).toBe('3')
    expect(await total('Cost')).toBe('$3.00')
    expect(await rows.count()).toBe(48)
    expect(await page.getByRole('link', { name: 'Last day', exact: true }).getAttribute('aria-current')).toBe('true')
    await post('/v1/runs', { input: 'one more' })
    await expect.poll(() => total('Runs')).toBe('4')
    expect(await ofRuns()).toBe(4)
    // What was opened stays open.
    expect(await page.locator('.overview-table').getAttribute('open')).toBe('')
  })

  it('OverviewView links each figure, bar, stop reason, model, tool and user to its runs, and shows current problems first', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'toolloop-page-'))
    onTestFinished(() => rm(folder, { recursive: true, force: true }))
    await seedRuns(folder, [
      {
        id: 'a',
        title: 'the dear one',
        minutesAgo: 40,
        tools: ['pay'],
        costUsd: 2,
        tokens: 5_000,
        answeredBy: 'openai/large',
        owner: 'ann',
      },
      {
        id: 'b',
        title: 'the failed one',
        minutesAgo: 20,
        stopReason: 'model_error',
        errorCode: 'rate_limited',
        answeredBy: 'openai/large',
      },
      { id: 'c', title: 'the good one', minutesAgo: 10, tools: ['look'], costUsd: 1, answeredBy: 'google/small' },
    ])
    const { file } = await configFile(`service: { keepRuns: { folder: ${folder}, count: 10000, minutes: 1000000 } }\n`)
    const { tool } = payTool()
    const asks = { toolCalls: [{ name: 'pay', arguments: { euros: 1 } }] }
    const { url, post } = await startService({ configFile: file, model: scriptedModel([asks]), tools: [tool] })
    const page = await open(url, { path: '#/overview', viewport: { width: 1440, height: 900 } })
    const wrong = page.getByRole('region', { name: 'What needs attention' })
    await wrong.getByText('1 run in the last hour: model error, rate_limited').waitFor()
    const card = (name: string) => page.locator('section.metric').filter({ has: page.getByRole('heading', { name, exact: true }) })
    const row = (name: string, text: string) => card(name).getByRole('row', { name: new RegExp(`^${text}`) })
    expect(await row('By model', 'openai/large').locator('th, td').allTextContents()).toEqual(['openai/large', '2', '1', '5,120', '$2.00'])
    expect(await row('By tool', 'pay').locator('td').allTextContents()).toEqual(['1', '', '5,000', '$2.00'])
    expect(await row('By user', 'ann').locator('td').allTextContents()).toEqual(['1', '', '5,000', '$2.00'])
    const leadsTo = async (link: Locator, ...titles: string[]) => {
      await link.click()
      await expect.poll(() => page.locator('.run-link').allTextContents(), { timeout: 30_000 }).toEqual(titles)
      await page.goBack()
      await card('Runs').waitFor()
    }
    await leadsTo(wrong.getByRole('link', { name: /rate_limited/ }), 'the failed one')
    await leadsTo(card('Runs').locator('.metric-total a'), 'the good one', 'the failed one', 'the dear one')
    await leadsTo(card('Failures').locator('.metric-total a'), 'the failed one')
    await leadsTo(card('Cost').locator('.metric-total a'), 'the dear one', 'the good one', 'the failed one')
    await leadsTo(row('By model', 'google/small').getByRole('link'), 'the good one')
    await leadsTo(row('By tool', 'pay').getByRole('link'), 'the dear one')
    await leadsTo(row('By user', 'ann').getByRole('link'), 'the dear one')
    await leadsTo(card('How other runs ended').getByRole('link', { name: 'model error: rate_limited' }), 'the failed one')
    // A bar, and with the keyboard its row in the table.
    const bar = await page.evaluate<number>(
      `[...document.querySelectorAll('.plot-steps')][1].querySelectorAll('a').values().toArray().findIndex(({ title }) => / 1$/.test(title))`,
    )
    await leadsTo(card('Failures').locator('.plot-step').nth(bar), 'the failed one')
    await page.getByText('Show the numbers as a table').click()
    await leadsTo(page.locator('.overview-table tbody tr').nth(bar).getByRole('link').last(), 'the failed one')
    expect(await barriersInAllLooks(page)).toEqual([])
    await post('/v1/runs', { input: 'pay' })
    await wrong.getByText('1 call waits for a decision').waitFor()
    await wrong.getByRole('link', { name: '1 call waits for a decision' }).click()
    await page.getByRole('heading', { name: 'Approvals' }).waitFor()
  })

  it('WrongNow says that nothing is wrong', async () => {
    const { url, post } = await startService({ model: scriptedModel(['done']) })
    await post('/v1/runs', { input: 'x' })
    const page = await open(url, { path: '#/overview' })
    await page.getByText('Nothing is wrong: no run has failed in the last hour, and nothing waits for you.').waitFor()
  })

  it('FirstRun explains how to start a run if there is none, and starts one only on the demo model', async () => {
    const demo = await startService({ model: 'demo', builtinTools: ['calculate'] })
    const page = await open(demo.url, { path: '#/overview' })
    await page.getByText('No run has ended in the last hour.').waitFor()
    expect(await page.getByRole('group', { name: 'Command' }).textContent()).toContain(`curl -s ${demo.url}/v1/runs`)
    await page.goto(`${demo.url}/admin/#/runs`)
    await page.getByText('No runs yet.').waitFor()
    await page.getByRole('button', { name: 'Start a demo run' }).click()
    await page.waitForURL(/#\/runs\/run_/)
    await page.getByText(/391/).first().waitFor()

    const real = await startService({ model: scriptedModel([]) })
    await page.goto(`${real.url}/admin/#/overview`)
    await page.getByText('No run has ended in the last hour.').waitFor()
    expect(await page.getByRole('button', { name: 'Start a demo run' }).count()).toBe(0)
  })
})
