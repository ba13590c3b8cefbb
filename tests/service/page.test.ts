import { execFile } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { type Browser, chromium, type Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { scriptedModel, startMockProvider } from '../../src/testing/index.ts'
import { defineTool } from '../../src/tools/tool.ts'
import { configFile, json, startService, token } from './start-service.ts'

/** Debian's package; elsewhere by its variable. */
const executablePath = process.env.CHROMIUM ?? '/usr/bin/chromium'
const hasBrowser = existsSync(executablePath)
if (!hasBrowser) console.warn(`SKIPPED: the admin page is not tested, there is no browser at ${executablePath} (apt-get install chromium)`)

const pageFolder = fileURLToPath(new URL('../page', import.meta.url))

it('the page’s scripts pass the type check', async () => {
  const tsc = createRequire(import.meta.url)
    .resolve('typescript/package.json')
    .replace('package.json', 'bin/tsc')
  await promisify(execFile)(process.execPath, [tsc, '-p', pageFolder])
})

it('finds the line of a failing path', async () => {
  const { lineOfPath } = await import(new URL('../../src/service/page/yaml-lines.js', import.meta.url).href)
  const text = `# first
model: a
providers:
  a:
    model: 1 # not this one

    driver: x
  "b c": { driver: y }
tools:
  approval:
  - one
  - two
service:
  auth:
    tokens:
      - name: a
        roles: [run]
      - name: b
        roles: [none]
limits: { maxIterations: 0 }
`
  const line = (path: string) => text.split('\n')[lineOfPath(text, path)]?.trim()
  expect(
    Object.fromEntries(
      [
        '/model',
        '/providers/a/driver',
        '/providers/b c/driver',
        '/tools/approval/1',
        '/service/auth/tokens/1/roles',
        '/limits/maxIterations',
        '/service/nothing',
      ].map((path) => [path, line(path)]),
    ),
  ).toEqual({
    '/model': 'model: a',
    '/providers/a/driver': 'driver: x',
    '/providers/b c/driver': '"b c": { driver: y }',
    '/tools/approval/1': '- two',
    '/service/auth/tokens/1/roles': 'roles: [none]',
    '/limits/maxIterations': 'limits: { maxIterations: 0 }',
    '/service/nothing': 'service:',
  })
  expect(lineOfPath(text, '/not/there')).toBeUndefined()
})

it('its colours have the contrast of WCAG AA, light and dark', () => {
  const style = readFileSync(new URL('../../src/service/page/style.css', import.meta.url), 'utf8')
  const colours = new Map(
    [...style.matchAll(/--([\w-]+): light-dark\((#\w{6}), (#\w{6})\)/g)].map(([, name = '', ...pair]) => [name, pair]),
  )
  /** https://www.w3.org/TR/WCAG22/#dfn-relative-luminance */
  const luminance = (colour = '') => {
    const [r = 0, g = 0, b = 0] = [1, 3, 5]
      .map((at) => Number.parseInt(colour.slice(at, at + 2), 16) / 255)
      .map((part) => (part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4))
    return 0.2126 * r + 0.7152 * g + 0.0722 * b
  }
  const on = (texts: string, grounds: string) =>
    texts.split(' ').flatMap((text) => grounds.split(' ').map((ground): [string, string, number] => [text, ground, 4.5]))
  const pairs = [
    ...on('text muted accent accent-strong good bad wait', 'ground surface sunken hover'),
    ...on('text muted accent accent-strong', 'accent-soft'),
    ...on('good', 'good-soft'),
    ...on('bad text accent', 'bad-soft'),
    ...on('wait', 'wait-soft'),
    ...on('on-accent', 'accent accent-strong'),
    ['line-strong', 'surface', 3] satisfies [string, string, number],
  ]
  const weak = pairs.flatMap(([text, ground, least]) =>
    [0, 1].flatMap((theme) => {
      const [a, b] = [luminance(colours.get(text)?.[theme]), luminance(colours.get(ground)?.[theme])]
      const contrast = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05)
      return contrast >= least ? [] : [`${text} on ${ground}, ${['light', 'dark'][theme]}: ${contrast.toFixed(2)}`]
    }),
  )
  expect(weak).toEqual([])
})

describe.skipIf(!hasBrowser)('the admin page, in a browser', () => {
  let browser: Browser

  beforeAll(async () => {
    browser = await chromium.launch({
      executablePath,
      args: [
        '--no-sandbox',
        '--disable-gpu',
        '--in-process-gpu',
        '--disable-software-rasterizer',
        '--disable-features=SpareRendererForSitePerProcess',
      ],
    })
  })
  afterAll(() => browser.close())

  /** A tab of its own; what the page complains about fails the test. */
  async function openPage(
    url: string,
    { path = '', viewport = { width: 1024, height: 700 }, signedIn = false, expected = /^Failed to load resource/ } = {},
  ): Promise<Page> {
    const context = await browser.newContext({ viewport, reducedMotion: 'reduce' })
    if (signedIn) await context.addInitScript((value) => sessionStorage.setItem('toolloop.token', value), token)
    context.setDefaultTimeout(10_000)
    const page = await context.newPage()
    const complaints: string[] = []
    page.on('pageerror', (error) => complaints.push(String(error)))
    // Refused requests are reported as errors as well; those are what some tests are about.
    page.on('console', (message) => {
      if (message.type() === 'error' && !expected.test(message.text())) complaints.push(message.text())
    })
    onTestFinished(async () => {
      await context.close()
      expect(complaints).toEqual([])
    })
    await page.goto(`${url}/admin/${path}`)
    return page
  }

  /** As after a reload by somebody who is signed in. */
  const signIn = (url: string, path = '', expected?: RegExp) => openPage(url, { path, signedIn: true, ...(expected && { expected }) })

  const see = (page: Page, text: string | RegExp) => page.getByText(text).first().waitFor()

  it('lets in with a token that is known, and keeps it for the tab alone', async () => {
    const { url } = await startService({ model: scriptedModel([]) })
    const page = await openPage(url)
    const field = page.getByLabel('Token')
    await field.fill('wrong')
    await page.getByRole('button', { name: 'Sign in' }).click()
    await see(page, 'This token is not known.')
    expect(await field.getAttribute('aria-invalid')).toBe('true')
    await field.fill(token)
    await page.getByRole('button', { name: 'Sign in' }).click()
    await page.getByRole('heading', { name: 'Runs' }).waitFor()
    expect(await page.evaluate('[Object.values(sessionStorage), Object.values(localStorage), document.cookie]')).toEqual([[token], [], ''])
    await page.reload()
    await page.getByRole('heading', { name: 'Runs' }).waitFor()
    await page.getByRole('button', { name: 'Sign out' }).click()
    await page.getByRole('heading', { name: 'Sign in to toolloop' }).waitFor()
    expect(await page.evaluate('sessionStorage.length')).toBe(0)
    expect(await page.locator('main#main').innerHTML()).toBe('')
  })

  it('S4-23 S4-25 another model is used from the next request on, and a run under way ends on the old one', async () => {
    const held = Promise.withResolvers<void>()
    await using one = await startMockProvider({ script: [{ before: held.promise, text: 'from one' }] })
    await using two = await startMockProvider({ script: ['from two'] })
    const { file } = await configFile(`# mine
model: first
models:
  first: { provider: custom, model: m1, baseURL: '${one.baseURL}' }
  second: { provider: custom, model: m2, baseURL: '${two.baseURL}' }
`)
    const { url, post, ask } = await startService({ configFile: file })
    const page = await signIn(url, '#/models')
    const { id } = await json(post('/v1/runs', { input: 'slow', background: true }))
    await one.waitForRequest()
    await page.getByRole('button', { name: 'Use second' }).click()
    await see(page, 'second is the current model from the next request on.')
    await page.getByText('custom / m2').first().waitFor()
    expect(await json(post('/v1/runs', { input: 'x' }))).toMatchObject({ output: 'from two' })
    held.resolve()
    await page.getByRole('link', { name: 'Runs' }).click()
    await page.getByRole('link', { name: /slow/ }).click()
    await see(page, 'from one')
    expect((await json(ask(`/v1/runs/${id}`))).output).toBe('from one')
    expect((await json(ask('/admin/api/config'))).text).toMatch(/^# mine\nmodel: second\n/)
  })

  it('a model is edited, tested and saved; what is refused is said at its field; keys are not shown', async () => {
    await using provider = await startMockProvider({ script: ['ready'] })
    const { file } = await configFile(`models: { mine: { provider: custom, model: m, baseURL: '${provider.baseURL}' } }\n`)
    const { url, ask } = await startService({ configFile: file, model: scriptedModel([]) })
    const page = await signIn(url, '#/models')
    await page.getByRole('button', { name: 'Edit mine' }).click()
    const dialog = page.getByRole('dialog', { name: 'Model mine' })
    await dialog.getByRole('button', { name: 'Test' }).click()
    await dialog.getByText('It answers').waitFor()
    await dialog.getByLabel('Address').fill('not an address')
    await dialog.getByRole('button', { name: 'Save' }).click()
    await dialog.getByText('/models/mine/baseURL must match').waitFor()
    expect(await dialog.getByLabel('Address').getAttribute('aria-invalid')).toBe('true')
    await dialog.getByLabel('Address').fill(provider.baseURL)
    await dialog.getByLabel('Variable with the key').fill('MY_KEY')
    await dialog.getByRole('button', { name: 'Save' }).click()
    await dialog.getByText('/models/mine/apiKey').waitFor()
    await dialog.getByLabel('Variable with the key').fill('')
    await dialog.getByLabel('Context window').fill('4096')
    await dialog.getByRole('button', { name: 'Save' }).click()
    await see(page, 'mine was saved.')
    expect(await json(ask('/admin/api/config'))).toMatchObject({
      config: { models: { mine: { contextWindow: 4096, baseURL: provider.baseURL } } },
    })
  })

  it('shows a run while it goes on: its text, its call with arguments, result and duration; takes a message; is cancelled', async () => {
    const calling = Promise.withResolvers<void>()
    const speaking = Promise.withResolvers<void>()
    const tool = defineTool({
      name: 'look_up',
      description: 'Looks something up.',
      parameters: { type: 'object', properties: { word: { type: 'string' } } },
      execute: async () => {
        await calling.promise
        return 'a small lamp'
      },
    })
    const model = scriptedModel([
      { text: 'I look.', toolCalls: [{ name: 'look_up', arguments: { word: 'lumière' } }] },
      { chunks: ['It is ', speaking.promise, 'a lamp.'] },
      { text: 'and also', hang: true },
    ])
    const { url, post } = await startService({ model, tools: [tool] })
    const page = await signIn(url)
    await post('/v1/runs', { input: 'What is a lumière?', background: true })
    const feed = page.getByRole('feed', { name: 'Tool calls' })
    await feed.getByText('running').waitFor()
    await page
      .getByRole('link', { name: /What is a lumière/ })
      .first()
      .click()
    const run = page.getByRole('region', { name: 'Run' })
    const call = run.getByRole('article', { name: 'Call of look_up' })
    await call.getByText('running').waitFor()
    await call.getByText('{ "word": "lumière" }').waitFor()
    calling.resolve()
    await call.getByText('a small lamp').waitFor()
    await call.getByText(/\d m?s/).waitFor()
    await run.getByText('It is', { exact: true }).waitFor()
    await run.getByLabel('Say something to this run').fill('and then?')
    await run.getByRole('button', { name: 'Send' }).click()
    await run.getByText('and then?').waitFor()
    speaking.resolve()
    await run.getByText('It is a lamp.').waitFor()
    await run.getByText('and also').waitFor()
    expect(model.requests[2]?.messages.at(-1)).toMatchObject({ role: 'user', content: 'and then?' })
    await run.getByRole('button', { name: 'Cancel run' }).click()
    await run.getByText('Cancelled after 1 tool call').waitFor()
  })

  it('takes up its events again where they broke off', async () => {
    const held = Promise.withResolvers<void>()
    const model = scriptedModel([{ chunks: ['one ', held.promise, 'two'] }])
    const { url, post, listening } = await startService({ model })
    const page = await signIn(url)
    await post('/v1/runs', { input: 'count', background: true })
    await page.getByRole('link', { name: /count/ }).click()
    const text = page.locator('.item.assistant')
    await page.getByText('one', { exact: true }).waitFor()
    const again = page.waitForRequest((request) => /\/events$/.test(request.url()) && request.headers()['last-event-id'] !== undefined)
    listening.server.closeAllConnections()
    await see(page, 'Connection lost')
    held.resolve()
    await again
    await page.getByText('one two').waitFor()
    expect(await text.textContent()).toBe('one two')
    await page.getByText('Live', { exact: true }).waitFor()
  })

  it('a call is approved, with other arguments or none, or rejected with a reason', async () => {
    const paid: unknown[] = []
    const tool = defineTool({
      name: 'pay',
      description: 'Pays.',
      approval: true,
      parameters: { type: 'object', properties: { euros: { type: 'number' } }, required: ['euros'] },
      execute: (args) => {
        paid.push(args)
        return 'paid'
      },
    })
    const asks = (euros: number) => ({ toolCalls: [{ name: 'pay', arguments: { euros } }] })
    const model = scriptedModel([asks(1), 'one done', asks(2), 'two done', asks(3), 'three done'])
    const { url, post } = await startService({ model, tools: [tool] })
    const page = await signIn(url, '#/approvals')
    await see(page, 'Nothing waits for you.')
    const card = page.getByRole('article', { name: /pay/ })

    await post('/v1/runs', { input: 'pay one' })
    await card.getByRole('button', { name: 'Approve' }).click()
    await see(page, 'Nothing waits for you.')
    expect(paid).toEqual([{ euros: 1 }])

    await post('/v1/runs', { input: 'pay two' })
    await card.getByRole('button', { name: 'Edit arguments' }).click()
    const args = card.getByLabel('Arguments, as JSON')
    await args.fill('{ "euros": ')
    await card.getByRole('button', { name: 'Approve with these' }).click()
    await card.locator('.error-text:not(:empty)').waitFor()
    expect(await args.getAttribute('aria-invalid')).toBe('true')
    await args.fill('{ "euros": "many" }')
    await card.getByRole('button', { name: 'Approve with these' }).click()
    await card.locator('.error-text', { hasText: 'euros' }).waitFor()
    await args.fill('{ "euros": 1.5 }')
    await card.getByRole('button', { name: 'Approve with these' }).click()
    await see(page, 'Nothing waits for you.')
    expect(paid).toEqual([{ euros: 1 }, { euros: 1.5 }])

    await post('/v1/runs', { input: 'pay three' })
    await card.getByRole('button', { name: 'Reject' }).click()
    await card.getByLabel('Reason').fill('too much')
    await card.getByRole('button', { name: 'Reject the call' }).click()
    await see(page, 'Nothing waits for you.')
    expect(paid).toHaveLength(2)
    expect(JSON.stringify(model.requests.at(-1)?.messages)).toContain('too much')
  })

  it('can be used without a mouse: sign-in, approval, dialogs', async () => {
    const paid: unknown[] = []
    const tool = defineTool({
      name: 'pay',
      description: 'Pays.',
      approval: true,
      parameters: { type: 'object' },
      execute: () => void paid.push(1),
    })
    const { url, post } = await startService({ model: scriptedModel([{ toolCalls: [{ name: 'pay' }] }, 'done']), tools: [tool] })
    await post('/v1/runs', { input: 'pay' })
    const page = await openPage(url)
    const focused = () => page.evaluate<string>('document.activeElement?.textContent?.trim()')
    await page.locator('#token:focus').waitFor()
    await page.keyboard.type(token)
    await page.keyboard.press('Enter')
    await page.getByRole('navigation', { name: 'Views' }).waitFor()
    await page.locator('h1:focus', { hasText: 'Runs' }).waitFor()
    await page.keyboard.press('?')
    await page.getByRole('dialog', { name: 'Keyboard shortcuts' }).waitFor()
    await page.keyboard.press('Escape')
    await page.getByRole('dialog').waitFor({ state: 'detached' })
    await page.keyboard.press('g')
    await page.keyboard.press('a')
    await page.locator('h1:focus', { hasText: 'Approvals' }).waitFor()
    const seen: string[] = []
    for (let tab = 0; tab < 6 && seen.at(-1) !== 'Approve'; tab++) {
      await page.keyboard.press('Tab')
      seen.push(await focused())
    }
    expect(seen).toEqual(['Open run', '{}', 'Approve'])
    await page.keyboard.press('Tab')
    await page.keyboard.press('Enter')
    await page.locator('textarea:focus').waitFor()
    await page.keyboard.press('Escape')
    expect(await focused()).toBe('Edit arguments')
    await page.keyboard.press('Shift+Tab')
    await page.keyboard.press('Enter')
    await see(page, 'Nothing waits for you.')
    expect(await focused()).toBe('Approvals')
    expect(paid).toEqual([1])
  })

  it('S4-27 a configuration that is not usable is refused with the failing paths, and the state says what is wrong with the file', async () => {
    const { file, write } = await configFile('model: demo\nlimits:\n  maxIterations: 3\n')
    const { url, ask } = await startService({ configFile: file, times: { debounceMs: 5 } })
    const page = await signIn(url, '#/config')
    const editor = page.getByLabel('The file, as YAML')
    await expect.poll(() => editor.inputValue(), { timeout: 10_000 }).toContain('model: demo')
    await editor.fill('model: demo\nlimits:\n  maxIterations: 0\n')
    await page.getByRole('button', { name: 'Save' }).click()
    await see(page, 'Not saved.')
    await see(page, '/limits/maxIterations')
    await page.getByRole('button', { name: 'Line 3' }).click()
    expect(await page.evaluate('getSelection()?.toString()')).toBe('  maxIterations: 0')
    await editor.fill('model: demo\nlimits:\n  maxIterations: 4\n')
    await page.keyboard.press('Control+s')
    await see(page, 'Saved. It holds from the next request on.')
    expect(await json(ask('/admin/api/config'))).toMatchObject({ config: { limits: { maxIterations: 4 } } })
    // Somebody else is quicker.
    await editor.fill('model: demo # mine\n')
    await write('model: demo # theirs\n')
    await page.getByRole('button', { name: 'Save' }).click()
    await see(page, 'Somebody else has changed it')
    await page.getByRole('button', { name: 'Reload, and lose my changes' }).click()
    await expect.poll(() => editor.inputValue(), { timeout: 10_000 }).toBe('model: demo # theirs\n')
    // And breaks it.
    await write('model: { provider: \n')
    await page.getByRole('button', { name: 'Sign out' }).waitFor()
    await expect.poll(async () => (await json(ask('/admin/api/state'))).config.lastError, { timeout: 10_000 }).not.toBeNull()
    await page.reload()
    await see(page, /The configuration file is not usable; what was read before it holds/)
    await see(page, 'is not valid YAML')
  })

  it('chats: streams, shows calls, goes on with the conversation, stops', async () => {
    const model = scriptedModel([
      { text: 'Let me see.', toolCalls: [{ name: 'calculate', arguments: { expression: '6*7' } }] },
      'It is 42.',
      { text: 'Well', hang: true },
    ])
    const { url } = await startService({ model })
    const page = await signIn(url, '#/chat')
    await page.getByLabel('Message').fill('What is 6 times 7?')
    await page.keyboard.press('Enter')
    const log = page.getByRole('log', { name: 'Conversation' })
    await log.getByText('It is 42.').waitFor()
    await log.getByRole('article', { name: 'Call of calculate' }).getByText('succeeded').waitFor()
    await page.getByLabel('Message').fill('Sure?')
    await page.keyboard.press('Enter')
    await log.getByText('Well').waitFor()
    expect(model.requests[2]?.messages.map(({ role }) => role)).toEqual(['user', 'assistant', 'tool', 'assistant', 'user'])
    // What was said is still there after a look elsewhere.
    await page.getByRole('link', { name: 'Tools' }).click()
    await page.getByText('calculate', { exact: true }).click()
    await page.getByText('expression', { exact: true }).waitFor()
    await page.getByRole('link', { name: 'Chat' }).click()
    await log.getByText('It is 42.').waitFor()
    await page.getByRole('button', { name: 'Stop' }).click()
    await log.getByText('The run ended: cancelled').waitFor()
    await page.getByRole('button', { name: 'New conversation' }).click()
    await log.getByText('Try the agent with its tools').waitFor()
    expect(await log.getByText('It is 42.').count()).toBe(0)
  })

  it('whatever tools, models, users and configurations say stays text', async () => {
    const evil = '<img src=x onerror="window.hacked=1"><script>window.hacked=2</script><svg onload=window.hacked=3>"\'`'
    const tool = defineTool({
      name: 'evil',
      description: evil,
      parameters: { type: 'object', properties: { [evil]: { type: 'string', description: evil, enum: [evil] } } },
      execute: () => evil,
    })
    const asking = defineTool({ name: 'ask', description: evil, approval: true, parameters: { type: 'object' }, execute: () => evil })
    const model = scriptedModel([
      { text: evil, reasoning: evil, toolCalls: [{ name: 'evil', arguments: { [evil]: evil } }, { name: evil.slice(0, 40) }] },
      { text: evil, toolCalls: [{ name: 'ask', arguments: { about: evil } }] },
    ])
    const { file } = await configFile(
      `models: { mine: { provider: custom, model: '<img src=x onerror=window.hacked=4>', baseURL: 'http://127.0.0.1:9/?<b>' } }\n`,
    )
    const { url, post } = await startService({ model, tools: [tool, asking], configFile: file })
    const { id } = await json(post('/v1/runs', { input: evil }))
    const page = await signIn(url, '', /^Failed to load|^Executing inline event handler violates the following Content Security Policy/)
    const texts: Record<string, string> = {
      '#/runs': '.call',
      [`#/runs/${id}`]: '.decision',
      '#/approvals': '.decision',
      '#/models': '.card',
      '#/tools': '.tool',
    }
    for (const [path, selector] of Object.entries(texts)) {
      await page.goto(`${url}/admin/${path}`)
      await page.locator(selector).first().waitFor()
      await page.getByText('<img src=x onerror=').first().waitFor()
      expect([path, await page.locator('#main img, #main script, [onerror], [onload]').count()]).toEqual([path, 0])
    }
    expect(await page.evaluate(`Reflect.get(window, 'hacked')`)).toBeUndefined()
    // And if anything of it were markup one day, the browser would not run it.
    await page.evaluate(`document.body.insertAdjacentHTML('beforeend', '<img src=x onerror="window.hacked=5">')`)
    await page.locator('body > img').waitFor({ state: 'attached' })
    expect(await page.evaluate(`Reflect.get(window, 'hacked')`)).toBeUndefined()
  })

  it('stays small however much happens, and fits on a phone', async () => {
    const model = scriptedModel((_request, index) =>
      index < 80
        ? { toolCalls: Array.from({ length: 4 }, (_, at) => ({ name: 'look', arguments: { n: index * 4 + at, text: 'x'.repeat(300) } })) }
        : 'done',
    )
    const tool = defineTool({ name: 'look', description: 'Looks.', parameters: { type: 'object' }, execute: () => 'y'.repeat(2_000) })
    const { url, post } = await startService({ model, tools: [tool], agent: { maxIterations: 100 } })
    const { id } = await json(post('/v1/runs', { input: 'work '.repeat(60) }))
    const page = await openPage(url, { path: `#/runs/${id}`, viewport: { width: 360, height: 740 }, signedIn: true })
    await page.locator('.item.note', { hasText: 'earlier steps are not shown' }).waitFor()
    await page.locator('.outcome-line', { hasText: 'Answered after' }).waitFor()
    expect(await page.locator('.timeline > li').count()).toBeLessThanOrEqual(301)
    expect(await page.evaluate(`document.querySelector('#main')?.textContent?.length ?? 0`)).toBeLessThan(1_000_000)
    for (const view of ['runs', 'approvals', 'chat', 'models', 'tools', 'config']) {
      await page.goto(`${url}/admin/#/${view}`)
      await page.locator('#main h1').waitFor()
      expect([view, await page.evaluate('document.documentElement.scrollWidth')]).toEqual([view, 360])
    }
    await page.goto(`${url}/admin/#/runs`)
    await page.locator('.feed .call').first().waitFor()
    expect(await page.locator('.feed .call').count()).toBeLessThanOrEqual(100)
  })
})
