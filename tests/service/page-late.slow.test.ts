import type { Page } from 'playwright-core'
import { describe, expect, it, onTestFinished } from 'vitest'
import { scriptedModel } from '../../src/testing/index.ts'
import { defineTool } from '../../src/tools/tool.ts'
import { barriersInAllLooks } from './page-axe.ts'
import { configText, hasBrowser, useBrowser } from './page-browser.ts'
import { startProxy } from './page-proxy.ts'
import { configFile, json, payTool, startService } from './start-service.ts'

const pays = { toolCalls: [{ name: 'pay', arguments: { euros: 1 } }] }
/** What has the focus, in words. */
const focused = (page: Page) =>
  page.evaluate<string>(`document.activeElement.textContent || document.activeElement.placeholder || document.activeElement.localName`)

describe.skipIf(!hasBrowser)('what comes late on the admin page, or twice, in a browser', () => {
  const open = useBrowser()

  it('ApprovalsView moves no focus to a call of another view if a decision ends after it was left', async () => {
    const { tool, paid } = payTool()
    const model = scriptedModel(({ messages }) => (messages.at(-1)?.role === 'user' ? pays : 'done'))
    const { url, post } = await startService({ model, tools: [tool] })
    const proxy = await startProxy(url)
    await post('/v1/runs', { input: 'first' })
    const { id } = await json(post('/v1/runs', { input: 'second' }))
    const page = await open(proxy.url, { path: '#/approvals' })
    const decision = proxy.hold(/^POST .*\/decisions/)
    await page.getByRole('article', { name: /pay/ }).first().getByRole('button', { name: 'Approve', exact: true }).click()
    await decision.asked
    await page.evaluate(`location.hash = '#/runs/${id}'`)
    const steer = page.getByLabel('Send a message to this run')
    await steer.focus()
    await page.getByRole('button', { name: 'Approve', exact: true }).waitFor()
    decision.release()
    await expect.poll(() => page.locator('#approvals-count').textContent()).toBe('1')
    expect(paid.length).toBe(1)
    expect(await focused(page)).toBe('Delivered before the next model request')
  })

  it('ToolsView scrolls to a linked tool once: filtering still works afterwards', async () => {
    const tools = ['alpha', 'beta'].map((name) =>
      defineTool({ name, description: name, effect: 'read', parameters: { type: 'object' }, execute: () => name }),
    )
    const { url } = await startService({ model: scriptedModel([]), tools })
    const page = await open(url, { path: '#/tools/beta' })
    await page.locator('details.tool[open]').getByText('Recent calls').waitFor()
    expect(await focused(page)).toContain('beta')
    const filter = page.getByLabel('Filter')
    await filter.pressSequentially('alp')
    await expect.poll(() => page.locator('details.tool').count()).toBe(1)
    for (const _ of 'alp') await page.keyboard.press('Backspace')
    await expect.poll(() => page.locator('details.tool').count()).toBe(2)
    expect(await focused(page)).toBe('Name or description')
    await page.evaluate(`location.hash = '#/tools/alpha'`)
    await expect.poll(() => focused(page)).toContain('alpha')
  })

  it('ChatView keeps a message that is being sent in its conversation, and what is typed meanwhile in the field', async () => {
    const model = scriptedModel(({ messages }) => `answer to ${messages.at(-1)?.content}`)
    const { url, ask } = await startService({ model })
    const proxy = await startProxy(url)
    const page = await open(proxy.url, { path: '#/chat' })
    const input = page.getByLabel('Message')
    const log = page.getByRole('log')
    const sending = proxy.hold(/^POST \/v1\/runs$/)
    await input.fill('one')
    await page.keyboard.press('Enter')
    await sending.asked
    await input.pressSequentially(' and more')
    await page.getByRole('button', { name: 'New conversation' }).click()
    sending.release()
    await expect.poll(async () => (await json(ask('/v1/runs'))).data.length).toBe(1)
    await expect.poll(() => page.getByRole('button', { name: 'Send' }).isEnabled()).toBe(true)
    expect(await log.getByText('one').count()).toBe(0)
    expect(await input.inputValue()).toBe('one and more')
    await page.keyboard.press('Enter')
    await log.getByText('answer to one and more').waitFor()
    expect(model.requests.at(-1)?.messages.length).toBe(1)
  })

  it('RunView sends a message once, however often its key is pressed, and keeps what is typed meanwhile', async () => {
    const held = Promise.withResolvers<void>()
    const wait = defineTool({
      name: 'wait',
      description: 'Waits.',
      parameters: { type: 'object' },
      execute: () => held.promise.then(() => 'over'),
    })
    const model = scriptedModel([{ toolCalls: [{ name: 'wait' }] }, 'done'])
    const { url, post } = await startService({ model, tools: [wait] })
    const proxy = await startProxy(url)
    const { id } = await json(post('/v1/runs', { input: 'slow', background: true }))
    const page = await open(proxy.url, { path: `#/runs/${id}` })
    const sending = proxy.hold(/^POST .*\/messages/)
    const field = page.getByLabel('Send a message to this run')
    await field.fill('hurry')
    await page.keyboard.press('Enter')
    await sending.asked
    await page.keyboard.press('Enter')
    await field.fill('next')
    sending.release()
    await page.locator('.timeline .user').getByText('hurry').first().waitFor()
    held.resolve()
    await page.getByText('Answered after 1 tool call').waitFor()
    expect(model.requests.at(-1)?.messages.filter(({ role }) => role === 'user').length).toBe(2)
    expect(proxy.seen.filter((what) => what.endsWith('/messages')).length).toBe(1)
  })

  it('ConfigView keeps what is typed while it saves; pressing the button twice is no conflict', async () => {
    const { file } = await configFile('models:\n  first: demo\n  second: demo\n')
    const { url } = await startService({ configFile: file })
    const proxy = await startProxy(url)
    const page = await open(proxy.url, { path: '#/config' })
    const text = page.getByRole('textbox', { name: 'Configuration file, as YAML' })
    await expect.poll(() => configText(page)).toContain('second')
    const saving = proxy.hold(/^PUT /)
    await text.focus()
    await page.keyboard.press('Control+Home')
    await page.keyboard.type('# one\n')
    await page.keyboard.press('Control+s')
    await saving.asked
    await page.keyboard.type('# two\n')
    saving.release()
    await page.getByText('Saved. The changes apply').waitFor()
    expect(await configText(page)).toMatch(/^# one\n# two\nmodels:/)
    await page.keyboard.press('Control+s')
    await expect.poll(() => page.getByRole('button', { name: 'Save' }).isDisabled()).toBe(true)
    expect(await configText(page)).toMatch(/^# one\n# two\nmodels:/)

    await page.evaluate(`location.hash = '#/models'`)
    await page.getByRole('button', { name: 'Use second' }).dblclick()
    await page.getByText('second becomes the current model with the next request.').waitFor()
    await page.getByRole('button', { name: 'Remove first' }).dblclick()
    await page.getByText('first was removed.').waitFor()
    await expect.poll(() => page.getByRole('button', { name: 'Use first' }).count()).toBe(0)
    expect(await page.getByText('Someone else changed').count()).toBe(0)
  })

  it('ToolsView shows the response to the later request, whichever arrives last', async () => {
    const look = defineTool({ name: 'look', description: 'Looks.', parameters: { type: 'object' }, execute: () => 'seen' })
    const model = scriptedModel(({ messages }) => (messages.at(-1)?.role === 'user' ? { toolCalls: [{ name: 'look' }] } : 'done'))
    const { url, post } = await startService({ model, tools: [look] })
    const page = await open(url)
    await page.getByText('Live', { exact: true }).waitFor()
    const [asked, held, over] = [Promise.withResolvers<void>(), Promise.withResolvers<void>(), Promise.withResolvers<void>()]
    let questions = 0
    await page.route(/admin\/api\/tools$/, async (route) => {
      if (++questions > 1) return route.continue()
      const response = await route.fetch()
      asked.resolve()
      await held.promise
      // One that the page has given up takes no answer any more.
      await route.fulfill({ response }).catch(() => {})
      over.resolve()
    })
    onTestFinished(async () => {
      held.resolve()
      await page.unroute(/admin\/api\/tools$/)
    })
    await page.evaluate(`location.hash = '#/tools/look'`)
    await asked.promise
    await post('/v1/runs', { input: 'look' })
    const calls = page.getByText('1 call, since the service started')
    await calls.waitFor()
    held.resolve()
    await over.promise
    await page.evaluate('new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve)))')
    expect(await calls.count()).toBe(1)
  })

  it('App continues to follow the service after a proxy has found none for a while', async () => {
    const { url, post } = await startService({ model: scriptedModel(['one']) })
    const proxy = await startProxy(url)
    const back = proxy.answer(/^GET \/(admin\/api\/feed|v1\/runs\/[^/]+\/events)/, 404, '<h1>404 page not found</h1>')
    const { id } = await json(post('/v1/runs', { input: 'hello' }))
    const page = await open(proxy.url, { path: `#/runs/${id}` })
    await page.getByText('Connection lost').waitFor()
    expect(await page.getByText('This run is no longer stored').count()).toBe(0)
    back()
    await page.getByText('Live', { exact: true }).waitFor()
    await page.locator('.run-answer').getByText('one').waitFor()
    await page.goto(`${proxy.url}/admin/#/runs/run_none`)
    await page.getByText('There is no run run_none. It never existed, or is no longer stored.').waitFor()
    expect(await page.getByRole('button', { name: 'Export' }).count()).toBe(0)
  })

  it.each([
    ['#/models', 'Add model'],
    ['#/config', 'model: demo'],
    ['#/tools', 'calculate'],
  ])('App at %s loads the view once a lost connection is back', async (path, said) => {
    const { file } = await configFile('model: demo\n')
    const { url } = await startService({ configFile: file, builtinTools: ['calculate'] })
    const proxy = await startProxy(url)
    const back = proxy.answer(/^GET \/admin\/api\/(feed|config|tools)/, 502, '<h1>502 bad gateway</h1>')
    const page = await open(proxy.url, { path })
    await page.getByText('Connection lost').waitFor()
    await page.getByText('The service answered 502').waitFor()
    back()
    const shown = `document.querySelector('main').innerText + document.querySelector('#config-text')?.value`
    await expect.poll(() => page.evaluate<string>(shown)).toContain(said)
    expect(await page.getByText('The service answered 502').count()).toBe(0)
  })

  it('App says in words what responded instead of the service', async () => {
    const { url } = await startService({ model: scriptedModel([]) })
    const proxy = await startProxy(url)
    const page = await open(proxy.url)
    await page.getByText('No runs yet.').waitFor()
    proxy.answer(/^GET \/v1\/runs/, 200, '<!doctype html><title>Log in</title>')
    await page.getByLabel('Search runs').fill('x')
    await page.locator('.split-list .list-end').getByText('Something other than the service has answered').waitFor()
  })

  it('BulkBar decides calls once, however often its button is pressed', async () => {
    const { tool, paid } = payTool()
    const model = scriptedModel(({ messages }) => (messages.at(-1)?.role === 'user' ? pays : 'done'))
    const { url, post } = await startService({ model, tools: [tool] })
    const proxy = await startProxy(url)
    await post('/v1/runs', { input: 'first' })
    await post('/v1/runs', { input: 'second' })
    const page = await open(proxy.url, { path: '#/approvals' })
    const deciding = proxy.hold(/^POST .*\/decisions/)
    await page.getByLabel('Select all').check()
    const approve = page.getByRole('button', { name: 'Approve selected' })
    const dialog = page.getByRole('dialog', { name: 'Approve 2 calls?' })
    await approve.click()
    await dialog.getByRole('button', { name: 'Approve' }).click()
    await deciding.asked
    await approve.click()
    expect(await dialog.count()).toBe(0)
    deciding.release()
    await page.getByText('Nothing is waiting for you.').waitFor()
    expect(paid.length).toBe(2)
    expect(await page.getByText('could not be decided').count()).toBe(0)
  })

  it('RunsView starts one demo run and opens one dialog if a button is pressed twice', async () => {
    const { url } = await startService({ model: 'demo', builtinTools: ['calculate'] })
    const proxy = await startProxy(url)
    const page = await open(proxy.url)
    const starting = proxy.hold(/^POST \/v1\/runs$/)
    await page.getByRole('button', { name: 'Start a demo run' }).dblclick()
    await starting.asked
    starting.release()
    await page.locator('.outcome-line').waitFor()
    expect(proxy.seen.filter((what) => what === 'POST /v1/runs').length).toBe(1)
    const reading = proxy.hold(/^GET \/v1\/runs\/run_[^/?]+$/)
    await page.getByRole('button', { name: 'Export' }).dblclick()
    await reading.asked
    await page.getByText('Loading…', { exact: true }).waitFor()
    reading.release()
    const dialog = page.getByRole('dialog', { name: 'Export this run' })
    await dialog.getByRole('button', { name: 'Close' }).click()
    await expect.poll(() => page.locator('dialog').count()).toBe(0)
    await page.getByRole('button', { name: 'Run again' }).click()
    await page.getByRole('dialog', { name: 'Run again' }).getByRole('button', { name: 'Cancel' }).click()
  })

  it('DecisionCard keeps the focus while its call is decided: typing approves nothing', async () => {
    const { tool, paid } = payTool()
    const model = scriptedModel(({ messages }) => (messages.at(-1)?.role === 'user' ? pays : 'done'))
    const { url, post, ask } = await startService({ model, tools: [tool] })
    const proxy = await startProxy(url)
    for (const input of ['first', 'second', 'third']) await post('/v1/runs', { input })
    const page = await open(proxy.url, { path: '#/approvals' })
    const cards = page.locator('.decision')
    const deciding = proxy.hold(/^POST .*\/decisions/)
    await cards.nth(0).getByRole('button', { name: 'Approve', exact: true }).click()
    await deciding.asked
    await cards.nth(1).getByRole('button', { name: 'Reject' }).click()
    const reason = page.getByLabel('Reason')
    await reason.pressSequentially('was')
    deciding.release()
    await expect.poll(() => cards.count()).toBe(2)
    await page.keyboard.type(' paid')
    expect(await reason.inputValue()).toBe('was paid')
    // Somebody else is quicker: the field goes while it is written in.
    const [second] = (await json(ask('/v1/runs?q=second'))).data
    const [{ toolCallId, fingerprint }] = second.pending
    await post(`/v1/runs/${second.id}/decisions`, { decisions: [{ toolCallId, fingerprint, approved: false }] })
    await page.keyboard.type(' a')
    await expect.poll(() => cards.count()).toBe(1)
    await page.keyboard.type('lready, at 8 a clock')
    expect(paid.length).toBe(1)
    expect(await page.locator('.decision textarea').count()).toBe(0)
    expect(await page.evaluate('location.hash')).toBe('#/approvals')
  })

  it('App shows the tools, models and configuration of a service that replaces another', async () => {
    const toolOf = (name: string) => defineTool({ name, description: name, parameters: { type: 'object' }, execute: () => name })
    const { file, write } = await configFile('models:\n  old: demo\n')
    let running = await startService({ configFile: file, tools: [toolOf('alpha')] })
    const { port } = new URL(running.url)
    const page = await open(running.url, { path: '#/tools' })
    const places = { '#/tools': '.tool-name', '#/models': '.card h3', '#/config': '#config-text' }
    for (const [at, [place, selector]] of Object.entries(places).entries()) {
      const said = () =>
        page.locator(selector).evaluateAll((all) => all.map((one) => ('value' in one ? one.value : one.textContent)).join())
      await page.evaluate(`location.hash = '${place}'`)
      await expect.poll(said).not.toBe('')
      await running.listening.close(0)
      await page.getByText('Connection lost').waitFor()
      await write(`models:\n  new${at}: demo\n`)
      running = await startService({ configFile: file, tools: [toolOf(`new${at}`)] }, { port: Number(port) })
      await page.getByText('Live', { exact: true }).waitFor({ timeout: 30_000 })
      await expect.poll(said).toContain(`new${at}`)
    }
  })

  it('App says that a view loads if its script is late, or that it can’t be loaded, and loads it when possible', async () => {
    const { url } = await startService({ model: scriptedModel([]), builtinTools: ['calculate'] })
    const proxy = await startProxy(url)
    const page = await open(proxy.url)
    await page.getByText('Live', { exact: true }).waitFor()
    const late = proxy.hold(/^GET .*overview-view-/)
    const back = proxy.answer(/^GET .*tools-view-/, 502, '')
    await page.getByRole('link', { name: 'Overview' }).click()
    await late.asked
    await page.locator('main').getByText('Loading…').waitFor()
    expect(await barriersInAllLooks(page)).toEqual([])
    late.release()
    await page.getByRole('heading', { name: 'Overview' }).waitFor()
    await page.getByRole('link', { name: 'Tools' }).click()
    await page.getByText('This part of the page could not be loaded').waitFor()
    expect(await barriersInAllLooks(page)).toEqual([])
    back()
    await page.getByRole('button', { name: 'Try again' }).click()
    await page.getByRole('heading', { name: 'Tools and skills' }).waitFor()
    await page.getByText('1 tool').waitFor()
  })

  it('“Live” is true: a request without a response ends it, and the page reconnects by itself or at a click', async () => {
    const { url, post } = await startService({ model: scriptedModel(['one']) })
    const { id } = await json(post('/v1/runs', { input: 'hello' }))
    const page = await open(url)
    await page.getByText('Live', { exact: true }).waitFor()
    // The page loads the view of a run in advance.
    const runView = `performance.getEntriesByType('resource').find(({ name }) => name.includes('/run-view-'))`
    await page.waitForFunction(runView)
    await page.evaluate(`import((${runView}).name)`)
    await page.context().setOffline(true)
    onTestFinished(() => page.context().setOffline(false))
    await page.getByText('Connection lost').waitFor()
    await page.evaluate(`location.hash = '#/runs/${id}'`)
    await page.getByText('This run can’t be loaded now.').waitFor()
    await page.evaluate(`location.hash = '#/runs'`)
    await page.context().setOffline(false)
    await page.getByText('Live', { exact: true }).waitFor()

    const proxy = await startProxy(url)
    const through = await open(proxy.url)
    await through.getByText('Live', { exact: true }).waitFor()
    const gone = proxy.answer(/^GET \/admin\/api\/feed/, 502, '')
    await through.route(/overview\?/, (route) => route.abort())
    onTestFinished(() => through.unroute(/overview\?/))
    await through.evaluate(`location.hash = '#/overview'`)
    await through.getByText('Connection lost').waitFor()
    await through.locator('main').getByText('The service can’t be reached').waitFor()
    gone()
    await through.unroute(/overview\?/)
    await through.getByRole('banner').getByRole('button', { name: 'Try again' }).click()
    await through.getByText('Live', { exact: true }).waitFor()
    await through.locator('main').getByText('The service can’t be reached').waitFor({ state: 'detached' })
  })
})
