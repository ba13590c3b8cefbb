import { expect, it, onTestFinished } from 'vitest'
import { barriersInAllLooks } from './page-axe.ts'
import { configText, hasBrowser, useBrowser, writeConfigText } from './page-browser.ts'
import { configFile, startService } from './start-service.ts'

const open = useBrowser()
const run = it.skipIf(!hasBrowser)

run('the configuration is edited with numbers, colors and suggestions from the schema; letters in it are no shortcuts', async () => {
  const { file } = await configFile('model: demo # now\nmodels:\n  large: demo\n  small: demo\n')
  const { url } = await startService({ configFile: file })
  const page = await open(url, { path: '#/config' })
  const editor = page.getByRole('textbox', { name: 'Configuration file, as YAML' })
  await editor.waitFor()
  expect(await page.locator('.cm-lineNumbers .cm-gutterElement').allInnerTexts()).toEqual(expect.arrayContaining(['1', '2', '3', '4']))
  const colors = await page.evaluate<string[]>(
    `[...document.querySelector('#config-text').shadowRoot.querySelectorAll('.cm-line span')].map((one) => getComputedStyle(one).color)`,
  )
  expect(new Set(colors).size).toBeGreaterThan(1)
  expect(await barriersInAllLooks(page)).toEqual([])

  await editor.focus()
  await page.keyboard.press('Control+End')
  await page.keyboard.type('limits:\n  maxIt')
  const options = page.getByRole('option')
  await options.filter({ hasText: 'maxIterations' }).waitFor()
  expect(await barriersInAllLooks(page)).toEqual([])
  await page.keyboard.press('Enter')
  await page.keyboard.type('3\n')
  expect(await configText(page)).toContain('limits:\n  maxIterations: 3\n')
  await page.keyboard.press('Control+Space')
  await options.filter({ hasText: 'deadlineMs' }).waitFor()
  await page.keyboard.press('Escape')
  // `g r` would open the runs, `?` the shortcuts.
  await page.keyboard.press('Control+Home')
  await page.keyboard.type('# g r ? /\n')
  expect(await page.evaluate('location.hash')).toBe('#/config')
  expect(await page.locator('dialog').count()).toBe(0)
  await page.keyboard.press('Control+s')
  await page.getByText('Saved. The changes apply').waitFor()
  // The Tab key leaves the editor.
  await page.keyboard.press('Tab')
  expect(await page.evaluate(`document.activeElement.id`)).not.toBe('config-text')
})

run('a text that is not saved stays while another view is shown', async () => {
  const { file } = await configFile('model: demo\n')
  const { url } = await startService({ configFile: file })
  const page = await open(url, { path: '#/config' })
  await writeConfigText(page, 'model: demo # mine\n')
  await page.getByRole('link', { name: 'Tools' }).click()
  await page.getByRole('heading', { name: 'Tools and skills' }).waitFor()
  await page.getByRole('link', { name: 'Configuration' }).click()
  await expect.poll(() => configText(page)).toBe('model: demo # mine\n')
  await page.getByRole('button', { name: 'Discard changes' }).click()
  expect(await configText(page)).toBe('model: demo\n')
})

run(
  'a text that is not saved is not lost with the tab: the browser asks, also in another view, until the user has signed out',
  async () => {
    const { file } = await configFile('model: demo\n')
    const { url } = await startService({ configFile: file })
    const page = await open(url, { path: '#/config' })
    const asked: string[] = []
    page.on('dialog', (dialog) => void asked.push(dialog.type()))
    await writeConfigText(page, 'model: demo # mine\n')
    await page.getByRole('button', { name: 'Discard changes' }).click()
    await page.reload()
    expect(asked).toEqual([])
    await writeConfigText(page, 'model: demo # mine\n')
    await page.reload()
    expect(asked).toEqual(['beforeunload'])
    await writeConfigText(page, 'model: demo # mine\n')
    await page.getByRole('link', { name: 'Tools' }).click()
    await page.getByRole('heading', { name: 'Tools and skills' }).waitFor()
    await page.reload()
    expect(asked).toEqual(['beforeunload', 'beforeunload'])
    await page.getByRole('link', { name: 'Configuration' }).click()
    await writeConfigText(page, 'model: demo # mine\n')
    await page.locator('#sign-out').click()
    await page.reload()
    expect(asked).toHaveLength(2)
  },
)

run('a model that is not there: its message names those that are and the nearest one; `model` suggests them', async () => {
  const { file } = await configFile('model: demo\nmodels:\n  large: demo\n  small: demo\n')
  const { url } = await startService({ configFile: file })
  const page = await open(url, { path: '#/config' })
  await writeConfigText(page, 'model: larg\nmodels:\n  large: demo\n  small: demo\n')
  await page.getByRole('button', { name: 'Save' }).click()
  await page.getByText('one of `models` (large, small), got `"larg"` (did you mean `large`?)').waitFor()
  await page.getByRole('button', { name: 'Line 1' }).click()
  await page.keyboard.press('End')
  await page.keyboard.press('Control+Space')
  await page.getByRole('option', { name: 'large' }).click()
  expect(await configText(page)).toMatch(/^model: large\n/)
  await page.getByRole('button', { name: 'Save' }).click()
  await page.getByText('Saved. The changes apply').waitFor()
})

run('what only the file may change is marked in every style of YAML', async () => {
  const text = `{ model: demo,
  "mcp": { servers: {
    search: { url: "http://127.0.0.1:9/mcp", optional: true } } },
  tools: { builtin: [calculate],
    workspace: . } }
`
  const { file } = await configFile(text)
  const { url } = await startService({ configFile: file })
  const page = await open(url, { path: '#/config', viewport: { width: 390, height: 800 } })
  await page.getByText('Lines 2–5 can be changed only in the file itself').waitFor()
  await expect.poll(() => page.locator('.cm-gutterElement.locked').allInnerTexts()).toEqual(['2', '3', '4', '5'])
  expect(await barriersInAllLooks(page)).toEqual([])
})

run('the editor and its packages are loaded with the configuration alone, with their licenses', async () => {
  const { file } = await configFile('model: demo\n')
  const { url } = await startService({ configFile: file })
  const loaded: string[] = []
  const page = await open(url)
  const note = (response: { url(): string }) => void loaded.push(response.url())
  page.on('response', note)
  onTestFinished(() => void page.off('response', note))
  await page.getByText('Live', { exact: true }).waitFor()
  expect(loaded.filter((one) => one.includes('yaml-editor'))).toEqual([])
  await page.evaluate(`location.hash = '#/config'`)
  await page.getByRole('textbox', { name: 'Configuration file, as YAML' }).waitFor()
  const editor = loaded.find((one) => one.includes('yaml-editor')) ?? ''
  const code = await (await fetch(editor)).text()
  for (const name of ['@codemirror/view', '@lezer/yaml', 'style-mod']) expect(code).toContain(`/*! ${name}\n`.trim())
})
