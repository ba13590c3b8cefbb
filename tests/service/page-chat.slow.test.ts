import { describe, expect, it } from 'vitest'
import { scriptedModel } from '../../src/testing/index.ts'
import { hasBrowser, useBrowser } from './page-browser.ts'
import { watchWork } from './page-tasks.ts'
import { payTool, startService } from './start-service.ts'

describe.skipIf(!hasBrowser)('the chat on the admin page, in a browser', () => {
  const open = useBrowser()

  it('ChatView keeps the conversation and its draft across a reload, continues it, links each answer to its run, and forgets it at sign-out', async () => {
    const model = scriptedModel(['Hello Ann', 'Your name is Ann', 'fresh'])
    const asked = () => model.requests.at(-1)?.messages.flatMap(({ role, content }) => (role === 'user' ? [content] : []))
    const { url } = await startService({ model })
    const page = await open(url, { path: '#/chat' })
    const log = page.getByRole('log', { name: 'Conversation' })
    const input = page.getByLabel('Message')
    const send = async (text: string) => {
      await input.fill(text)
      await page.keyboard.press('Enter')
    }
    await send('I am Ann')
    await log.getByText('Hello Ann').waitFor()
    await input.fill('a draft')
    await page.reload()
    await log.getByText('Hello Ann').waitFor()
    expect(await log.locator('.item.user').allTextContents()).toEqual(['I am AnnRun'])
    expect(await input.inputValue()).toBe('a draft')
    await expect.poll(() => page.getByRole('button', { name: 'Send' }).isEnabled()).toBe(true)
    await send('Who am I?')
    await log.getByText('Your name is Ann').waitFor()
    expect(asked()).toEqual(['I am Ann', 'Who am I?'])
    const link = log.getByRole('link', { name: 'Run of: I am Ann' })
    const run = (await link.getAttribute('href')) ?? ''
    await link.click()
    await expect.poll(() => new URL(page.url()).hash).toBe(run)
    await page.getByRole('heading', { name: 'I am Ann' }).waitFor()

    await page.getByRole('link', { name: 'Chat', exact: true }).click()
    await log.getByText('Your name is Ann').waitFor()
    await page.getByRole('button', { name: 'New conversation' }).click()
    await page.reload()
    await page.getByText('Try the agent and its tools.').waitFor()
    await send('Again')
    await log.getByText('fresh').waitFor()
    expect(asked()).toEqual(['Again'])
    await page.getByRole('button', { name: 'Sign out' }).click()
    await page.getByRole('heading', { name: 'Sign in to toolloop' }).waitFor()
    expect(await page.evaluate('sessionStorage.length')).toBe(0)
  })

  it('Composer recalls earlier messages and the draft with the arrow keys, which move the cursor inside a text', async () => {
    const { url } = await startService({ model: scriptedModel(['one', 'two']) })
    const page = await open(url, { path: '#/chat' })
    const input = page.getByLabel('Message')
    for (const [text, answer] of [
      ['first', 'one'],
      ['second', 'two'],
    ] as const) {
      await input.fill(text)
      await page.keyboard.press('Enter')
      await page.getByRole('log').getByText(answer).waitFor()
      await expect.poll(() => page.getByRole('button', { name: 'Send' }).isEnabled()).toBe(true)
    }
    await input.fill('my draft')
    await page.keyboard.press('ArrowUp')
    expect(await input.inputValue()).toBe('my draft')
    await page.keyboard.press('Home')
    const pressed = async (key: string) => {
      await page.keyboard.press(key)
      return input.inputValue()
    }
    // The first press of a long way: the cursor stands at the beginning.
    expect(await pressed('ArrowUp')).toBe('second')
    expect(await pressed('ArrowUp')).toBe('first')
    expect(await pressed('ArrowUp')).toBe('first')
    expect(await pressed('ArrowDown')).toBe('second')
    expect(await pressed('ArrowDown')).toBe('my draft')
    expect(await pressed('ArrowDown')).toBe('my draft')
  })

  it('ChatView still shows a pending call after a reload, and can stop the run', async () => {
    const { tool, paid } = payTool()
    const held = Promise.withResolvers<void>()
    const model = scriptedModel([
      { toolCalls: [{ name: 'pay', arguments: { euros: 5 } }] },
      'paid',
      { before: held.promise, text: 'never said' },
    ])
    const { url } = await startService({ model, tools: [tool] })
    const page = await open(url, { path: '#/chat' })
    const input = page.getByLabel('Message')
    await input.fill('Pay 5')
    await page.keyboard.press('Enter')
    const card = page.getByRole('article', { name: /pay/ }).filter({ has: page.getByRole('button', { name: 'Approve' }) })
    await card.waitFor()
    await page.reload()
    await card.getByRole('button', { name: 'Approve' }).click()
    await page.getByRole('log').getByText('paid', { exact: true }).waitFor()
    expect(paid).toEqual([{ euros: 5 }])
    await expect.poll(() => page.getByRole('button', { name: 'Send' }).isEnabled()).toBe(true)
    await input.fill('Wait')
    await page.keyboard.press('Enter')
    await page.getByRole('button', { name: 'Stop' }).waitFor()
    await page.reload()
    await page.getByRole('button', { name: 'Stop' }).click()
    await page.getByText('The run ended: cancelled').waitFor()
    held.resolve()
  })

  it('ChatView stays quick while a long answer is written, and leaves earlier messages unchanged', async () => {
    const paragraph = 'A paragraph with **bold** words, `code` and a [link](https://example.com).'
    const long = `${Array.from({ length: 750 }, (_, at) => `Word ${at}: ${paragraph}`).join('\n\n')}\n\nThe end of it.`
    const { url } = await startService({ model: scriptedModel(['**Short** answer', long], { pieceLength: 5 }) })
    expect(long.length / 5).toBeGreaterThan(10_000)
    const page = await open(url, { path: '#/chat' })
    const log = page.getByRole('log', { name: 'Conversation' })
    const send = async (text: string) => {
      await page.getByLabel('Message').fill(text)
      await page.keyboard.press('Enter')
    }
    await send('Say little')
    await log.locator('strong', { hasText: 'Short' }).waitFor()
    await expect.poll(() => page.getByRole('button', { name: 'Send' }).isEnabled()).toBe(true)
    await page.evaluate(`(() => {
      window.drawn = 0
      const before = document.querySelector('.timeline .assistant')
      new MutationObserver((changes) => { window.drawn += changes.length })
        .observe(before, { subtree: true, childList: true, characterData: true, attributes: true })
    })()`)
    const work = await watchWork(page)
    await send('Say much')
    await log.getByText('The end of it.').waitFor({ timeout: 60_000 })
    expect(await work.long()).toEqual([])
    expect(await page.evaluate('window.drawn')).toBe(0)
    // A user who has not scrolled away sees the end.
    const left = () => log.evaluate((box) => box.scrollHeight - box.scrollTop - box.clientHeight)
    await expect.poll(left).toBeLessThan(80)
  })
})
