import { join } from 'node:path'
import type { Response } from 'playwright-core'
import { describe, expect, it, onTestFinished } from 'vitest'
import { AgentRunner, asTool } from '../../src/index.ts'
import { scriptedModel } from '../../src/testing/index.ts'
import { type AnyTool, defineTool } from '../../src/tools/tool.ts'
import { barriersInAllLooks } from './page-axe.ts'
import { hasBrowser, useBrowser } from './page-browser.ts'
import { longTasks, paceOf, watchTasks, watchWork } from './page-tasks.ts'
import { seedRuns, storedRuns } from './seed-runs.ts'
import { shippedPage } from './shipped-page.ts'
import { json, payTool, startService } from './start-service.ts'

const asks = (euros: number) => ({ toolCalls: [{ name: 'pay', arguments: { euros } }] })
const limits = { maxIterations: 200, limits: { repeatedCalls: Number.POSITIVE_INFINITY } }

describe.skipIf(!hasBrowser)('runs on the admin page, in a browser', () => {
  const open = useBrowser()

  it('ApprovalsView never loses a pending call behind newer runs, and shows decisions, by whom and when, for as long as the run', async () => {
    const { folder, options } = await storedRuns()
    const { tool, paid } = payTool()
    const first = await startService({ ...options, model: scriptedModel([asks(7), asks(8)]), tools: [tool] })
    const { id } = await json(first.post('/v1/runs', { input: 'the refund' }))
    await first.listening.close()
    await seedRuns(
      folder,
      Array.from({ length: 210 }, (_, at) => ({ id: `run_${at}`, title: `newer ${at}` })),
    )

    const second = await startService({ ...options, model: scriptedModel(['refunded']), tools: [tool] })
    const page = await open(second.url, { path: '#/approvals' })
    await page.getByText('1 call waiting, the first for').waitFor()
    const card = page.getByRole('article', { name: /pay/ })
    await card.getByText('Input: the refund').waitFor()
    await card.getByText(/Waiting for \d+ s/).waitFor()
    expect(await page.locator('#approvals-count').textContent()).toBe('1')
    // The first key only chooses the card.
    await page.keyboard.press('e')
    expect(await card.getByLabel('euros').count()).toBe(0)
    await page.keyboard.press('e')
    await card.getByLabel('euros').and(page.locator(':focus')).fill('5')
    await card.getByRole('group', { name: 'Changes' }).getByText('"euros": 5').waitFor()
    await page.keyboard.press('Control+Enter')
    await page.getByText('Nothing is waiting for you.').waitFor()
    expect(paid).toEqual([{ euros: 5 }])
    await second.listening.close()

    const third = await startService({ ...options, model: scriptedModel([]), tools: [tool] })
    await page.goto(`${third.url}/admin/#/runs/${id}`)
    const decisions = page.getByRole('region', { name: 'Decisions' })
    await decisions.getByText('operator approved with other arguments: pay').waitFor()
    expect(await decisions.locator('.diff-line.removed').textContent()).toContain('"euros": 7')
    expect(await decisions.locator('.diff-line.added').textContent()).toContain('"euros": 5')
    const run = (await (await third.ask(`/v1/runs/${id}`)).json()) as { decisions: { by: string; at: string; verdict: string }[] }
    expect(run.decisions).toMatchObject([{ by: 'operator', verdict: 'edited', args: { euros: 7 }, edited: { euros: 5 } }])
    expect(Date.parse(run.decisions[0]?.at ?? '')).toBeGreaterThan(Date.now() - 60_000)
  })

  it('ApprovalsView decides 50 pending calls at once, or one by one by keyboard', async () => {
    const { options } = await storedRuns()
    const { tool, paid } = payTool()
    const model = scriptedModel(({ messages }) => (messages.at(-1)?.role === 'user' ? asks(Number(messages.at(-1)?.content)) : 'done'))
    const { url, post } = await startService({ ...options, model, tools: [tool] })
    for (let euros = 1; euros <= 53; euros++) await post('/v1/runs', { input: String(euros) })
    const page = await open(url, { path: '#/approvals' })
    const cards = page.locator('.decision')
    await expect.poll(() => cards.count(), { timeout: 30_000 }).toBe(53)
    expect(await barriersInAllLooks(page)).toEqual([])
    await page.reload()
    await page.evaluate(watchTasks)
    await expect.poll(() => cards.count(), { timeout: 30_000 }).toBe(53)
    // What has waited longest is first.
    expect(await cards.first().textContent()).toContain('Input: 1{')
    await page.keyboard.press('j')
    await page.keyboard.press('a')
    await page.keyboard.press('Control+Enter')
    await expect.poll(() => cards.count(), { timeout: 30_000 }).toBe(52)
    await page.keyboard.press('j')
    await page.keyboard.press('r')
    await page.getByLabel('Reason').fill('no')
    await page.keyboard.press('Control+Enter')
    await expect.poll(() => cards.count(), { timeout: 30_000 }).toBe(51)
    await page.keyboard.press('j')
    await page.keyboard.press('x')
    await page.getByText('1 selected').waitFor()
    await page.getByLabel('Select all').check()
    await page.getByText('51 selected').waitFor()
    await cards.first().getByRole('checkbox').uncheck()
    await page.getByRole('button', { name: 'Approve selected' }).click()
    const dialog = page.getByRole('dialog', { name: 'Approve 50 calls?' })
    await dialog.getByText('pay: 50 calls').waitFor()
    await dialog.getByRole('button', { name: 'Approve' }).click()
    await expect.poll(() => cards.count()).toBe(1)
    expect(paid.length).toBe(51)
    expect(await longTasks(page)).toEqual([])
  })

  it('RunTable of 5,000 runs is filtered, sorted and summed, all of it in the address; a screen shows at least 20 rows', async () => {
    const { options } = await storedRuns(
      Array.from({ length: 5_000 }, (_, at) => ({
        id: `run_${String(at).padStart(5, '0')}`,
        title: `Question ${at}`,
        owner: at % 2 === 0 ? 'ann' : 'bob',
        minutesAgo: (5_000 - at) * 10,
        costUsd: at / 10_000,
        answeredBy: at < 1_000 ? 'openai/large' : 'google/small',
        ...(at === 17 ? { tools: ['pay'], output: 'The Needle ÄÖ was found', workedMs: 90_000, waitedMs: 3_600_000 } : {}),
        ...(at === 2_500 ? { stopReason: 'model_error', errorCode: 'rate_limited', session: 'ui/c7' } : {}),
      })),
    )
    const { url, post } = await startService({ ...options, model: scriptedModel(['done']) })
    await post('/v1/runs', { input: 'Question of ACME', metadata: { tenant: 'acme' } })
    const page = await open(url, { viewport: { width: 1440, height: 900 } })
    const rows = page.locator('.run-item')
    await rows.first().waitFor()
    const work = await watchWork(page)
    expect(await rows.count()).toBe(50)
    const cells = (row: number) => rows.nth(row).locator('th, td').allTextContents()
    expect((await cells(1)).slice(0, -1)).toEqual([
      ...['Question 4999', 'answered', 'small', 'bob', '1.50 s', '', '1', '0', '120', '$0.4999'],
    ])
    const seen = `[...document.querySelectorAll('.run-item')].filter((row) => row.getBoundingClientRect().bottom <= innerHeight).length`
    expect(await page.evaluate(seen)).toBeGreaterThanOrEqual(20)
    const totals = page.locator('.run-totals')
    const total = (text: RegExp) => expect.poll(() => totals.textContent(), { timeout: 30_000 }).toMatch(text)
    await total(/^5,001 runs · .* worked · 600K tokens · \$1249\.75$/)
    const search = page.getByLabel('Search runs')
    const shows = (...titles: string[]) =>
      expect.poll(() => page.locator('.run-link').allTextContents(), { timeout: 30_000 }).toEqual(titles)
    await page.keyboard.press('/')
    await page.keyboard.type('needle äö')
    await shows('Question 17')
    expect((await cells(0)).slice(3, 8)).toEqual(['bob', '1 min 30 s', '1 h 0 min', '1', '1'])
    await total(/^1 run · 1 min 30 s worked/)
    await search.fill('tool:pay user:bob')
    await shows('Question 17')
    await search.fill('run_00042')
    await shows('Question 42')
    await search.fill('user:ann needle')
    await page.getByText('No stored run fits.').waitFor()
    await page.getByRole('button', { name: 'Clear search and filters' }).click()
    await rows.nth(40).waitFor({ state: 'attached' })
    await page.getByRole('button', { name: 'Filters' }).click()
    const fields = page.locator('.filter-fields')
    await fields.getByLabel('State').selectOption('Model error')
    await shows('Question 2500')
    await fields.getByLabel('State').selectOption('Any state')
    for (const [label, text, found] of [
      ['Tool', 'pay', 'Question 17'],
      ['Error code', 'rate_limited', 'Question 2500'],
      ['Session', 'ui/c7', 'Question 2500'],
      ['Metadata', 'tenant=acme', 'Question of ACME'],
    ] as const) {
      await fields.getByLabel(label).fill(text)
      await shows(found)
      await fields.getByLabel(label).fill('')
      await total(/^5,001 runs/)
    }
    await fields.getByLabel('Worked').selectOption('1 min or more')
    await shows('Question 17')
    await fields.getByLabel('Worked').selectOption('Any duration')
    await fields.getByLabel('Started').selectOption('Last hour')
    await shows('Question of ACME', ...[4999, 4998, 4997, 4996, 4995].map((at) => `Question ${at}`))
    await fields.getByLabel('Started').selectOption('Any time')
    // The model that answered, by its name alone.
    await fields.getByLabel('Model').fill('large')
    await fields.getByLabel('User').fill('bob')
    await total(/^500 runs/)
    await page.getByRole('columnheader', { name: 'Cost' }).getByRole('link').click()
    await expect.poll(() => rows.first().textContent(), { timeout: 30_000 }).toContain('Question 999')
    await page.getByRole('navigation', { name: 'Pages' }).getByRole('link', { name: 'Next' }).click()
    await page.getByText('51–100 of 500').waitFor()
    await rows.first().getByText('Question 899').waitFor()
    await page.getByRole('link', { name: 'Question 897', exact: true }).click()
    await page.getByRole('region', { name: 'Run' }).getByText('bob').waitFor()
    expect(await page.evaluate('location.hash')).toBe('#/runs/run_00897?model=large&owner=bob&sort=-cost&page=2')
    await page.reload()
    await rows.first().getByText('Question 899').waitFor()
    expect(await page.locator('[data-selected] .run-link').textContent()).toBe('Question 897')
    await page.getByRole('button', { name: 'Remove the filter Model: large' }).click()
    await total(/^2,500 runs/)
    // A link of any age leads to its run.
    await page.evaluate(`location.hash = '#/runs/run_00003'`)
    await page.getByRole('heading', { name: 'Question 3' }).waitFor()
    expect(await work.long()).toEqual([])
    expect(await barriersInAllLooks(page)).toEqual([])
  })

  it('ColumnMenu and ViewMenu choose columns and views, by keyboard alone, and keep them in this browser', async () => {
    const { options } = await storedRuns([{ id: 'run_1', title: 'Question', session: 'ui/c1', costUsd: 2 }])
    const { url } = await startService({ ...options, model: scriptedModel([]) })
    const page = await open(url, { viewport: { width: 1440, height: 900 } })
    const heads = () => page.locator('.runs-table thead th').allTextContents()
    await page.locator('.run-item').waitFor()
    expect(await heads()).toEqual(['Input', 'State', 'Model', 'User', 'Worked', 'Waited', 'Turns', 'Calls', 'Tokens', 'Cost', 'Started'])
    await page.getByRole('button', { name: 'Columns' }).focus()
    await page.keyboard.press('Enter')
    await page.keyboard.press('Tab')
    await page.keyboard.press('Space')
    await page.getByRole('checkbox', { name: 'Session' }).focus()
    await page.keyboard.press('Space')
    const chosen = ['Input', 'Model', 'User', 'Worked', 'Waited', 'Turns', 'Calls', 'Tokens', 'Cost', 'Session', 'Started']
    expect(await heads()).toEqual(chosen)
    await page.keyboard.press('Escape')
    expect(await page.evaluate('document.activeElement.textContent')).toBe('Columns')
    await page.evaluate(`location.hash = '#/runs?minCostUsd=1&sort=cost'`)
    await page.getByRole('button', { name: 'Views' }).focus()
    await page.keyboard.press('Enter')
    await page.getByLabel('Save this view as').focus()
    await page.keyboard.type('Dear ones')
    await page.keyboard.press('Enter')
    await page.getByRole('link', { name: 'All runs', exact: true }).focus()
    await page.keyboard.press('Enter')
    await expect.poll(() => page.evaluate('location.hash')).toBe('#/runs')
    await page.reload()
    await page.locator('.run-item').waitFor()
    expect(await heads()).toEqual(chosen)
    await page.getByRole('button', { name: 'Views' }).press('Enter')
    await page.getByRole('link', { name: 'Dear ones' }).press('Enter')
    await expect.poll(() => page.evaluate('location.hash')).toBe('#/runs?minCostUsd=1&sort=cost')
    await page.getByRole('button', { name: 'Remove the filter Cost at least: $1.00' }).waitFor()
    // With `j`, the next run; with Escape, back to the same list.
    await page.keyboard.press('j')
    await page.getByRole('region', { name: 'Run' }).waitFor()
    expect(await page.evaluate('location.hash')).toBe('#/runs/run_1?minCostUsd=1&sort=cost')
    await page.keyboard.press('Escape')
    await expect.poll(() => page.evaluate('location.hash')).toBe('#/runs?minCostUsd=1&sort=cost')
  })

  it('RunTable says that a page of the list can’t be loaded, and requests it again by a button', async () => {
    const { options } = await storedRuns(Array.from({ length: 120 }, (_, at) => ({ id: `run_${at}`, title: `Question ${at}` })))
    const { url, listening } = await startService({ ...options, model: scriptedModel([]) })
    const page = await open(url)
    await page.locator('.run-item').nth(49).waitFor({ state: 'attached' })
    const failed: string[] = []
    page.on('requestfailed', (request) => failed.push(request.url()))
    const ofMore = () => failed.filter((address) => address.includes('offset=')).length
    await listening.close(0)
    const end = page.locator('.split-list .list-end')
    await end.getByRole('link', { name: 'Next' }).click()
    await end.getByText('The service can’t be reached').waitFor()
    await page.evaluate(
      `new Promise((resolve) => { let frames = 60; const next = () => (frames-- > 0 ? requestAnimationFrame(next) : resolve()); next() })`,
    )
    expect(ofMore()).toBe(1)
    await end.getByRole('button', { name: 'Try again' }).click()
    await expect.poll(ofMore).toBe(2)
    await end.getByText('The service can’t be reached').waitFor()
  })

  it('RunTable counts a run that starts while a page of the list is loading', async () => {
    const { options } = await storedRuns(Array.from({ length: 120 }, (_, at) => ({ id: `run_${at}`, title: `Question ${at}` })))
    const { url, post } = await startService({ ...options, model: scriptedModel(['done']) })
    const page = await open(url)
    const rows = page.locator('.run-item')
    const [asked, held] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
    await page.route(/offset=/, async (route) => {
      const response = await route.fetch()
      asked.resolve()
      await held.promise
      await route.fulfill({ response })
    })
    onTestFinished(async () => {
      held.resolve()
      await page.unroute(/offset=/)
    })
    await rows.nth(49).waitFor({ state: 'attached' })
    await page.getByRole('link', { name: 'Next' }).click()
    await asked.promise
    await post('/v1/runs', { input: 'something new' })
    held.resolve()
    await page.getByText('51–100 of 121').waitFor()
    expect(await rows.first().textContent()).toContain('Question 70')
    await page.getByRole('link', { name: 'Previous' }).click()
    await rows.filter({ hasText: /something new.*answered/ }).waitFor()
  })

  it('RunTable ignores older states of a run in a list that was requested earlier', async () => {
    const { options } = await storedRuns()
    const { tool } = payTool()
    const { url, post, ask } = await startService({
      ...options,
      model: scriptedModel(({ messages }) => (messages.at(-1)?.role === 'user' ? asks(1) : 'done')),
      tools: [tool],
    })
    await post('/v1/runs', { input: 'something else' })
    const { id } = await json(post('/v1/runs', { input: 'needle' }))
    const page = await open(url)
    const rows = page.locator('.run-item')
    await rows.nth(1).waitFor()
    const [answered, held] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
    const searches = /q=needle/
    await page.route(searches, async (route) => {
      const response = await route.fetch()
      answered.resolve()
      await held.promise
      await route.fulfill({ response })
    })
    onTestFinished(async () => {
      held.resolve()
      await page.unroute(searches)
    })
    await page.getByLabel('Search runs').fill('needle')
    await answered.promise
    const [{ toolCallId, fingerprint }] = (await json(ask(`/v1/runs/${id}`))).pending
    await post(`/v1/runs/${id}/decisions`, { decisions: [{ toolCallId, fingerprint, approved: true }] })
    const count = page.locator('#approvals-count')
    await expect.poll(() => count.textContent()).toBe('1')
    await rows.filter({ hasText: /needle.*answered/ }).waitFor()
    held.resolve()
    await expect.poll(() => rows.count()).toBe(1)
    expect(await rows.textContent()).toContain('answered')
    expect(await count.textContent()).toBe('1')
  })

  it('RunTable with a filter keeps matching runs, however many change at once', async () => {
    const { options } = await storedRuns()
    const { tool } = payTool()
    const { url, post } = await startService({ ...options, model: scriptedModel(() => asks(1)), tools: [tool] })
    // Each of these runs waits, and is in every full response.
    for (let at = 0; at < 60; at++) await post('/v1/runs', { input: 'needle' })
    await post('/v1/runs', { input: 'another' })
    const page = await open(url)
    const rows = page.locator('.run-item')
    const unfitting = rows.filter({ hasText: 'another' })
    await unfitting.waitFor()
    await page.getByLabel('Search runs').fill('needle')
    await unfitting.waitFor({ state: 'detached' })
    await expect.poll(() => rows.count(), { timeout: 30_000 }).toBe(50)
    await page.evaluate(
      `window.counts = []; new MutationObserver(() => window.counts.push(document.querySelectorAll('.run-item').length)).observe(document.querySelector('.runs-table tbody'), { childList: true })`,
    )
    const answered = page.waitForResponse((response) => /q=needle/.test(response.url()))
    await page.evaluate(`dispatchEvent(new Event('focus'))`)
    await (await answered).finished()
    await post('/v1/runs', { input: 'the needle that came last' })
    await rows.filter({ hasText: 'came last' }).waitFor({ state: 'attached' })
    expect(Math.min(...(await page.evaluate<number[]>('window.counts')))).toBeGreaterThanOrEqual(50)
  })

  it('RunTable with a filter that could not check a run checks it again with the next one', async () => {
    const { options } = await storedRuns()
    const { url, post } = await startService({ ...options, model: scriptedModel(() => 'done') })
    const page = await open(url)
    await page.getByLabel('Search runs').fill('needle')
    await page.getByText('No stored run fits.').waitFor()
    const lookups = /q=needle/
    let refused = 0
    await page.route(lookups, (route) => {
      refused++
      return route.abort()
    })
    const ended = page.waitForResponse(async (response) => {
      const { search } = new URL(response.url())
      return search.startsWith('?output=short&limit=50&id=') && (await response.json()).data[0]?.status === 'ended'
    })
    await post('/v1/runs', { input: 'a needle' })
    await (await ended).finished()
    await expect.poll(() => refused).toBeGreaterThan(0)
    await page.unroute(lookups)
    await post('/v1/runs', { input: 'another needle' })
    const titles = page.locator('.run-link')
    await titles.getByText('another needle').waitFor()
    expect(await titles.allTextContents()).toEqual(['another needle', 'a needle'])
  })

  it('App requests only what has changed, and receives nothing if nothing has', async () => {
    const { options } = await storedRuns(Array.from({ length: 300 }, (_, at) => ({ id: `run_${at}`, title: `Question ${at}` })))
    const { url, post } = await startService({ ...options, model: scriptedModel(['one', 'two', 'three']) })
    const page = await open(url)
    await page.getByText('Question 299').waitFor()
    const seen: { path: string; status: number; bytes: number }[] = []
    page.on('response', async (response) => {
      const { pathname, search } = new URL(response.url())
      // The browser asks for the icon when it likes, and for the scripts of a run after the list.
      if (!/\/(feed|icon\.svg|[\w-]+\.js)$/.test(pathname))
        seen.push({ path: pathname + search, status: response.status(), bytes: (await response.body().catch(() => '')).length })
    })
    await post('/v1/runs', { input: 'something new' })
    await page.getByRole('row', { name: /something new.*answered/ }).waitFor()
    expect(seen.length).toBeGreaterThan(0)
    expect(seen.map(({ path }) => path.replace(/run_[\w-]+/, 'ID'))).toEqual(seen.map(() => '/v1/runs?output=short&limit=50&id=ID'))
    expect(Math.max(...seen.map(({ bytes }) => bytes))).toBeLessThan(2_000)
    // The second time it is as it was the first time.
    for (const _ of [1, 2]) {
      seen.length = 0
      await page.evaluate(`dispatchEvent(new Event('focus'))`)
      await expect.poll(() => seen.length, { timeout: 30_000 }).toBeGreaterThanOrEqual(3)
    }
    expect(seen.map(({ status, bytes }) => [status, bytes])).toEqual(seen.map(() => [304, 0]))
  })

  it('App as shipped is one script, compressed and cached; it shows its first list within 400 ms at a round trip of 100 ms', async () => {
    const { options, folder } = await storedRuns(Array.from({ length: 300 }, (_, at) => ({ id: `run_${at}`, title: `Question ${at}` })))
    const { url } = await startService({ ...options, model: scriptedModel([]) })
    const shipped = await shippedPage(join(folder, 'page'), url)
    const page = await open(shipped)
    const row = page.getByText('Question 299').first()
    await row.waitFor()
    const devtools = await page.context().newCDPSession(page)
    onTestFinished(() => devtools.detach())
    await devtools.send('Network.enable')
    await devtools.send('Network.emulateNetworkConditions', { offline: false, latency: 100, downloadThroughput: -1, uploadThroughput: -1 })
    /** When the first row was there, and what had to be sent until then. */
    const load = async () => {
      await page.goto('about:blank')
      const seen: string[] = []
      const onResponse = (response: Response) => void seen.push(`${new URL(response.url()).pathname} ${response.status()}`)
      page.on('response', onResponse)
      await page.goto(`${shipped}/admin/`)
      await row.waitFor()
      page.off('response', onResponse)
      const ms = await page.evaluate<number>(`performance.getEntriesByName('first-list')[0].startTime`)
      const files = await page.evaluate<{ name: string; transferSize: number; encodedBodySize: number }[]>(
        `performance.getEntriesByType('resource').filter(({ startTime }) => startTime < performance.getEntriesByName('first-list')[0].startTime)
          .map(({ name, transferSize, encodedBodySize }) => ({ name, transferSize, encodedBodySize }))`,
      )
      // What three answers take, one after the other, doesn't depend on the machine.
      const awaited = 300
      return {
        ms: Math.round(awaited + (ms - awaited) * (await paceOf(page))),
        seen,
        files: files.filter(({ name }) => /-[\w-]{8}\.(?:js|css)$/.test(name)),
      }
    }
    // On a machine that does other things as well, the best of some counts. The first fills the cache.
    const loads = [await load()]
    while (loads.length < 4 || (loads.length < 10 && loads.every(({ ms }) => ms >= 400))) loads.push(await load())
    console.log('first list after', loads.map(({ ms }) => ms).join(', '), 'ms')
    expect(Math.min(...loads.map(({ ms }) => ms))).toBeLessThan(400)
    const last = loads.at(-1)
    expect(last?.files.map(({ transferSize }) => transferSize)).toEqual([0, 0, 0])
    expect(last?.files.reduce((sum, { encodedBodySize }) => sum + encodedBodySize, 0)).toBeLessThan(55_000)
  })

  it('Waterfall shows turns and calls, agents inside calls below them, failures and waiting; a click opens what was sent and answered', async () => {
    const { options } = await storedRuns()
    const { tool: pay } = payTool()
    const calls = (...names: string[]) => ({
      toolCalls: names.map((name) => ({ name, arguments: JSON.stringify(name === 'pay' ? { euros: 3 } : { task: name }) })),
    })
    const agent = (name: string, inside: string, tool: AnyTool) => {
      const runner = new AgentRunner({ model: scriptedModel([calls(inside), `${name} is done`]), tools: [tool] })
      return asTool(runner, { name, description: name, forwardEvents: true })
    }
    const look = defineTool({ name: 'look', description: 'Looks.', parameters: { type: 'object' }, execute: () => 'seen' })
    const fails = defineTool({
      name: 'fails',
      description: 'Fails.',
      parameters: { type: 'object' },
      execute: () => {
        throw new Error('no luck')
      },
    })
    const nested = agent('outer', 'middle', agent('middle', 'inner', agent('inner', 'look', look)))
    const model = scriptedModel([{ text: 'First.', ...calls('outer', 'fails') }, calls('pay'), 'All is done.'])
    const { url, post } = await startService({ ...options, model, tools: [nested, fails, pay] })
    const { id } = await json(post('/v1/runs', { input: 'do all of it' }))
    const page = await open(url, { path: `#/runs/${id}` })
    const line = page.getByRole('region', { name: 'Time line' })
    const names = () => line.locator('.bar-name').allTextContents()
    await line.getByText('pay').waitFor()
    const turns = [
      'Turn 1',
      'outer',
      'Turn 1',
      'middle',
      'Turn 1',
      'inner',
      'Turn 1',
      'look',
      'Turn 2',
      'Turn 2',
      'Turn 2',
      'fails',
      'Turn 2',
      'pay',
    ]
    await expect.poll(names, { timeout: 30_000 }).toEqual(turns)
    expect(await line.locator('.bar-row').evaluateAll((rows) => rows.map((row) => Number(row.getAttribute('data-depth'))))).toEqual([
      0, 1, 2, 3, 4, 5, 6, 6, 6, 4, 2, 1, 0, 1,
    ])
    expect(await line.locator('.bar-row[data-state="waiting"] .bar-name').allTextContents()).toEqual(['pay'])
    expect(await line.locator('.bar-row[data-state="failed"] .bar-name').allTextContents()).toEqual(['fails'])
    // Its arguments are shown once, beside the decision.
    expect(await page.locator('.run-panel').getByText('"euros": 3').count()).toBe(1)
    await page.locator('.decision').getByRole('button', { name: 'Approve' }).click()
    await line.getByText('Turn 3').waitFor()
    await expect.poll(names, { timeout: 30_000 }).toEqual([...turns, 'Turn 3'])
    await line.getByText(/waited for/).waitFor()
    expect(await line.locator('.bar-row', { hasText: 'pay' }).locator('i.wait').count()).toBe(1)
    await page.getByText('Answered after 3 tool calls').waitFor()
    await line.getByRole('button', { name: /^Turn 3/ }).click()
    const details = line.locator('.bar-details:not([hidden])')
    await details.getByText(/Request: \d+ messages/).waitFor()
    expect(await details.locator('.message').allTextContents()).toEqual([
      'userdo all of it',
      expect.stringContaining('assistantFirst.'),
      expect.stringContaining('outer is done'),
      expect.stringContaining('no luck'),
      expect.stringContaining('pay'),
      expect.stringContaining('paid 3'),
      'assistantAll is done.',
    ])
    await line.getByRole('button', { name: /^fails/ }).click()
    await details
      .getByText(/no luck/)
      .last()
      .waitFor()
    await line.getByRole('button', { name: 'Fold outer' }).click()
    expect(await names()).toEqual(['Turn 1', 'outer · 9 inside', 'fails', 'Turn 2', 'pay', 'Turn 3'])
    await line.getByLabel('Filter steps').fill('look')
    await expect.poll(names, { timeout: 30_000 }).toEqual(['Turn 1', 'outer', 'Turn 1', 'middle', 'Turn 1', 'inner', 'Turn 1', 'look'])
    await line.getByLabel('Filter steps').fill('')
    await line.getByLabel('Problems only').check()
    await expect.poll(names, { timeout: 30_000 }).toEqual(['Turn 1', 'fails'])
  })

  it('RunView shows the elapsed time of a running run, and follows no ended one', async () => {
    const held = Promise.withResolvers<void>()
    const { options } = await storedRuns()
    const { url, post, ask } = await startService({ ...options, model: scriptedModel([{ chunks: ['one ', held.promise, 'two'] }]) })
    const { id } = await json(post('/v1/runs', { input: 'slowly', background: true }))
    const page = await open(url, { path: `#/runs/${id}` })
    const line = page.getByRole('region', { name: 'Time line' })
    const seconds = async () => Number(/running for ([\d.]+) s/.exec((await line.textContent()) ?? '')?.[1] ?? 0)
    await expect.poll(seconds, { timeout: 30_000 }).toBeGreaterThan(1)
    const before = await seconds()
    await expect.poll(seconds, { timeout: 30_000 }).toBeGreaterThan(before)
    expect(await line.locator('.bar-row[data-state="running"] i.first').count()).toBe(1)
    held.resolve()
    await line.getByText(/^worked for/).waitFor()
    expect(await line.locator('.bar-row[data-state="turn"]').count()).toBe(1)
    // No event of an ended run counts as a current one.
    const { events } = await json(ask(`/v1/runs/${id}`))
    expect(events.last).toBeGreaterThan(3)
    await page.evaluate(
      `window.said = []; new MutationObserver(() => window.said.push(document.querySelector('.waterfall')?.textContent ?? '')).observe(document.querySelector('.split-side'), { subtree: true, childList: true, characterData: true }); location.hash = '#/runs'`,
    )
    await page.evaluate(`location.hash = '#/runs/${id}'`)
    await line.getByText(/^worked for/).waitFor()
    expect(await page.evaluate<string[]>(`window.said.filter((text) => text.includes('running for'))`)).toEqual([])
  })

  it('RunView of 500 calls stays readable and quick, also on a phone and in dark colors', async () => {
    const look = defineTool({
      name: 'look',
      description: 'Looks.',
      parameters: { type: 'object' },
      execute: ({ n }) => `${n} ${'y'.repeat(1_000)}`,
    })
    const model = scriptedModel((_request, turn) =>
      turn === 25 ? 'done' : { toolCalls: Array.from({ length: 20 }, (_, at) => ({ name: 'look', arguments: { n: turn * 20 + at } })) },
    )
    const { options } = await storedRuns()
    const { url, post } = await startService({ ...options, model, tools: [look], agent: limits })
    const { id } = await json(post('/v1/runs', { input: 'look at everything' }))
    const page = await open(url)
    const work = await watchWork(page)
    await page.evaluate(`location.hash = '#/runs/${id}'`)
    // Not by roles: to look for them is long work of the page as well.
    const line = page.locator('.waterfall')
    await line.getByText('26 turns · 500 calls').waitFor({ timeout: 60_000 })
    const names = line.locator('.bar-name')
    await expect.poll(() => names.count(), { timeout: 30_000 }).toBe(26)
    expect(await names.first().textContent()).toBe('Turn 1 · 20 inside')
    await line.locator('[aria-label="Unfold Turn 1"]').click()
    await line.locator('.bar-button', { hasText: 'look × 20' }).click()
    await expect.poll(() => names.count(), { timeout: 30_000 }).toBe(47)
    await line.locator('.bars-tools button', { hasText: 'Fold all' }).click()
    await line.locator('.bars-tools button', { hasText: 'Unfold all' }).click()
    await line.locator('.list-end', { hasText: '491 more below' }).waitFor()
    await expect
      .poll(
        async () => {
          await line.locator('.list-end').scrollIntoViewIfNeeded()
          return names.count()
        },
        { timeout: 60_000 },
      )
      .toBe(551)
    expect(await work.long()).toEqual([])
    await line.locator('.bar-button').first().click()
    expect(await barriersInAllLooks(page)).toEqual([])
    await page.emulateMedia({ colorScheme: 'dark' })
    await page.setViewportSize({ width: 390, height: 844 })
    for (const view of [`runs/${id}`, 'runs', 'approvals']) {
      await page.goto(`${url}/admin/#/${view}`)
      await page.locator('#main :is(h1, h2):visible').first().waitFor()
      expect([view, await page.evaluate('document.documentElement.scrollWidth')]).toEqual([view, 390])
    }
    await page.emulateMedia({ colorScheme: 'light' })
  })

  it('RunView shows an answer of 5 MB to its last letter, whichever of its events are left', async () => {
    const { options } = await storedRuns()
    const words = `${'word '.repeat(1_000_000)}END`
    const { url, post } = await startService({ ...options, model: scriptedModel([{ chunks: [words] }]) })
    const { id } = await json(post('/v1/runs', { input: 'say much' }))
    const page = await open(url, { path: `#/runs/${id}` })
    const more = page.getByRole('button', { name: /^Show [\d,]+ of [\d,]+ more characters/ })
    await more.waitFor()
    expect(await page.evaluate(`document.querySelector('.item.assistant').textContent.length`)).toBeLessThan(250_000)
    await more.click()
    await page.evaluate(`(async () => {
      for (let more; (more = document.querySelector('.item.assistant .link-button')) !== null; ) {
        more.click()
        await new Promise(requestAnimationFrame)
      }
    })()`)
    expect(await page.evaluate(`document.querySelector('.item.assistant').textContent.length`)).toBe(words.length)
    expect(await page.evaluate(`document.querySelector('.item.assistant').textContent.slice(-8)`)).toBe('word END')
  })

  it('RunView exports a run, and starts it again with another text', async () => {
    const { options } = await storedRuns()
    const model = scriptedModel(['first', 'second'])
    const { url, post } = await startService({ ...options, model })
    const { id } = await json(post('/v1/runs', { input: `it's "this"` }))
    const page = await open(url, { path: `#/runs/${id}` })
    await page.locator('.outcome-line', { hasText: 'Answered' }).waitFor()
    await page.getByRole('button', { name: 'Export' }).click()
    const command = (await page.getByRole('group', { name: 'Request' }).textContent()) ?? ''
    expect(command).toContain(`curl ${url}/v1/runs`)
    expect(command).toContain(`-d '{"input":"it'\\''s \\"this\\"","model":"toolloop"}'`)
    const downloading = page.waitForEvent('download')
    await page.getByRole('button', { name: 'Download JSON' }).click()
    const download = await downloading
    expect(download.suggestedFilename()).toBe(`${id}.json`)
    await page.getByRole('button', { name: 'Close' }).click()
    await page.getByRole('button', { name: 'Run again' }).click()
    const dialog = page.getByRole('dialog', { name: 'Run again' })
    expect(await dialog.getByLabel('Input').inputValue()).toBe(`it's "this"`)
    await dialog.getByLabel('Input').fill('something else')
    await dialog.getByRole('button', { name: 'Start run' }).click()
    await page.getByText('second', { exact: true }).waitFor()
    expect(model.requests[1]?.messages.at(-1)).toMatchObject({ role: 'user', content: 'something else' })
  })
})
