import { readdirSync, readFileSync } from 'node:fs'
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import fc from 'fast-check'
import type { Locator, Page } from 'playwright-core'
import { describe, expect, it } from 'vitest'
import { visible } from '../../src/core/text/visible.ts'
import { AgentRunner, ask as askSomebody, asTool, type JsonSchema } from '../../src/index.ts'
import { scriptedModel } from '../../src/testing/index.ts'
import { defineTool } from '../../src/tools/tool.ts'
import { startStrictProvider } from '../models/rules/strict-provider.ts'
import { configText, hasBrowser, useBrowser, writeConfigText } from './page-browser.ts'
import { configFile, json, payTool, startService, token } from './start-service.ts'

it('JSON to be edited says the same, and has nothing in it that a screen does not show', async () => {
  const { escapedJson } = await import(new URL('../../src/page/ui/hidden-text.ts', import.meta.url).href)
  const unit = fc.oneof(fc.string({ unit: 'binary' }), fc.constantFrom('\u202e', '\u200d', '\ufe0f', '❤️', '👩‍💻', '\u{e0041}', '\x9b'))
  fc.assert(
    fc.property(fc.string({ unit }), (text) => {
      const json = JSON.stringify({ text }, null, 2)
      expect(JSON.parse(escapedJson(json))).toEqual({ text })
      expect(visible(escapedJson(json).replaceAll('\n', ''))).toBe(escapedJson(json).replaceAll('\n', ''))
    }),
  )
})

it('its colors have the contrast of WCAG AA, light and dark', () => {
  const style = readFileSync(new URL('../../src/page/style.css', import.meta.url), 'utf8')
  const colors = new Map([...style.matchAll(/--([\w-]+): light-dark\((#\w{6}), (#\w{6})\)/g)].map(([, name = '', ...pair]) => [name, pair]))
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
      const [a, b] = [luminance(colors.get(text)?.[theme]), luminance(colors.get(ground)?.[theme])]
      const contrast = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05)
      return contrast >= least ? [] : [`${text} on ${ground}, ${['light', 'dark'][theme]}: ${contrast.toFixed(2)}`]
    }),
  )
  expect(weak).toEqual([])
})

it('has no styles nobody needs', () => {
  const folder = new URL('../../src/page/', import.meta.url)
  const read = (name: string) => readFileSync(new URL(name, folder), 'utf8')
  const scripts = readdirSync(folder, { recursive: true })
    .map(String)
    .filter((name) => /\.(?:js|tsx?)$/.test(name))
  const used = new Set(
    ['index.html', ...scripts]
      .map(read)
      .join('\n')
      .match(/[\w-]+/g),
  )
  const styles = ['style.css', 'views.css', 'runs.css', 'reading.css']
    .map(read)
    .join('')
    .replace(/\/\*[\s\S]*?\*\/|\{[^{}]*\}/g, ' ')
  const named = [...styles.matchAll(/[.#]([a-z][\w-]*)/g)].map(([, name = '']) => name)
  expect(named.length).toBeGreaterThan(100)
  expect(named.filter((name) => name !== 'none' && !used.has(name))).toEqual([])
})

/** Roles of what can be used, and of what is gone to by its name. */
const nameless = new Set(
  'button link textbox searchbox combobox listbox checkbox radio dialog article region navigation log feed DisclosureTriangle'.split(' '),
)
/** Smaller than 24 pixels, and not within a line of text: https://www.w3.org/TR/WCAG22/#target-size-minimum */
const tooSmall = `[...document.querySelectorAll('button, input, select, textarea, summary, a[href]')].flatMap((element) => {
  const { width, height } = element.getBoundingClientRect()
  const isInline = element.closest('p, li, label, .decision-head') !== null && getComputedStyle(element).display === 'inline'
  const isSmall = width > 1 && Math.min(width, height) < 24 && !isInline && !element.matches('[type=checkbox]')
  return isSmall ? [element.localName + ' of ' + Math.round(width) + ' × ' + Math.round(height) + ': ' + element.textContent] : []
})`

describe.skipIf(!hasBrowser)('the admin page, in a browser', () => {
  const open = useBrowser()
  const see = (page: Page, text: string | RegExp) => page.getByText(text).first().waitFor()

  it('lets in with a token that is known, keeps it in the browser; is light or dark as the system is until somebody wants it otherwise', async () => {
    const { url } = await startService({ model: scriptedModel([]) })
    const page = await open(url, { signedIn: false })
    const field = page.getByLabel('Token')
    await field.fill('wrong')
    await page.getByRole('button', { name: 'Sign in' }).click()
    await see(page, 'This token is not valid.')
    expect(await field.getAttribute('aria-invalid')).toBe('true')
    await field.fill(token)
    await page.getByRole('button', { name: 'Sign in' }).click()
    await page.getByRole('heading', { name: 'Runs' }).waitFor()
    expect(await page.evaluate('[Object.values(sessionStorage), Object.values(localStorage), document.cookie]')).toEqual([
      [],
      [expect.stringContaining(token)],
      '',
    ])
    const shown = () =>
      page.evaluate<[string, string]>(
        `(({ backgroundColor }) => [backgroundColor, localStorage.getItem('toolloop.theme') ?? ''])(getComputedStyle(document.body))`,
      )
    const [light, dark] = ['rgb(244, 246, 246)', 'rgb(18, 23, 26)']
    expect(await shown()).toEqual([light, ''])
    await page.getByRole('button', { name: 'Dark colors' }).click()
    expect(await shown()).toEqual([dark, 'dark'])
    await page.reload()
    await page.getByRole('heading', { name: 'Runs' }).waitFor()
    expect(await shown()).toEqual([dark, 'dark'])
    await page.getByRole('button', { name: 'Light colors' }).click()
    expect(await shown()).toEqual([light, ''])
    // It follows the system again, which then changes.
    await page.emulateMedia({ colorScheme: 'dark' })
    await page.getByRole('button', { name: 'Light colors' }).waitFor()
    expect(await shown()).toEqual([dark, ''])
    await page.emulateMedia({ colorScheme: 'light' })
    await page.getByRole('button', { name: 'Sign out' }).click()
    await page.getByRole('heading', { name: 'Sign in to toolloop' }).waitFor()
    expect(await page.evaluate('sessionStorage.length + localStorage.length')).toBe(0)
    expect(await page.locator('main#main').count()).toBe(0)
  })

  it('S4-23 S4-25 another model is used from the next request on, and a run under way ends on the old one', async () => {
    const held = Promise.withResolvers<void>()
    await using one = await startStrictProvider({ script: [{ before: held.promise, text: 'from one' }] })
    await using two = await startStrictProvider({ script: ['from two'] })
    const { file } = await configFile(`# mine
model: first
models:
  first: { provider: custom, model: m1, baseURL: '${one.baseURL}' }
  second: { provider: custom, model: m2, baseURL: '${two.baseURL}' }
`)
    const { url, post, ask } = await startService({ configFile: file })
    const page = await open(url, { path: '#/models' })
    const { id } = await json(post('/v1/runs', { input: 'slow', background: true }))
    await one.waitForRequest()
    await page.getByRole('button', { name: 'Use second' }).click()
    await see(page, 'second becomes the current model with the next request.')
    await page.getByText('custom / m2').first().waitFor()
    expect(await json(post('/v1/runs', { input: 'x' }))).toMatchObject({ output: 'from two' })
    held.resolve()
    await page.getByRole('link', { name: 'Runs' }).click()
    await page.getByRole('link', { name: /slow/ }).click()
    await see(page, 'from one')
    expect((await json(ask(`/v1/runs/${id}`))).output).toBe('from one')
    expect((await json(ask('/admin/api/config'))).text).toMatch(/^# mine\nmodel: second\n/)
  })

  it('models and providers are tested, edited and saved; errors are shown at their fields, and so are missing keys and fields that need a restart', async () => {
    await using provider = await startStrictProvider({ script: ['ready', 'ready'] })
    const { file, write } = await configFile(
      `model: away/m\nmodels: { main: { provider: custom, model: m, baseURL: '${provider.baseURL}' } }\nproviders: { away: { driver: openai, baseURL: "http://127.0.0.1:9/v1", apiKeyEnv: AWAY_KEY } }\n`,
    )
    const { url, ask, post } = await startService({ configFile: file, times: { debounceMs: 60_000, pollMs: 60_000 } })
    const page = await open(url, { path: '#/models' })
    const card = (name: string) => page.getByRole('listitem').filter({ has: page.getByRole('heading', { name, exact: true }) })
    await page.getByRole('button', { name: 'Edit main' }).click()
    const ofModel = page.getByRole('dialog', { name: 'Model main' })
    await ofModel.getByRole('button', { name: 'Test' }).click()
    await ofModel.getByText('Answered in').waitFor()
    await ofModel.getByLabel('Base URL').fill('not an address')
    await ofModel.getByRole('button', { name: 'Save' }).click()
    await ofModel.getByText('/models/main/baseURL must match').waitFor()
    expect(await ofModel.getByLabel('Base URL').getAttribute('aria-invalid')).toBe('true')
    await ofModel.getByLabel('Base URL').fill(provider.baseURL)
    await ofModel.getByLabel('API key variable').fill('MY_KEY')
    await ofModel.getByRole('button', { name: 'Save' }).click()
    await ofModel.getByText('/models/main/apiKey').waitFor()
    await ofModel.getByLabel('API key variable').fill('')
    await ofModel.getByLabel('Context window').fill('4096')
    await ofModel.getByRole('button', { name: 'Save' }).click()
    await see(page, 'main was saved.')
    expect(await json(ask('/admin/api/config'))).toMatchObject({
      config: { models: { main: { contextWindow: 4096, baseURL: provider.baseURL } } },
    })
    await card('away').getByText('Key in AWAY_KEY').getByText('no key').waitFor()
    await page.getByRole('button', { name: 'Add provider' }).click()
    const dialog = page.getByRole('dialog', { name: 'Add a provider' })
    await dialog.getByLabel('Name', { exact: true }).fill('mine')
    await dialog.getByLabel('Driver').selectOption('openai')
    await dialog.getByLabel('Base URL').fill(provider.baseURL)
    await dialog.getByLabel('Works without a key').check()
    await dialog.getByRole('button', { name: 'Test' }).click()
    await dialog.getByText('Enter a model to test with').waitFor()
    await dialog.getByLabel('Model to test with').fill('m1')
    await dialog.getByRole('button', { name: 'Test' }).click()
    await dialog.getByText(/Answered in .*: ready/).waitFor()
    expect(provider.requests[1]?.body).toMatchObject({ model: 'm1' })
    await dialog.getByLabel('More settings').fill('[]')
    await dialog.getByRole('button', { name: 'Save' }).click()
    await dialog.getByText('Expected a JSON object').waitFor()
    await dialog.getByLabel('More settings').fill('')
    await dialog.getByRole('button', { name: 'Save' }).click()
    await see(page, 'mine was saved.')
    await page.getByRole('button', { name: 'Edit provider mine' }).click()
    const edit = page.getByRole('dialog', { name: 'Provider mine' })
    await edit.getByLabel('Name', { exact: true }).fill('away')
    await edit.getByRole('button', { name: 'Save' }).click()
    await edit.getByText('A provider named away already exists').waitFor()
    await edit.getByLabel('Name', { exact: true }).fill('ours')
    await edit.getByRole('button', { name: 'Save' }).click()
    await card('ours').getByText('OpenAI Chat Completions').waitFor()
    const saved = await json(ask('/admin/api/config'))
    expect(saved.config.providers).toEqual({
      away: { driver: 'openai', baseURL: 'http://127.0.0.1:9/v1', apiKeyEnv: 'AWAY_KEY' },
      ours: { driver: 'openai', baseURL: provider.baseURL, apiKeyOptional: true },
    })
    // Somebody else is quicker; then what they have done is there.
    await write(`${saved.text}service: { port: 9999 }\n`)
    await page.getByRole('button', { name: 'Remove provider ours' }).click()
    await see(page, 'Someone else changed the configuration. Nothing was saved.')
    await page.getByRole('button', { name: 'Reload' }).click()
    await page.getByText('Someone else').waitFor({ state: 'detached' })
    await page.getByRole('button', { name: 'Remove provider ours' }).click()
    await see(page, 'ours was removed.')
    await see(page, 'Changed in the configuration, in effect after a restart: /service/port')
    expect(await page.evaluate('document.activeElement?.textContent')).toBe('Models and providers')
    // What is wrong with a key is told by the model as well.
    await post('/v1/runs', { input: 'x' })
    await page.getByRole('button', { name: 'Test the current model' }).click()
    await see(page, /AWAY_KEY to hold a key/)
  })

  it('shows a running run: its text, its call with arguments, result and duration; takes a message; is cancelled', async () => {
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
    const page = await open(url, { path: '#/overview' })
    await post('/v1/runs', { input: 'What is a lumière?', background: true })
    const feed = page.getByRole('feed', { name: 'Tool calls' })
    await feed.getByText('running').waitFor()
    await page
      .getByRole('link', { name: /What is a lumière/ })
      .first()
      .click()
    const run = page.getByRole('region', { name: 'Run' })
    const call = run.getByRole('article', { name: 'Call to look_up' })
    await call.getByText('running').waitFor()
    await call.getByText('{ "word": "lumière" }').waitFor()
    calling.resolve()
    await call.getByText('a small lamp').waitFor()
    await call.getByText(/\d m?s/).waitFor()
    await run.getByText('It is', { exact: true }).waitFor()
    await run.getByLabel('Send a message to this run').fill('and then?')
    await run.getByRole('button', { name: 'Send' }).click()
    await run.getByText('and then?').waitFor()
    speaking.resolve()
    await run.getByText('It is a lamp.').waitFor()
    await run.getByText('and also').waitFor()
    expect(model.requests[2]?.messages.at(-1)).toMatchObject({ role: 'user', content: 'and then?' })
    await run.getByRole('button', { name: 'Cancel run' }).click()
    await run.getByText('Cancelled after 1 tool call').waitFor()
  })

  it('resumes its events where they stopped; continues with a service that replaces a stopped one; asks for a token that one knows', async () => {
    const held = Promise.withResolvers<void>()
    const model = scriptedModel([{ chunks: ['one ', held.promise, 'two'] }, { chunks: '.'.repeat(60).split('') }])
    const first = await startService({ model })
    const page = await open(first.url)
    await first.post('/v1/runs', { input: 'count', background: true })
    await page.getByRole('link', { name: /count/ }).click()
    const text = page.locator('.item.assistant')
    await page.getByText('one', { exact: true }).waitFor()
    const again = page.waitForRequest((request) => /\/events$/.test(request.url()) && request.headers()['last-event-id'] !== undefined)
    first.listening.server.closeAllConnections()
    await see(page, 'Connection lost')
    held.resolve()
    await again
    await page.getByText('one two').waitFor()
    expect(await text.textContent()).toBe('one two')
    await page.getByText('Live', { exact: true }).waitFor()
    await page.getByRole('link', { name: 'Runs' }).click()
    await first.post('/v1/runs', { input: 'so that its events have higher numbers than those that come' })
    const { port } = new URL(first.url)
    await first.listening.close(0)
    await see(page, 'Connection lost')
    const call = { toolCalls: [{ name: 'calculate', arguments: { expression: '1+1' } }] }
    const second = await startService({ model: scriptedModel([call, 'after']), builtinTools: ['calculate'] }, { port: Number(port) })
    await second.post('/v1/runs', { input: 'of the second' })
    await page
      .getByRole('link', { name: /of the second/ })
      .first()
      .waitFor()
    await page.getByText('Live', { exact: true }).waitFor()
    // Its events are numbered from 1 again, and none of them is missed.
    await page.getByRole('link', { name: 'Overview' }).click()
    await page.getByRole('feed').getByRole('article', { name: 'Call to calculate' }).getByText('succeeded').waitFor()
    expect(await page.getByText('count', { exact: true }).count()).toBe(0)
    await second.listening.close(0)
    await startService({ model: scriptedModel([]), token: 'another-token-of-it' }, { port: Number(port) })
    await see(page, 'The token is no longer accepted.')
    expect(await page.evaluate('sessionStorage.length + localStorage.length')).toBe(0)
  })

  it('a token that could not be tried is not lost', async () => {
    const { file } = await configFile('service: { requestsPerMinute: 1 }\n')
    const { url, ask } = await startService({ configFile: file })
    await ask('/v1/models')
    const page = await open(url)
    await page
      .getByRole('alert')
      .filter({ hasText: /requests/ })
      .waitFor()
    expect(await page.getByLabel('Token').inputValue()).toBe(token)
  })

  it('a call is approved, with other arguments or none, or rejected with a reason', async () => {
    const { tool, paid } = payTool()
    const asks = (euros: number) => ({ toolCalls: [{ name: 'pay', arguments: { euros } }] })
    const both = { toolCalls: [...asks(4).toolCalls, ...asks(5).toolCalls] }
    const model = scriptedModel([asks(1), 'one done', asks(2), 'two done', asks(3), 'three done', both, 'both done'])
    const { url, post } = await startService({ model, tools: [tool] })
    const page = await open(url, { path: '#/approvals' })
    await see(page, 'Nothing is waiting for you.')
    const card = page.getByRole('article', { name: /pay/ })

    await post('/v1/runs', { input: 'pay one' })
    await card.getByRole('button', { name: 'Approve' }).click()
    await see(page, 'Nothing is waiting for you.')
    expect(paid).toEqual([{ euros: 1 }])

    await post('/v1/runs', { input: 'pay two' })
    await card.getByRole('button', { name: 'Edit arguments' }).click()
    await card.getByLabel('euros').fill('many')
    await card.getByRole('group', { name: 'Changes' }).getByText('"euros": "many"').waitFor()
    await card.getByRole('button', { name: 'Approve with these arguments' }).click()
    await card.locator('.error-text', { hasText: 'euros' }).waitFor()
    await card.getByRole('button', { name: 'Edit as JSON' }).click()
    const args = card.getByLabel('Arguments, as JSON')
    await args.fill('{ "euros": ')
    await card.getByRole('button', { name: 'Approve with these arguments' }).click()
    await card.locator('.error-text:not(:empty)').waitFor()
    expect(await args.getAttribute('aria-invalid')).toBe('true')
    await args.fill('{ "euros": "many" }')
    await card.getByRole('button', { name: 'Approve with these arguments' }).click()
    await card.locator('.error-text', { hasText: 'euros' }).waitFor()
    await args.fill('{ "euros": 1.5 }')
    await card.getByRole('button', { name: 'Approve with these arguments' }).click()
    await see(page, 'Nothing is waiting for you.')
    expect(paid).toEqual([{ euros: 1 }, { euros: 1.5 }])

    await post('/v1/runs', { input: 'pay three' })
    await card.getByRole('button', { name: 'Reject' }).click()
    await card.getByLabel('Reason').fill('too much')
    await card.getByRole('button', { name: 'Reject the call' }).click()
    await see(page, 'Nothing is waiting for you.')
    expect(paid).toHaveLength(2)
    expect(JSON.stringify(model.requests.at(-1)?.messages)).toContain('too much')

    // Of two calls one is decided on while something is being written to the other.
    await post('/v1/runs', { input: 'pay both' })
    await card.first().getByRole('link', { name: 'Open run' }).click()
    const waiting = page.locator('.run-panel .decision')
    await waiting.last().getByRole('button', { name: 'Reject' }).click()
    await waiting.last().getByLabel('Reason').fill('once is enough')
    await waiting.first().getByRole('button', { name: 'Approve' }).click()
    await waiting.nth(1).waitFor({ state: 'detached' })
    await waiting.getByRole('button', { name: 'Reject the call' }).click()
    await see(page, 'both done')
    expect(paid).toHaveLength(3)
    expect(JSON.stringify(model.requests.at(-1)?.messages)).toContain('once is enough')
  })

  it('a call is shown as it will run: in full, with what screens hide made visible; what the service hides can’t be approved', async () => {
    const ran: unknown[] = []
    const send = defineTool({
      name: 'send',
      description: 'Sends.',
      approval: true,
      parameters: { type: 'object' },
      execute: (args) => void ran.push(args),
    })
    const asks = (args: object) => ({ toolCalls: [{ name: 'send', arguments: { ...args } }] })
    const tricky = { to: 'a\u202emoc.b\u200b', amounts: ['א', 12, 34], text: `${'x'.repeat(30_000)}\u001b👩‍💻 END` }
    const secret = { to: 'a', password: 'hunter2' }
    const model = scriptedModel([asks(tricky), 'sent', asks(tricky), 'sent', asks(secret), 'sent'])
    const { url, post } = await startService({ model, tools: [send] })
    const page = await open(url, { path: '#/approvals' })
    const card = page.getByRole('article', { name: /send/ })
    const shown = card.getByRole('group', { name: 'Arguments' })

    await post('/v1/runs', { input: 'one' })
    await shown.waitFor()
    const text = (await shown.textContent()) ?? ''
    expect(text).toContain('"a‹U+202E›moc.b‹U+200B›"')
    expect(text).toContain('x\\u001b👩‍💻 END"')
    // All of it is on the page, and each text is for itself in the order of its letters.
    const fits = `(({ scrollHeight, clientHeight, scrollWidth, clientWidth }) => scrollHeight <= clientHeight && scrollWidth <= clientWidth)`
    expect(await page.evaluate(`${fits}(document.querySelector('.decision pre'))`)).toBe(true)
    expect(await shown.locator('bdi', { hasText: 'א' }).textContent()).toBe('"א"')
    await card.getByRole('button', { name: 'Approve' }).click()
    await see(page, 'Nothing is waiting for you.')

    await post('/v1/runs', { input: 'two' })
    await card.getByRole('button', { name: 'Edit arguments' }).click()
    const field = card.getByLabel('Arguments, as JSON')
    expect(await field.inputValue()).toContain('"a\\u202emoc.b\\u200b"')
    await card.getByRole('button', { name: 'Approve with these arguments' }).click()
    await see(page, 'Nothing is waiting for you.')
    expect(ran).toEqual([tricky, tricky])

    await post('/v1/runs', { input: 'three' })
    await card.getByText('Part of this call is redacted').waitFor()
    expect(await card.getByRole('button', { name: 'Approve' }).count()).toBe(0)
    await card.getByRole('button', { name: 'Edit arguments' }).click()
    await card.getByRole('button', { name: 'Approve with these arguments' }).click()
    await card.getByText('Replace [redacted] with the actual value').waitFor()
    await field.fill('{ "to": "a", "password": "mine" }')
    await card.getByRole('button', { name: 'Approve with these arguments' }).click()
    await see(page, 'Nothing is waiting for you.')
    expect(ran.at(-1)).toEqual({ to: 'a', password: 'mine' })
  })

  it('questions are answered, results of clients given; agents inside calls are decided for, and their calls are shown inside their parents’', async () => {
    const { tool: pay, paid } = payTool()
    const payer = new AgentRunner({
      model: scriptedModel([{ toolCalls: [{ name: 'pay', arguments: { euros: 3 } }] }, 'all paid']),
      tools: [pay],
    })
    const question = (name: string, about: string, schema?: JsonSchema) =>
      defineTool({
        name,
        description: 'Asks.',
        execute: (_args, { answer }) => (answer === undefined ? askSomebody({ about, ...(schema && { schema }) }) : { answer }),
      })
    const tools = [
      question('size', 'Which size?', { enum: ['S', 'M'] }),
      question('name', 'What name?', { type: 'string' }),
      question('sure', 'Are you sure?', { type: 'boolean' }),
      defineTool({ name: 'position', description: 'The client knows.', parameters: { type: 'object' } }),
      asTool(payer, { name: 'payer', description: 'Pays what is asked.', forwardEvents: true }),
    ]
    const model = scriptedModel(({ messages }) => {
      const last = messages.at(-1)
      if (last?.role !== 'user') return `It was ${JSON.stringify(last?.content)}.`
      return { toolCalls: [{ name: String(last.content), ...(last.content === 'payer' && { arguments: { task: 'pay 3' } }) }] }
    })
    const { url, post, ask } = await startService({ model, tools })
    const page = await open(url, { path: '#/approvals' })
    const outputs: string[] = []
    const decided = async (tool: string, decide: (card: Locator) => Promise<void>) => {
      const { id } = await json(post('/v1/runs', { input: tool }))
      await decide(page.getByRole('article', { name: new RegExp(tool === 'payer' ? 'pay' : tool) }))
      await see(page, 'Nothing is waiting for you.')
      // The stream of its events ends with the run.
      await (await ask(`/v1/runs/${id}/events`)).text()
      const run = await json(ask(`/v1/runs/${id}`))
      outputs.push(run.output)
      return id
    }
    await decided('size', async (card) => {
      await card.getByText('Which size?').waitFor()
      expect(await card.getByRole('button').allTextContents()).toEqual(['S', 'M', 'Decline'])
      await card.getByRole('button', { name: 'M', exact: true }).click()
    })
    await decided('name', async (card) => {
      await card.getByRole('button', { name: 'Answer' }).click()
      await card.getByText('Enter an answer').waitFor()
      await card.getByLabel('Answer').fill('17')
      await page.keyboard.press('Control+Enter')
    })
    await decided('sure', (card) => card.getByRole('button', { name: 'No', exact: true }).click())
    await decided('sure', (card) => card.getByRole('button', { name: 'Decline' }).click())
    await decided('position', async (card) => {
      await card.getByLabel('Result').fill('{ "lat": 48 }')
      await card.getByRole('button', { name: 'Send result' }).click()
    })
    const id = await decided('payer', async (card) => {
      await card.getByText('From agent payer').waitFor()
      await card.getByRole('button', { name: 'Edit arguments' }).click()
      await card.getByLabel('Arguments').fill('{ "euros": 2 }')
      await card.getByRole('button', { name: 'Approve with these arguments' }).click()
    })
    expect(outputs.map((output) => output.replaceAll('\\', ''))).toEqual([
      expect.stringContaining('{"answer":"M"}'),
      expect.stringContaining('{"answer":"17"}'),
      expect.stringContaining('{"answer":false}'),
      expect.stringMatching(/declined|nobody|not/),
      expect.stringContaining('{"lat":48}'),
      expect.stringContaining('all paid'),
    ])
    expect(paid).toEqual([{ euros: 2 }])
    await page.getByRole('link', { name: 'Overview' }).click()
    const inner = page.getByRole('article', { name: 'Call to pay inside payer' })
    await inner.getByText('{ "euros": 2 }').waitFor()
    // The run inside has no page of its own: its calls lead to the run they are part of.
    await inner.getByRole('link', { name: 'payer' }).click()
    await page.getByRole('region', { name: 'Run' }).getByText(id).waitFor()
    await page.locator('.turns summary').click()
    await inner.getByText('succeeded').waitFor()
    const left = async (card: Locator) => (await card.boundingBox())?.x ?? 0
    expect(await left(inner)).toBeGreaterThan(await left(page.getByRole('article', { name: 'Call to payer', exact: true })))
  })

  it('X6 what a tool says of itself can’t change the direction of the page', async () => {
    const evil = 'reads \u202egnp.exe\u202c'
    const parameters = { type: 'object', properties: { path: { type: 'string', description: `The ${evil}` } } }
    const tool = defineTool({ name: 'look', description: `Looks, ${evil}`, parameters, execute: () => '' })
    const { url } = await startService({ model: scriptedModel([]), tools: [tool] })
    const page = await open(url, { path: '#/tools/look' })
    await page.locator('.tool-body').getByText('The reads').first().waitFor()
    expect(await page.locator('.tool-about').textContent()).toBe('Looks, reads ‹U+202E›gnp.exe‹U+202C›')
    expect(await page.locator('body').textContent()).not.toMatch(/[\u202a-\u202e\u2066-\u2069]/)
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
    const page = await open(url, { signedIn: false })
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
    await page.getByRole('button', { name: 'Approve' }).and(page.locator(':enabled')).waitFor()
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
    await see(page, 'Nothing is waiting for you.')
    expect(await focused()).toBe('Approvals')
    expect(paid).toEqual([1])
  })

  it('everything that can be used has a name, and is large enough to be hit', async () => {
    const { folder, file, write } = await configFile('')
    await mkdir(join(folder, 'skills', 'greeting'), { recursive: true })
    await writeFile(
      join(folder, 'skills', 'greeting', 'SKILL.md'),
      `---\nname: greeting\ndescription: How to greet.\nallowed-tools: calculate\n---\n${'Say “Moin”.\n'.repeat(200)}`,
    )
    await write(
      'model: first\nmodels: { first: demo, second: demo }\nproviders: { mine: { driver: openai, apiKeyOptional: true } }\nskills: { paths: [skills] }\n',
    )
    const pay = defineTool({ name: 'pay', description: 'Pays.', approval: true, execute: () => 'paid' })
    const position = defineTool({ name: 'position', description: 'The client knows.' })
    const look = defineTool({ name: 'look', description: 'Looks.', execute: () => 'line\n'.repeat(100) })
    const model = scriptedModel([
      { reasoning: 'Hm.', toolCalls: [{ name: 'look' }] },
      { toolCalls: [{ name: 'pay' }, { name: 'position' }] },
    ])
    const { url, post } = await startService({ configFile: file, cwd: folder, model, modelIsFixed: true, tools: [pay, position, look] })
    const { id } = await json(post('/v1/runs', { input: 'pay' }))
    const page = await open(url)
    const devtools = await page.context().newCDPSession(page)
    const faults: string[] = []
    const check = async (where: string) => {
      const { nodes } = await devtools.send('Accessibility.getFullAXTree')
      const used = nodes.filter(({ ignored, role }) => !ignored && nameless.has(String(role?.value)))
      if (used.length < 3) faults.push(`${where}: only ${used.length} things can be used`)
      for (const { role, name } of used) if (!name?.value) faults.push(`${where}: a ${role?.value} without a name`)
      faults.push(...(await page.evaluate<string[]>(tooSmall)).map((fault) => `${where}: ${fault}`))
    }
    for (const [path, ready] of Object.entries({
      overview: '.metric, .first-run',
      runs: '.run-link',
      [`runs/${id}`]: '.decision + .decision',
      approvals: '.decision + .decision',
      chat: '.composer',
      models: '.cards + *, .card',
      tools: '.tool:has-text("greeting")',
      config: '.yaml-editor',
    })) {
      await page.evaluate(`location.hash = '#/${path}'`)
      await page.locator(ready).first().waitFor({ state: 'attached' })
      const openAll = () => page.evaluate(`for (const details of document.querySelectorAll('details')) details.open = true`)
      await openAll()
      // The content of a tool or a Skill is created when it is opened.
      if (path === 'tools') {
        for (const inside of ['.parameters, .try-form', '.long-text']) await page.locator(`.tool-list :is(${inside})`).first().waitFor()
        await openAll()
      }
      await check(path)
    }
    await page.evaluate(`location.hash = '#/models'`)
    for (const name of ['Edit second', 'Edit provider mine', 'Keyboard shortcuts']) {
      await page.getByRole('button', { name }).click()
      await page.getByRole('dialog').waitFor()
      await check(name)
      await page.keyboard.press('Escape')
      await page.getByRole('dialog').waitFor({ state: 'detached' })
    }
    await page.keyboard.press('Control+k')
    await page.getByRole('option').first().waitFor()
    await check('command palette')
    await page.keyboard.press('Escape')
    await page.evaluate(`location.hash = '#/approvals'`)
    await page.getByRole('button', { name: 'Edit arguments' }).click()
    await check('editing arguments')
    expect(faults).toEqual([])
    // Proves that the check finds an element without a name.
    await page.evaluate(`document.querySelector('#main').innerHTML = '<button></button><input><a href="#/runs">x</a>'`)
    await check('broken')
    expect(faults).toEqual([
      'broken: a button without a name',
      'broken: a textbox without a name',
      expect.stringMatching(/^broken: a of \d+ × 1\d: x$/),
    ])
  })

  it('what can be changed in the file alone is marked in it, and a change of it is refused with a word why', async () => {
    const text =
      'model: demo\nmcp:\n  servers:\n    search:\n      url: http://127.0.0.1:9/mcp\n      optional: true\nlimits:\n  maxIterations: 3\n'
    const { file } = await configFile(text)
    const { url } = await startService({ configFile: file })
    const page = await open(url, { path: '#/config' })
    await expect.poll(() => configText(page)).toBe(text)
    await expect.poll(() => page.locator('.cm-gutterElement.locked').allInnerTexts()).toEqual(['2', '3', '4', '5', '6'])
    await see(page, 'Lines 2–6 can be changed only in the file itself; here you can remove parts of what they allow.')
    await writeConfigText(page, text.replace('optional: true', 'optional: true\n      approval: false'))
    await page.getByRole('button', { name: 'Save' }).click()
    await see(page, 'Not saved.')
    await see(page, /\/mcp\/servers\/search can only be changed in the file; over the API, a server can only be removed/)
    await page.getByRole('button', { name: 'Line 4' }).click()
    await writeConfigText(page, 'model: demo\n')
    await page.getByRole('button', { name: 'Save' }).click()
    await see(page, 'Saved. The changes apply from the next request.')
    await page.getByText('can be changed only in the file itself').waitFor({ state: 'hidden' })
  })

  it('S4-27 a configuration that is not usable is refused with the failing paths, and the state says what is wrong with the file', async () => {
    const { file, write } = await configFile('model: demo\nlimits:\n  maxIterations: 3\n')
    const { url, ask } = await startService({ configFile: file, times: { debounceMs: 5 } })
    const page = await open(url, { path: '#/config' })
    await expect.poll(() => configText(page)).toContain('model: demo')
    await writeConfigText(page, 'model: demo\nlimits:\n  maxIterations: 0\n')
    await page.getByRole('button', { name: 'Save' }).click()
    await see(page, 'Not saved.')
    await see(page, '/limits/maxIterations')
    await page.getByRole('button', { name: 'Line 3' }).click()
    expect(await page.locator('.cm-activeLine, .cm-line.bad').allInnerTexts()).toEqual(['  maxIterations: 0'])
    await writeConfigText(page, 'model: demo\nlimits:\n  maxIterations: 4\n')
    await page.keyboard.press('Control+s')
    await see(page, 'Saved. The changes apply from the next request.')
    expect(await json(ask('/admin/api/config'))).toMatchObject({ config: { limits: { maxIterations: 4 } } })
    // Somebody else is quicker.
    await writeConfigText(page, 'model: demo # mine\n')
    await write('model: demo # theirs\n')
    await page.getByRole('button', { name: 'Save' }).click()
    await see(page, 'Someone else changed the file')
    await page.getByRole('button', { name: 'Reload and discard my changes' }).click()
    await expect.poll(() => configText(page)).toBe('model: demo # theirs\n')
    // And breaks it.
    await write('model: { provider: \n')
    await page.getByRole('button', { name: 'Sign out' }).waitFor()
    await expect.poll(async () => (await json(ask('/admin/api/state'))).config.lastError).not.toBeNull()
    await page.reload()
    await see(page, /The configuration file is invalid; the previous configuration stays in use/)
    await see(page, 'is not valid YAML')
  })

  it('chats: streams, shows calls, continues the conversation, stops', async () => {
    const model = scriptedModel([
      { text: 'Let me see.', toolCalls: [{ name: 'calculate', arguments: { expression: '6*7' } }] },
      'It is 42.',
      { text: 'Well', hang: true },
    ])
    const { url } = await startService({ model, builtinTools: ['calculate'] })
    const page = await open(url, { path: '#/chat' })
    await page.getByLabel('Message').fill('What is 6 times 7?')
    await page.keyboard.press('Enter')
    const log = page.getByRole('log', { name: 'Conversation' })
    await log.getByText('It is 42.').waitFor()
    await log.getByRole('article', { name: 'Call to calculate' }).getByText('succeeded').waitFor()
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
    await log.getByText('Try the agent and its tools').waitFor()
    expect(await log.getByText('It is 42.').count()).toBe(0)
  })

  it('whatever tools, models, users and configurations say stays text', async () => {
    const evil = [
      '<img src=x onerror="window.hacked=1"><script>window.hacked=2</script><svg onload=window.hacked=3>"\'`',
      '<a href="javascript:window.hacked=6">x</a> javascript:alert(1) [x](javascript:window.hacked=7) ![x](x" onerror="window.hacked=8)',
      '</textarea></pre></title></style><script>window.hacked=9</script> --> ]]> <!--',
      '<iframe srcdoc="<script>parent.hacked=10</script>"></iframe><object data="data:text/html,x"></object><embed src=x>',
      '<math><mtext><table><mglyph><style><!--</style><img title="--&gt;&lt;img src=1 onerror=window.hacked=11&gt;">',
      '&lt;img src=x onerror=window.hacked=12&gt; &#x3c;script&#x3e;window.hacked=13&#x3c;/script&#x3e; \\u003cscript\\u003e',
      '<base href="//127.0.0.1:9/"><form action="//127.0.0.1:9/"><button formaction="javascript:window.hacked=14">y</button></form>',
      "' onmouseover=window.hacked=15 x=' \" autofocus onfocus=window.hacked=16 \" {{constructor.constructor('window.hacked=17')()}} <%= window.hacked=18 %>",
      '\u202egnp.exe\u0000 👩‍👩‍👧 שלום __proto__ %3Cscript%3E',
    ].join(' ')
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
      { text: evil, reasoning: evil, toolCalls: [{ name: 'evil', arguments: {} }] },
      { chunks: evil.split(/(?<=[<>])/) },
    ])
    const { file, write } = await configFile(
      `models: { mine: { provider: custom, model: '<img src=x onerror=window.hacked=4>', baseURL: 'http://127.0.0.1:9/?<b>' } }\ninstructions: ${JSON.stringify(evil)}\n`,
    )
    const { url, post, ask } = await startService({ model, tools: [tool, asking], configFile: file, times: { debounceMs: 5 } })
    const { id } = await json(post('/v1/runs', { input: evil }))
    const page = await open(url, {
      path: '',
      expected: /^Failed to load|^Executing inline event handler violates the following Content Security Policy/,
    })
    const texts: Record<string, string> = {
      '#/runs': '.run-link',
      '#/overview': '.call',
      [`#/runs/${id}`]: '.decision',
      '#/approvals': '.decision',
      '#/models': '.card',
      '#/tools': '.tool',
    }
    const strange = [
      '#main :is(img, script, iframe, object, embed, math, base, style)',
      ':is([onerror], [onload], [onfocus], [onmouseover], [formaction], [action], [srcdoc])',
      'a:not([href^="#/"], [href="#main"])',
    ].join()
    const isText = async (place: string) => {
      await page.getByText('<img src=x onerror=').first().waitFor()
      expect([place, await page.locator(strange).count()]).toEqual([place, 0])
    }
    for (const [path, selector] of Object.entries(texts)) {
      await page.goto(`${url}/admin/${path}`)
      await page.locator(selector).first().waitFor()
      await isText(path)
    }
    await page.goto(`${url}/admin/#/chat`)
    await page.getByLabel('Message').fill(evil)
    await page.keyboard.press('Enter')
    await page.getByRole('log', { name: 'Conversation' }).getByText('%3Cscript%3E').last().waitFor()
    await isText('#/chat')
    // And what the service says of a file that is broken.
    await write('models: { "<img src=x onerror=window.hacked=19>": { provider: 1 } }\n')
    await expect.poll(async () => (await json(ask('/admin/api/state'))).config.lastError).not.toBeNull()
    await page.goto(`${url}/admin/#/config`)
    await expect.poll(() => configText(page)).toContain('onerror=')
    await isText('#/config')
    expect(await page.evaluate(`Reflect.get(window, 'hacked')`)).toBeUndefined()
    // And if anything of it were markup one day, the browser would not run it.
    await page.evaluate(`document.body.insertAdjacentHTML('beforeend', '<img src=x onerror="window.hacked=5">')`)
    await page.locator('body > img').waitFor({ state: 'attached' })
    expect(await page.evaluate(`Reflect.get(window, 'hacked')`)).toBeUndefined()
  })

  it('stays small however much happens, says what is not shown, and fits on a phone', async () => {
    const model = scriptedModel((_request, index) => {
      if (index > 80) return { chunks: Array.from({ length: 5_100 }, (_, at) => `${at} `) }
      return index === 80
        ? 'done'
        : { toolCalls: Array.from({ length: 4 }, (_, at) => ({ name: 'look', arguments: { n: index * 4 + at, text: 'x'.repeat(300) } })) }
    })
    const tool = defineTool({ name: 'look', description: 'Looks.', parameters: { type: 'object' }, execute: () => 'y'.repeat(2_000) })
    const { url, post } = await startService({ model, tools: [tool], agent: { maxIterations: 100 } })
    const { id } = await json(post('/v1/runs', { input: 'work '.repeat(60) }))
    const page = await open(url, { path: `#/runs/${id}`, viewport: { width: 360, height: 740 } })
    // So much takes longer on a machine that has other things to do.
    await page.locator('.turns summary').click({ timeout: 60_000 })
    await page.locator('.item.note', { hasText: 'earlier steps are not shown' }).waitFor({ timeout: 60_000 })
    await page.locator('.outcome-line', { hasText: 'Answered after' }).waitFor({ timeout: 60_000 })
    expect(await page.locator('.timeline > li').count()).toBeLessThanOrEqual(301)
    expect(await page.evaluate(`document.querySelector('#main')?.textContent?.length ?? 0`)).toBeLessThan(1_000_000)
    // Of this one the service itself has given up the first events.
    const talk = await json(post('/v1/runs', { input: 'talk' }))
    await page.goto(`${url}/admin/#/runs/${talk.id}`)
    await page.locator('.turns summary').click()
    await page.locator('.item.note', { hasText: /^\d+ events are no longer stored$/ }).waitFor()
    await page.locator('.outcome-line', { hasText: /^Answered$/ }).waitFor()
    // Its answer is whole nevertheless.
    const whole = Array.from({ length: 5_100 }, (_, at) => `${at} `).join('')
    await expect.poll(() => page.locator('.run-answer .answer').textContent()).toBe(whole)
    for (const view of ['runs', 'approvals', 'chat', 'models', 'tools', 'config']) {
      await page.goto(`${url}/admin/#/${view}`)
      await page.locator('#main h1').waitFor()
      expect([view, await page.evaluate('document.documentElement.scrollWidth')]).toEqual([view, 360])
    }
    await page.goto(`${url}/admin/#/overview`)
    await page.locator('.feed .call').first().waitFor()
    expect(await page.locator('.feed .call').count()).toBeLessThanOrEqual(100)
  })
})
