import { describe, expect, it } from 'vitest'
import { scriptedModel } from '../../src/testing/index.ts'
import { barriersInAllLooks } from './page-axe.ts'
import { hasBrowser, useBrowser } from './page-browser.ts'
import { json, startService } from './start-service.ts'

describe.skipIf(!hasBrowser)('sessions on the admin page, in a browser', () => {
  const open = useBrowser()

  it('SessionsView shows a list, and a conversation with its runs; ChatView continues it and lists the sessions', async () => {
    const model = scriptedModel(['Hello **Ann**.', 'Bye.', 'Here again.', 'Something else.'])
    const { url, post, ask } = await startService({ model })
    const first = await json(post('/v1/runs', { input: 'My name is Ann', session: 'crm/7' }))
    const { messages } = first.result
    await post('/v1/runs', { input: 'Good bye', session: 'crm/7', messages })
    await post('/v1/runs', { input: 'no session' })
    const page = await open(url, { path: '#/sessions', viewport: { width: 1440, height: 900 } })
    const rows = page.locator('.run-item')
    await rows.first().waitFor()
    expect(await rows.count()).toBe(1)
    expect((await rows.first().locator('th, td').allTextContents()).slice(0, 5)).toEqual(['My name is Ann', '', 'crm/7', 'operator', '2'])
    await page.getByRole('link', { name: 'My name is Ann' }).click()
    const pane = page.getByRole('region', { name: 'Session' })
    await pane.getByText('Bye.', { exact: true }).waitFor()
    await expect
      .poll(() => pane.locator('.item').allTextContents())
      .toEqual(['My name is Ann', 'AnswerHello Ann.', 'Good bye', 'AnswerBye.'])
    expect(await page.evaluate('location.hash')).toBe('#/sessions/crm%2F7?owner=operator')
    expect(await barriersInAllLooks(page)).toEqual([])
    await page.setViewportSize({ width: 1440, height: 900 })
    await pane.getByRole('link', { name: 'Run of: My name is Ann' }).click()
    const run = page.getByRole('region', { name: 'Run' })
    await run.getByRole('link', { name: 'crm/7' }).click()
    await pane.getByRole('button', { name: 'Continue' }).click()
    await page.getByRole('heading', { name: 'Chat' }).waitFor()
    await page.locator('.chat-log').getByText('Bye.', { exact: true }).waitFor()
    await page.getByLabel('Message').fill('Who am I?')
    await page.keyboard.press('Enter')
    await page.locator('.chat-log').getByText('Something else.').waitFor()
    const texts = model.requests[3]?.messages.map(({ content }) => content)
    expect(texts).toEqual(['My name is Ann', 'Hello **Ann**.', 'Good bye', 'Bye.', 'Who am I?'])
    expect((await json(ask('/v1/sessions'))).data).toMatchObject([{ session: 'crm/7', runs: 3 }])

    await page.getByRole('button', { name: 'Conversations' }).click()
    const conversation = page.locator('.menu-panel').getByRole('link', { name: 'My name is Ann' })
    expect(await conversation.getAttribute('aria-current')).toBe('true')
    await conversation.click()
    await pane.getByText('Something else.').waitFor()
  })

  it('ChatView starts one session for each conversation', async () => {
    const { url, ask } = await startService({ model: scriptedModel(['one', 'two', 'three']) })
    const page = await open(url, { path: '#/chat' })
    const say = async (text: string, answer: string) => {
      await page.getByLabel('Message').fill(text)
      await page.keyboard.press('Enter')
      await page.locator('.chat-log').getByText(answer, { exact: true }).waitFor()
    }
    await say('first', 'one')
    await say('second', 'two')
    await page.getByRole('button', { name: 'New conversation' }).click()
    await say('third', 'three')
    const { data } = await json(ask('/v1/sessions'))
    expect(data).toMatchObject([
      { input: 'third', runs: 1 },
      { input: 'first', runs: 2 },
    ])
    await page.getByRole('button', { name: 'Conversations' }).click()
    await page.locator('.menu-panel').getByRole('link', { name: 'first', exact: true }).press('Enter')
    await page.getByRole('region', { name: 'Session' }).getByRole('button', { name: 'Continue' }).press('Enter')
    await page.locator('.chat-log').getByText('two', { exact: true }).waitFor()
  })

  it('SessionPane says that no session has the id', async () => {
    const { url } = await startService({ model: scriptedModel([]) })
    const page = await open(url, { path: '#/sessions/none' })
    await page.getByText('No stored run belongs to this session.').waitFor()
    await page.getByText('No sessions yet.').waitFor()
  })
})
