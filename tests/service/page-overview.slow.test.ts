import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { scriptedModel } from '../../src/testing/index.ts'
import { hasBrowser, useBrowser } from './page-browser.ts'
import { seedRuns } from './seed-runs.ts'
import { configFile, startService } from './start-service.ts'

describe.skipIf(!hasBrowser)('the overview of the admin page, in a browser', () => {
  const open = useBrowser()

  it('shows what the runs of the last hour and day came to, as plots and as a table, and those that end while it is looked at', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'toolloop-page-'))
    onTestFinished(() => rm(folder, { recursive: true, force: true }))
    await seedRuns(folder, [
      { id: 'a', title: 'x', minutesAgo: 600, tools: ['pay'], costUsd: 2 },
      { id: 'b', title: 'x', minutesAgo: 20, stopReason: 'model_error' },
      { id: 'c', title: 'x', minutesAgo: 10, tools: ['look'], costUsd: 1 },
    ])
    const { file } = await configFile(`service: { keepRuns: { folder: ${folder}, count: 10000, minutes: 1000000 } }\n`)
    const { url, post } = await startService({ configFile: file, model: scriptedModel(['done']) })
    const page = await open(url, { path: '#/overview' })
    const card = (name: string) => page.locator('section.metric').filter({ has: page.getByRole('heading', { name, exact: true }) })
    const total = (name: string) => card(name).locator('.metric-total').textContent()
    await card('Runs').waitFor()
    expect(await Promise.all(['Runs', 'Failures', 'Duration', 'Tokens', 'Cost'].map(total))).toEqual(['2', '1', '1.50 s', '240', '$1.00'])
    await card('How other runs ended').getByText('model error').waitFor()
    await card('Tools, by runs that called them').getByText('look').waitFor()
    expect(await card('Runs').getByRole('img').getAttribute('aria-label')).toBe(
      'Runs by time: 2, ended. The numbers are in the table below.',
    )
    expect(await card('Runs').locator('.plot-bar').count()).toBe(2)
    const rows = page.locator('.overview-table tbody tr')
    await page.getByText('Show the numbers as a table').click()
    expect(await rows.count()).toBe(30)
    const ofRuns = async () => (await rows.locator('td:nth-child(2)').allTextContents()).reduce((sum, one) => sum + Number(one), 0)
    expect(await ofRuns()).toBe(2)

    await page.getByRole('link', { name: 'Last day' }).click()
    await expect.poll(() => total('Runs')).toBe('3')
    expect(await total('Cost')).toBe('$3.00')
    expect(await rows.count()).toBe(48)
    expect(await page.getByRole('link', { name: 'Last day' }).getAttribute('aria-current')).toBe('true')
    await post('/v1/runs', { input: 'one more' })
    await expect.poll(() => total('Runs'), { timeout: 20_000 }).toBe('4')
    expect(await ofRuns()).toBe(4)
    // What was opened stays open.
    expect(await page.locator('.overview-table').getAttribute('open')).toBe('')
  })

  it('without any runs, explains how to start one, and starts one on the demo model alone', async () => {
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
