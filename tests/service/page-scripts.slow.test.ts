import { describe, expect, it } from 'vitest'
import { scriptedModel } from '../../src/testing/index.ts'
import { defineTool } from '../../src/tools/tool.ts'
import { hasBrowser, useBrowser } from './page-browser.ts'
import { configFile, json, startService } from './start-service.ts'

const code = `const all = await tools.list()
return await Promise.all(all.map((id) => tools.pay({ id })))`

describe.skipIf(!hasBrowser)('scripts on the admin page, in a browser', () => {
  const open = useBrowser()

  it('CallCard shows a script as code with its calls beneath; a pending call says which line makes it', async () => {
    const paid: string[] = []
    const list = defineTool({ name: 'list', description: 'Lists.', effect: 'read', execute: () => ['a', 'b'] })
    const pay = defineTool({
      name: 'pay',
      description: 'Pays.',
      parameters: { type: 'object', properties: { id: { type: 'string' } }, required: ['id'] },
      approval: true,
      execute: ({ id }) => {
        paid.push(id)
        return `paid ${id}`
      },
    })
    const model = scriptedModel([{ toolCalls: [{ name: 'run_script', args: { code } }] }, 'done'])
    const { file } = await configFile('tools: { builtin: false, codeMode: true }')
    const { url, post } = await startService({ model, tools: [list, pay], configFile: file, modelIsFixed: true })
    const { id } = await json(post('/v1/runs', { input: 'pay' }))
    const page = await open(url, { path: `#/runs/${id}` })
    const script = page.getByRole('article', { name: 'Call to run_script' })
    await script.getByText('const all = await tools.list()').waitFor()
    await page.getByRole('article', { name: 'Call to list inside run_script' }).waitFor()
    const waiting = page.locator('.decision', { hasText: 'Line 2 of the script: return await Promise.all(' })
    await expect.poll(() => waiting.count()).toBe(2)
    for (let left = 2; left > 0; left--) {
      await waiting.first().getByRole('button', { name: 'Approve', exact: true }).click()
      await expect.poll(() => waiting.count()).toBe(left - 1)
    }
    await script.getByText('"paid b"').waitFor()
    expect(paid).toEqual(['a', 'b'])
    const names = await page.locator('.call-tool').allTextContents()
    expect(names).toEqual(['run_script', 'list', 'pay', 'pay'])
  })
})
