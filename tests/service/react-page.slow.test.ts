import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Page } from 'playwright-core'
import { rolldown } from 'rolldown'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { MockReply } from '../../src/testing/index.ts'
import { startStrictProvider } from '../models/rules/strict-provider.ts'
import { serveRecipe } from '../recipes.ts'
import { hasBrowser, useBrowser } from './page-browser.ts'

const refund: MockReply = { text: 'Let me see. ', toolCalls: [{ name: 'refund', arguments: { order: '17', euros: 250 } }] }

/** The page of docs/recipes/react-chat.md with its server, in a browser. */
describe.skipIf(!hasBrowser)('a React page with useChat at /ui/chat', () => {
  let folder: string
  const script = () => join(folder, 'page.js')
  const openPage = useBrowser()

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'toolloop-react-'))
    const input = fileURLToPath(new URL('../examples/recipes/react-chat/page.tsx', import.meta.url))
    const bundle = await rolldown({
      input,
      platform: 'browser',
      transform: { define: { 'process.env.NODE_ENV': '"production"' } },
      // `'use client'` of a library means nothing here.
      onLog: (level, log, print) => (log.code === 'MODULE_LEVEL_DIRECTIVE' ? undefined : print(level, log)),
    })
    await bundle.write({ file: script(), format: 'esm', codeSplitting: false })
    await bundle.close()
  })
  afterAll(() => rm(folder, { recursive: true, force: true }))

  async function open(replies: MockReply[]) {
    const provider = await startStrictProvider({ script: replies })
    const url = await serveRecipe('react-chat/server.ts', provider, { PAGE: script() })
    const page = await openPage(url, { folder: '/' })
    const send = async (text: string) => {
      await page.getByLabel('Message').fill(text)
      await page.getByRole('button', { name: 'Send' }).click()
    }
    return { provider, page, send, [Symbol.asyncDispose]: () => provider.close() }
  }
  /** What stands in the conversation as soon as nothing is written any more. */
  const said = async (page: Page) => {
    await page.getByRole('button', { name: 'Send', disabled: false }).waitFor()
    return page
      .locator('article')
      .evaluateAll((articles) => articles.map((article) => `${article.ariaLabel}: ${article.innerText.replace(/\s+/g, ' ')}`))
  }

  it('text comes as it is written, and a tool runs', async () => {
    const rest = Promise.withResolvers<void>()
    await using chat = await open([
      { toolCalls: [{ name: 'stock', arguments: { item: 'lamp' } }] },
      { chunks: ['Three ', rest.promise, 'are left.'] },
    ])
    await chat.send('How many lamps are left?')
    await chat.page.getByText('Three', { exact: true }).waitFor()
    rest.resolve()
    await chat.page.getByText('Three are left.').waitFor()
    expect(await said(chat.page)).toEqual([
      'user: How many lamps are left?',
      'assistant: stock {"item":"lamp"} {"item":"lamp","left":3} Three are left.',
    ])
  })

  it.each([
    ['Approve', '"250 euros were paid back for order 17."'],
    ['Refuse', 'output-denied'],
  ])('a call waits for a person, also over a reload: %s', async (button, outcome) => {
    await using chat = await open([refund, 'That is all.'])
    await chat.send('Give me my money back.')
    await chat.page.getByRole('button', { name: button }).waitFor()
    await chat.page.reload()
    await chat.page.getByRole('button', { name: button }).click()
    await chat.page.getByText('That is all.').waitFor()
    expect(await said(chat.page)).toEqual([
      'user: Give me my money back.',
      `assistant: Let me see. refund {"order":"17","euros":250} ${outcome} That is all.`,
    ])
    expect(JSON.stringify(chat.provider.requests[1]?.body).includes('were paid back')).toBe(button === 'Approve')
  })

  it('a page reloaded during an answer continues it, and can stop it', async () => {
    await using chat = await open([{ text: 'It is', hang: true }])
    await chat.send('Where is it?')
    await chat.page.getByText('It is', { exact: true }).waitFor()
    await chat.page.reload()
    await chat.page.getByText('It is', { exact: true }).waitFor()
    await chat.page.getByRole('button', { name: 'Stop' }).click()
    expect(await said(chat.page)).toEqual(['user: Where is it?', 'assistant: It is'])
    expect(await chat.provider.waitForEnd(1)).toMatchObject({ ended: true })
  })

  it('a page reloaded after an approval shows the whole answer, once', async () => {
    const rest = Promise.withResolvers<void>()
    await using chat = await open([refund, { chunks: ['It is ', rest.promise, 'on its way.'] }])
    await chat.send('Give me my money back.')
    await chat.page.getByRole('button', { name: 'Approve' }).click()
    await chat.page.getByText('It is', { exact: true }).waitFor()
    await chat.page.reload()
    await chat.page.getByText('It is', { exact: true }).waitFor()
    rest.resolve()
    await chat.page.getByText('It is on its way.').waitFor()
    expect(await said(chat.page)).toEqual([
      'user: Give me my money back.',
      'assistant: Let me see. refund {"order":"17","euros":250} "250 euros were paid back for order 17." It is on its way.',
    ])
  })
})
