import { readdirSync, readFileSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Locator, Page } from 'playwright-core'
import { describe, expect, it, onTestFinished } from 'vitest'
import { recordingFromText } from '../../src/recording/file/recording-file.ts'
import { scriptedModel } from '../../src/testing/index.ts'
import { defineTool } from '../../src/tools/tool.ts'
import { barriers } from './page-axe.ts'
import { hasBrowser, useBrowser } from './page-browser.ts'
import { watchWork } from './page-tasks.ts'
import { shippedPage } from './shipped-page.ts'
import { json, payTool, startService } from './start-service.ts'

const large = { maxResultBytes: 20_000_000 }

/** What was copied last; a page without TLS has no clipboard of its own here. */
const keepCopies = `window.copied = ''; Object.defineProperty(navigator, 'clipboard', { value: { writeText: async (text) => { window.copied = text } } })`
/** Slower machines take longer. */
const eventually = <Value>(look: () => Promise<Value>) => expect.poll(look, { timeout: 30_000 })
/** Without all of it: to send it from one process to another is work of the page as well. */
const copied = (page: Page) =>
  page.evaluate<string>(`window.copied.length + " " + window.copied.slice(0, 80) + " … " + window.copied.slice(-80)`)
const short = (text: string) => `${text.length} ${text.slice(0, 80)} … ${text.slice(-80)}`

/** What the time line has of a call. */
async function detailsOf(page: Page, tool: string): Promise<Locator> {
  await page.getByRole('region', { name: 'Time line' }).locator('.bar-button', { hasText: tool }).click()
  return page.locator('.bar-details:not([hidden])')
}

/** All of an answer, part by part. */
const showAll = (page: Page) =>
  page.evaluate(`(async () => {
    for (let more; (more = document.querySelector('.item.assistant > .answer > .link-button')) !== null; await new Promise(requestAnimationFrame)) more.click()
  })()`)

describe.skipIf(!hasBrowser)('what is read on the admin page, in a browser', () => {
  const open = useBrowser()

  /** Goes to a run, and watches the work of the page from then on. */
  const watchRun = async (options: Parameters<typeof startService>[0]) => {
    const { url, post } = await startService({ ...options, agent: large })
    const { id } = await json(post('/v1/runs', { input: 'x' }))
    const page = await open(url)
    page.setDefaultTimeout(30_000)
    const work = await watchWork(page)
    await page.evaluate(keepCopies)
    await page.evaluate(`location.hash = '#/runs/${id}'`)
    return { page, work }
  }
  /** The same for a call that gives `value`: what the time line has of it, and how it is searched. */
  const watchResult = async (value: unknown) => {
    const look = defineTool({ name: 'look', description: 'Looks.', parameters: { type: 'object' }, execute: () => value })
    const { page, work } = await watchRun({ model: scriptedModel([{ toolCalls: [{ name: 'look' }] }, 'done']), tools: [look] })
    const call = await detailsOf(page, 'look')
    return { page, work, call, field: call.locator('[aria-label="Find in Result"]'), said: call.locator('.find-bar [role=status]') }
  }

  it('LongText with a result of 5 MB never blocks the page: it shows the result in parts, searches it, and copies it whole', async () => {
    const text = `${Array.from({ length: 100_000 }, (_, at) => `line ${at} of a long log, with some words\n`).join('')}THE END`
    const { page, work, call, field, said } = await watchResult(text)
    await call.getByRole('button', { name: `Show all ${text.length.toLocaleString('en')} characters` }).click()
    await field.fill('line 99999 of')
    await eventually(() => said.textContent()).toBe('1 of 1')
    const result = call.locator('[aria-label=Result]')
    const isSeen = (words: string) =>
      eventually(() =>
        page.evaluate(`(() => {
      const [range] = CSS.highlights.get('found') ?? []
      const [place, box] = [range?.getBoundingClientRect(), document.querySelector('.bar-details pre[role=group]').getBoundingClientRect()]
      return range?.toString() === ${JSON.stringify(words)} && place.top >= box.top && place.bottom <= box.bottom
    })()`),
      ).toBe(true)
    await isSeen('line 99999 of')
    await field.fill('SOME WORDS')
    await eventually(() => said.textContent()).toBe('1 of 1,000+')
    await field.press('Enter')
    await eventually(() => said.textContent()).toBe('2 of 1,000+')
    await field.press('Shift+Enter')
    await call.locator('[aria-label="Previous match"]').click()
    await eventually(() => said.textContent()).toBe('1,000 of 1,000+')
    await isSeen('some words')
    expect(await result.evaluate((element) => (element.textContent ?? '').length)).toBeGreaterThan(text.length - 50)
    await call.locator('[aria-label="Copy result"]').click()
    await eventually(() => copied(page)).toBe(short(text))
    await call.locator('.value-tools .link-button').click()
    await eventually(() => result.textContent()).toMatch(/^line 0 of .*\n.*words$/s)
    expect(await work.long()).toEqual([])
  })

  it('Answer of 5 MB never blocks the page', async () => {
    const text = `${Array.from({ length: 25_000 }, (_, at) => `## Part ${at}\n\nSome *words* about \`it\`, and [a link](https://example.com/${at}).\n\n- one\n- two\n\n${'word '.repeat(24)}\n\n`).join('')}THE END`
    expect(text.length).toBeGreaterThan(5_000_000)
    const { page, work } = await watchRun({ model: scriptedModel([{ chunks: [text] }]) })
    const answer = page.locator('.item.assistant')
    await answer.locator('h5', { hasText: /^Part 1$/ }).waitFor()
    await answer.locator('.link-button', { hasText: /^Show [\d,]+ of [\d,]+ more characters/ }).click()
    await answer.locator('h5', { hasText: /^Part 700$/ }).waitFor({ state: 'attached' })
    await answer.locator('[aria-label="As written"]').click()
    await answer.locator('.text-block', { hasText: '## Part 1 ' }).first().waitFor()
    await answer.locator('[aria-label="Copy answer"]').click()
    await eventually(() => copied(page)).toBe(short(text))
    expect(await work.long()).toEqual([])
  })

  it('JsonTree of 200,000 values folds, is searched, and copies its parts, by keyboard and for screen readers', async () => {
    const items = Array.from({ length: 40_000 }, (_, at) => ({
      id: at,
      'the name': `name ${at} ${'x'.repeat(60)}`,
      tags: ['a', at % 7],
      ok: at % 2 === 0,
    }))
    const value = { items, text: `first line\n${'a long text '.repeat(50)}`, 'not an identifier': { deep: [{ end: 'NEEDLE' }] } }
    const { page, work, call, field, said } = await watchResult(value)
    const tree = call.getByRole('tree', { name: 'Result' })
    await tree.waitFor()
    const rows = tree.getByRole('treeitem')
    expect(await rows.count()).toBeLessThan(30)
    expect(await tree.textContent()).toContain('40,000 items')
    await rows.first().focus()
    for (const key of ['ArrowRight', 'ArrowRight', 'ArrowRight', 'ArrowRight', 'ArrowRight', 'ArrowRight']) await page.keyboard.press(key)
    const selected = tree.locator('[aria-selected=true]')
    await eventually(() => selected.getAttribute('aria-level')).toBe('4')
    const path = call.locator('.json-path')
    expect(await path.textContent()).toBe('$.items')
    await field.fill('needle')
    await eventually(() => said.textContent()).toBe('1 of 1')
    await eventually(() => path.textContent()).toBe('$["not an identifier"].deep[0].end')
    await field.fill('name 31234')
    await eventually(() => path.textContent()).toBe('$.items[31234]["the name"]')
    expect(await selected.textContent()).toContain('name 31234')
    await call.getByRole('button', { name: 'Copy value' }).click()
    await eventually(() => copied(page)).toBe(short(items[31_234]?.['the name'] ?? ''))
    await call.getByRole('button', { name: 'Copy path' }).click()
    await eventually(() => copied(page)).toBe(short('$.items[31234]["the name"]'))
    await call.getByRole('button', { name: 'Copy all' }).click()
    await eventually(() => copied(page)).toBe(short(JSON.stringify(value, null, 2)))
    await call.getByRole('button', { name: 'Unfold all' }).click()
    await eventually(() => rows.count()).toBeGreaterThan(1_000)
    await call.getByRole('button', { name: 'Fold all', exact: true }).click()
    await eventually(() => rows.count()).toBe(1)
    // By keys alone: opened, to its end, back to what it is part of.
    await rows.first().focus()
    await page.keyboard.press('Enter')
    await eventually(() => rows.count()).toBe(4)
    await page.keyboard.press('End')
    expect(await selected.textContent()).toContain('not an identifier')
    await page.keyboard.press('ArrowUp')
    await page.keyboard.press(' ')
    await tree.getByText('first line\na long text').waitFor()
    await page.keyboard.press('ArrowLeft')
    await page.keyboard.press('ArrowLeft')
    expect(await selected.getAttribute('aria-level')).toBe('1')
    expect(
      await rows.evaluateAll((all) =>
        all.map((row) => ['level', 'posinset', 'setsize'].map((name) => Number(row.getAttribute(`aria-${name}`)))),
      ),
    ).toEqual([
      [1, 1, 1],
      [2, 1, 3],
      [2, 2, 3],
      [2, 3, 3],
    ])
    expect(await work.long()).toEqual([])
  })

  it('Answer renders Markdown, and shows its source on demand', async () => {
    const text = [
      '# Findings\n\nSome **bold**, *it*, ~~gone~~ and `a<b>` &amp; &#169; <b>no markup</b>.\nA second line.',
      '- one\n  - inner\n- [x] done\n\n3. three\n4. four',
      '| name | n |\n|:-----|--:|\n| **a** | 1 |',
      '> said\n\n---\n\n```js\nconst a = "<i>"\n```',
      '[a link](https://example.com/a?b=c "t"), <https://example.org>, www.example.net, me@example.com',
    ].join('\n\n')
    const { url, post } = await startService({ model: scriptedModel([text, 'plain  words\n\nas they are ']) })
    const { id } = await json(post('/v1/runs', { input: 'x' }))
    const page = await open(url, { path: `#/runs/${id}` })
    page.setDefaultTimeout(30_000)
    await page.evaluate(keepCopies)
    const answer = page.locator('.item.assistant')
    await answer.getByRole('heading', { name: 'Findings' }).waitFor()
    expect(await answer.locator('p').first().innerHTML()).toBe(
      'Some <strong>bold</strong>, <em>it</em>, <del>gone</del> and <code>a&lt;b&gt;</code> &amp; © &lt;b&gt;no markup&lt;/b&gt;.\nA second line.',
    )
    expect(await answer.locator('li').allInnerTexts()).toEqual(['one\n\ninner', 'inner', expect.stringContaining('☑'), 'three', 'four'])
    expect(await answer.locator('ol').getAttribute('start')).toBe('3')
    expect(await answer.locator('td').allInnerTexts()).toEqual(['a', '1'])
    expect(await answer.locator('td').last().getAttribute('data-align')).toBe('right')
    expect(await answer.locator('blockquote').innerText()).toBe('said')
    expect(await answer.getByRole('group', { name: 'Code js' }).textContent()).toBe('const a = "<i>"')
    expect(
      await answer.getByRole('link').evaluateAll((links) => links.map((link) => [link.getAttribute('href'), link.getAttribute('rel')])),
    ).toEqual(
      ['https://example.com/a?b=c', 'https://example.org/', 'http://www.example.net/', 'mailto:me@example.com'].map((href) => [
        href,
        'noreferrer noopener',
      ]),
    )
    await answer.getByRole('button', { name: 'Copy code' }).click()
    await eventually(() => copied(page)).toBe(short('const a = "<i>"'))
    await answer.getByRole('button', { name: 'As written' }).click()
    await eventually(() => answer.textContent()).toBe(text)
    await answer.getByRole('button', { name: 'As written', pressed: true }).click()
    await answer.getByRole('heading', { name: 'Findings' }).waitFor()
    const plain = await json(post('/v1/runs', { input: 'x' }))
    await page.evaluate(`location.hash = '#/runs/${plain.id}'`)
    await eventually(() => answer.textContent()).toBe('plain  words\n\nas they are ')
  })

  it('Answer in the shipped page loads the script for Markdown once there is some', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'toolloop-page-'))
    onTestFinished(() => rm(folder, { recursive: true, force: true }))
    const { url, post } = await startService({ model: scriptedModel(['**bold**']) })
    const { id } = await json(post('/v1/runs', { input: 'x' }))
    const page = await open(await shippedPage(folder, url))
    page.setDefaultTimeout(30_000)
    const scripts = () =>
      page.evaluate<string[]>(`performance.getEntriesByType('resource').map(({ name }) => /[^/]*\\.js$/.exec(name)?.[0] ?? '')`)
    await page.getByRole('row', { name: /^x answered/ }).waitFor()
    expect((await scripts()).filter((name) => name.startsWith('markdown'))).toEqual([])
    await page.evaluate(`location.hash = '#/runs/${id}'`)
    await page.locator('.item.assistant strong').waitFor()
    expect((await scripts()).filter((name) => /^markdown-[\w-]{8}\.js$/.test(name))).toHaveLength(1)
    const notice = readFileSync(join(folder, readdirSync(folder).find((name) => name.startsWith('markdown')) ?? ''), 'utf8')
    expect(notice).toMatch(/^\/\*! marked\nCopyright/)
  })

  it('Markdown of a model becomes no markup, loads nothing, and only links to the web', async () => {
    const evil = [
      ...['javascript:hacked()', 'JaVaScRiPt:hacked()', 'java\tscript:hacked()', '&#106;avascript:hacked()', '&#x6A;avascript:hacked()'],
      ...[
        'data:text/html,<script>hacked()</script>',
        'vbscript:hacked()',
        'file:///etc/passwd',
        'blob:x',
        'view-source:x',
        'tel:1',
        '\u0001javascript:hacked()',
      ],
      ...['#/config', '/admin/', '//evil.example', '?x', 'javascript&colon;hacked()', 'javascript%3Ahacked()', 'feed:javascript:hacked()'],
    ].flatMap((href) => [
      `[a](${href})`,
      `[a](<${href}>)`,
      `![a](${href})`,
      `<${href}>`,
      `[r][1]\n\n[1]: ${href}`,
      `[![x](${href})](${href}) [web](https://x.example)`,
    ])
    const markup = [
      '<script>hacked()</script>\n\n<img src=x onerror=hacked()>\n\na <img src=x onerror=hacked()> b <svg/onload=hacked()>',
      '<iframe srcdoc="<script>parent.hacked()</script>"></iframe>\n\n<style>*{display:none}</style>\n\n<base href=//127.0.0.1:9/>',
      '<details open ontoggle=hacked()>\n\n**x**\n\n</details>\n\n<form action=//127.0.0.1:9><button>y</button></form>',
      '[a](https://x.example/"onmouseover="hacked() "t\\" onfocus=hacked() autofocus x=\\"")',
      '```"><img src=x onerror=hacked()>\n</code></pre><script>hacked()</script>\n```\n\n`<script>hacked()</script>`',
      '| <img src=x onerror=hacked()> | b |\n|---|---|\n| [a](javascript:hacked()) | ![i](http://127.0.0.1:9/pixel.png) |',
      '> > - [ ] [**[a](javascript:hacked())**](javascript:hacked())\n\n# [h](javascript:hacked())\n\n![pixel](http://127.0.0.1:9/pixel.png "t")',
      `${'>'.repeat(12_000)} [a](javascript:hacked())`,
      `${'['.repeat(3_000)}x${'](javascript:hacked())'.repeat(100)}`,
      `${'**'.repeat(3_000)}\n\n${'a.'.repeat(8_000)}@\n\n[__proto__]: https://x.example\n[__proto__] &constructor; &__proto__;`,
    ]
    const text = [...evil, ...markup].join('\n\n')
    const { url, post } = await startService({ model: scriptedModel([{ chunks: text.match(/[\s\S]{1,900}/g) ?? [] }, text]) })
    const page = await open(url, { path: '#/chat' })
    page.setDefaultTimeout(30_000)
    await page.evaluate(`window.hacked = () => { window.isHacked = true }`)
    const asked: string[] = []
    page.on('request', (request) => void asked.push(request.url()))
    const { id } = await json(post('/v1/runs', { input: 'x' }))
    await page.evaluate(`location.hash = '#/runs/${id}'`)
    const answer = page.locator('.item.assistant')
    await page.locator('.outcome-line').waitFor()
    await showAll(page)
    await answer.getByText('&constructor;').waitFor({ state: 'attached' })
    const elements = await answer.locator('.answer-body *').evaluateAll((all) => [...new Set(all.map(({ localName }) => localName))].sort())
    const known = 'a blockquote button code del div em h4 h5 h6 hr br li ol p path pre span strong svg table tbody td th thead tr ul'.split(
      ' ',
    )
    expect(elements.filter((name) => !known.includes(name))).toEqual([])
    const attributes = await answer
      .locator('.answer-body *')
      .evaluateAll((all) => [...new Set(all.flatMap((element) => element.getAttributeNames()))].sort())
    const allowed = 'aria-hidden aria-label class d data-align href rel role start tabindex target title type viewBox'.split(' ')
    expect(attributes.filter((name) => !allowed.includes(name))).toEqual([])
    const links = await answer.locator('a').evaluateAll((all) => all.map((link) => ('href' in link ? String(link.href) : '')))
    expect(links.length).toBeGreaterThan(3)
    expect(links.filter((href) => !/^(https?|mailto):/.test(href))).toEqual([])
    expect(await answer.locator('a:not([rel="noreferrer noopener"])').count()).toBe(0)
    expect(await page.evaluate('window.isHacked')).toBeUndefined()
    expect(asked.filter((address) => new URL(address).origin !== url)).toEqual([])
  })

  it('Answer of 1 MB that arrives bit by bit is rendered as it arrives, at a cost that grows no faster than the answer', async () => {
    const paragraph = (at: number) =>
      `### Part ${at}\n\nSome *words* about \`it\`.\n\n- one\n- two\n\n\`\`\`js\nconst a = ${at}\n\n\n${'// more\n'.repeat(at % 40 === 39 ? 1_500 : 3)}\`\`\`\n\n`
    const text = `${Array.from({ length: 2_000 }, (_, at) => paragraph(at)).join('')}THE END`
    expect(text.length).toBeGreaterThan(750_000)
    const pieces = text.match(/[\s\S]{1,400}/g) ?? []
    const held = Promise.withResolvers<void>()
    const model = scriptedModel([{ chunks: [...pieces.slice(0, 10), held.promise, ...pieces.slice(10)] }])
    const { url, post } = await startService({ model })
    const page = await open(url)
    page.setDefaultTimeout(60_000)
    const { id } = await json(post('/v1/runs', { input: 'say much', background: true }))
    const work = await watchWork(page)
    await page.evaluate(`location.hash = '#/runs/${id}'`)
    const answer = page.locator('.item.assistant')
    await answer.locator('h6', { hasText: /^Part 1$/ }).waitFor()
    // What is there stays as it is while more comes.
    await page.evaluate(`window.first = document.querySelector('.answer h6')`)
    held.resolve()
    await page.locator('.outcome-line').waitFor()
    expect(await page.evaluate(`window.first.isConnected`)).toBe(true)
    await showAll(page)
    await eventually(() => page.evaluate(`document.querySelector('.answer-body').textContent.endsWith('THE END')`)).toBe(true)
    expect(await work.long()).toEqual([])
    expect(await answer.locator('h6').count()).toBe(2_000)
    expect(await answer.locator('pre').count()).toBeGreaterThanOrEqual(2_000)
  })

  it('Compare compares two runs that are selected in the list, from one of them, or by their address', async () => {
    const tool = (name: string) =>
      defineTool({ name, description: name, parameters: { type: 'object' }, execute: ({ n }) => `${name} ${n}` })
    const calls = (...given: [string, number][]) => ({ toolCalls: given.map(([name, n]) => ({ name, arguments: { n } })) })
    const lines = (word: string) => Array.from({ length: 30 }, (_, at) => (at === 20 ? word : `line ${at}`)).join('\n')
    const model = scriptedModel([
      calls(['look', 1], ['find', 2]),
      lines('first'),
      calls(['look', 1], ['other', 5], ['find', 3]),
      lines('second'),
    ])
    const config = { service: { keepRuns: { recordingMegabytes: 8 } } }
    const tools = ['look', 'find', 'other'].map(tool)
    const { url, post } = await startService({ model, tools, config, agent: { instructions: 'Be kind.' } })
    const a = await json(post('/v1/runs', { input: 'the first question' }))
    const b = await json(post('/v1/runs', { input: 'the second question', temperature: 0.5 }))
    const page = await open(url)
    page.setDefaultTimeout(30_000)
    await page.getByRole('link', { name: 'Compare', exact: true }).click()
    await page.getByText('Choose the first run in the list.').waitFor()
    await page.getByRole('link', { name: /the first question/ }).click()
    await page.getByText('Choose the run to compare with in the list.').waitFor()
    await page.getByRole('link', { name: /the second question/ }).click()
    const panel = page.getByRole('region', { name: 'Compare' })
    await panel.getByText('First: the first question').waitFor()
    expect(await page.evaluate('location.hash')).toBe(`#/runs/${a.id}~${b.id}`)
    const facts = panel.getByRole('row')
    expect(await facts.filter({ hasText: /^Calls/ }).innerText()).toMatch(/^Calls\s+2\s+3 \+50 %$/)
    const part = (name: string) => panel.locator('.compare-part', { has: page.getByRole('heading', { name }) })
    expect(await part('Input').locator('.diff-line').allInnerTexts()).toEqual([
      expect.stringContaining('the first question'),
      expect.stringContaining('the second question'),
    ])
    const given = part('Instructions, tools and settings')
    await given.getByText('Instructions: the same').waitFor()
    await given.getByText('Tools: the same').waitFor()
    expect(await given.locator('.diff-line.added').allInnerTexts()).toEqual([expect.stringContaining('"temperature": 0.5')])
    const answer = (await part('Answer').locator('.diff-line').allInnerTexts()).map((line) => line.trim())
    expect(answer).toEqual([
      '… 17 lines the same',
      ...['line 17', 'line 18', 'line 19'],
      expect.stringMatching(/^- .*first$/s),
      expect.stringMatching(/^\+ .*second$/s),
      ...['line 21', 'line 22', 'line 23'],
      '… 6 lines the same',
    ])
    const rows = part('Calls').locator('summary')
    expect(
      (await rows.allInnerTexts()).map((row) =>
        row
          .replace(/\s+/g, ' ')
          .replace(/[<\d].*/, '')
          .trim(),
      ),
    ).toEqual(['look same', 'other only in the second', 'find different arguments and result'])
    await rows.last().click()
    await part('Calls').getByRole('group', { name: 'Result, first and second run' }).getByText('find 3').waitFor()
    await panel.getByRole('link', { name: 'Swap' }).click()
    await panel.getByText('First: the second question').waitFor()
    await panel.getByRole('link', { name: 'Close' }).click()
    await page.getByRole('region', { name: 'Run', exact: true }).getByRole('link', { name: 'Compare with…' }).click()
    await page.getByRole('link', { name: /the first question/ }).click()
    await panel.getByText('Second: the first question').waitFor()
  })

  it('ExportDialog exports the recording of a run, or says why there is none', async () => {
    const { tool } = payTool()
    const model = scriptedModel(['one', { toolCalls: [{ name: 'pay', arguments: { euros: 1 } }] }, 'two'])
    const kept = await startService({ model, tools: [tool], config: { service: { keepRuns: { recordingMegabytes: 8 } } } })
    const { id } = await json(kept.post('/v1/runs', { input: 'x' }))
    const page = await open(kept.url, { path: `#/runs/${id}` })
    page.setDefaultTimeout(30_000)
    await page.getByRole('button', { name: 'Export' }).click()
    const downloading = page.waitForEvent('download')
    await page.getByRole('button', { name: 'Download recording' }).click()
    const download = await downloading
    expect(download.suggestedFilename()).toBe(`${id}.recording.json`)
    expect(recordingFromText(readFileSync(await download.path(), 'utf8'))).toMatchObject({ runId: id, result: { stopReason: 'answered' } })
    const none = await startService({ model: scriptedModel(['one']) })
    const other = await json(none.post('/v1/runs', { input: 'x' }))
    await page.goto(`${none.url}/admin/#/runs/${other.id}`)
    await page.getByRole('button', { name: 'Export' }).click()
    await page.getByRole('button', { name: 'Download recording' }).click()
    await page.getByText('This run has no recording. Runs are recorded if service.keepRuns.recordingMegabytes is set').waitFor()
  })

  it('DecisionCard and RunView update the waiting time of a call', async () => {
    const { tool } = payTool()
    const model = scriptedModel([{ toolCalls: [{ name: 'pay', arguments: { euros: 1 } }] }])
    const { url, post } = await startService({ model, tools: [tool] })
    const { id } = await json(post('/v1/runs', { input: 'x' }))
    const page = await open(url, { path: `#/runs/${id}` })
    page.setDefaultTimeout(30_000)
    const line = page.getByRole('region', { name: 'Time line' })
    const places = {
      bar: line.locator('.bar-row[data-state="waiting"] .bar-numbers'),
      line: line.locator('.panel-head'),
      card: page.locator('.decision-since'),
      row: page.locator('.run-item .col-waited'),
      call: page.locator('.timeline .call-time'),
    }
    /** Seconds. */
    const waited = async () => {
      const texts = await Promise.all(Object.values(places).map((place) => place.innerText()))
      return texts.map((text) => Number(/(?:[Ww]aiting for |^)([\d.]+) s/.exec(text)?.[1] ?? 0))
    }
    const all = (seconds: number[], least: number) => seconds.every((one) => one >= least)
    await eventually(async () => all(await waited(), 1)).toBe(true)
    const least = Math.max(...(await waited())) + 1
    await eventually(async () => all(await waited(), least)).toBe(true)
    expect(await line.innerText()).not.toContain('waited')
  })

  it('RunView is accessible: axe finds nothing serious, light and dark, also on a phone', async () => {
    const { tool: pay } = payTool()
    const value = { items: Array.from({ length: 200 }, (_, at) => ({ id: at, name: `item ${at}` })), text: 'a line\n'.repeat(50) }
    const look = defineTool({ name: 'look', description: 'Looks.', parameters: { type: 'object' }, execute: () => value })
    const text = '# Title\n\n**bold** [link](https://example.com)\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n```js\n1\n```\n\n> said'
    const model = scriptedModel([{ toolCalls: [{ name: 'look' }] }, text, { toolCalls: [{ name: 'pay', arguments: { euros: 1 } }] }])
    const { url, post } = await startService({ model, tools: [look, pay] })
    const [a, b] = [await json(post('/v1/runs', { input: 'one' })), await json(post('/v1/runs', { input: 'two' }))]
    const page = await open(url)
    page.setDefaultTimeout(30_000)
    const found: string[] = []
    const looks = { light: 1024, dark: 390 } as const
    for (const [colorScheme, width] of Object.entries(looks) as ['light' | 'dark', number][]) {
      await page.emulateMedia({ colorScheme })
      await page.setViewportSize({ width, height: 844 })
      for (const [path, ready] of Object.entries({
        [`runs/${a.id}`]: '.timeline .json-tree',
        [`runs/${a.id}~${b.id}`]: '.compare-facts',
        'runs/~': '.is-choosing .run-item',
        [`runs/${b.id}`]: '.decision',
      })) {
        await page.goto(`${url}/admin/?${colorScheme}#/${path}`)
        if (ready.includes('json-tree')) await page.locator('.turns summary').click()
        if (ready.includes('json-tree')) await page.locator('.timeline .call').first().scrollIntoViewIfNeeded()
        await page.locator(ready).first().waitFor()
        found.push(...(await barriers(page)).map((barrier) => `${colorScheme} ${path}: ${barrier}`))
        expect([path, await page.evaluate('document.documentElement.scrollWidth')]).toEqual([path, width])
      }
    }
    await page.emulateMedia({ colorScheme: 'light' })
    expect(found).toEqual([])
    // And what would be found.
    await page.evaluate(`document.querySelector('#main').innerHTML = '<button></button>'`)
    expect(await barriers(page)).toEqual([expect.stringMatching(/^button-name/)])
  })
})
