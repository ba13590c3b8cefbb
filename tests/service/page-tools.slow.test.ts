import { describe, expect, it } from 'vitest'
import { scriptedModel } from '../../src/testing/index.ts'
import { defineTool } from '../../src/tools/tool.ts'
import { listed, odd } from '../tools/mcp/open-tools.ts'
import { hasBrowser, useBrowser } from './page-browser.ts'
import { configFile, startService } from './start-service.ts'

describe.skipIf(!hasBrowser)('tools on the admin page, in a browser', () => {
  const open = useBrowser()

  it('ToolsView appears at once, however many fields the schemas have', async () => {
    const names = Array.from({ length: 12 }, (_, at) => `child${at}`)
    const node = { type: 'object', properties: Object.fromEntries(names.map((name) => [name, { $ref: '#/$defs/node' }])) }
    const tools = Array.from({ length: 20 }, (_, at) =>
      defineTool({
        name: `deep${at}`,
        description: 'Takes a tree.',
        effect: 'read',
        parameters: { type: 'object', properties: { root: { $ref: '#/$defs/node' }, text: { type: 'string' } }, $defs: { node } },
        execute: (args) => Object.keys(args).join(),
      }),
    )
    const { url } = await startService({ model: scriptedModel([]), tools })
    const page = await open(url, { path: '#/tools/deep7' })
    const form = page.locator('details.tool[open]').getByRole('form', { name: 'Try it' })
    await form.getByLabel('text').fill('x')
    expect(await page.locator('.try-form :is(input, textarea, select)').count()).toBeLessThan(400)
    await form.getByRole('button', { name: 'Run' }).click()
    await form.getByText('text', { exact: true }).last().waitFor()
  })

  it('ToolsView tries a tool by a form made of its schema: errors are shown at their fields, and effects are confirmed', async () => {
    const given: unknown[] = []
    const order = defineTool({
      name: 'order',
      description: 'Orders something.',
      parameters: {
        type: 'object',
        properties: {
          title: { type: 'string', minLength: 3, description: 'What it is called.' },
          express: { type: 'boolean' },
          size: { enum: ['small', 'large'] },
          count: { type: 'integer', minimum: 1 },
          to: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
          lines: { type: 'array', items: { type: 'object', properties: { sku: { type: 'string' } }, required: ['sku'] } },
          extra: { anyOf: [{ type: 'string' }, { type: 'array' }] },
        },
        required: ['title', 'to'],
      },
      execute: (args) => {
        given.push(args)
        return { ordered: args.title }
      },
    })
    const { url } = await startService({ model: scriptedModel([]), tools: [order] })
    const page = await open(url, { path: '#/tools/order' })
    const form = page.getByRole('form', { name: 'Try it' })
    await form.getByLabel('title').fill('ab')
    await form.getByLabel('express').selectOption('true')
    await form.getByLabel('size').selectOption('large')
    await form.getByLabel('count').fill('two')
    await form.getByLabel('city').fill('Bonn')
    await form.getByRole('button', { name: 'Add to lines' }).click()
    await form.getByLabel('sku').fill('a-1')
    await form.getByLabel('extra').fill('["x"')
    const run = form.getByRole('button', { name: 'Run' })
    await run.click()
    await expect.poll(() => form.getByLabel('extra').getAttribute('aria-invalid')).toBe('true')
    await form.getByLabel('extra').fill('["x"]')

    await run.click()
    const dialog = page.getByRole('dialog', { name: 'Run order?' })
    await dialog.getByText('This tool may have side effects').waitFor()
    await dialog.getByRole('button', { name: 'Cancel' }).click()
    await dialog.waitFor({ state: 'detached' })
    expect(given).toEqual([])

    await run.click()
    await dialog.getByRole('button', { name: 'Run' }).click()
    const title = form.getByLabel('title')
    await expect.poll(() => title.getAttribute('aria-invalid')).toBe('true')
    await title.and(page.locator(':focus')).waitFor()
    expect(await form.getByLabel('count').getAttribute('aria-invalid')).toBe('true')
    const describing = ((await title.getAttribute('aria-describedby')) ?? '').split(' ')
    const error = await Promise.all(describing.map((id) => page.locator(`#${id}`).textContent()))
    expect(error.join(' ')).toContain('must NOT have fewer than 3 characters')

    await title.fill('chairs')
    await form.getByLabel('count').fill('2')
    // The same values, as JSON and back.
    await form.getByRole('button', { name: 'Edit as JSON' }).click()
    const asJson = form.getByLabel('Arguments')
    const wanted = { title: 'chairs', express: true, size: 'large', count: 2, to: { city: 'Bonn' }, lines: [{ sku: 'a-1' }], extra: ['x'] }
    expect(JSON.parse(await asJson.inputValue())).toEqual(wanted)
    await asJson.fill(JSON.stringify({ ...wanted, count: 3, note: 'no field' }))
    await form.getByRole('button', { name: 'Edit as JSON' }).click()
    expect(await form.getByLabel('count').inputValue()).toBe('3')
    // What the form has no field for is not lost, and is seen.
    await form.getByText('Also given, without a field here: note').waitFor()
    await form.getByLabel('city').fill('Ulm')
    await form.getByRole('button', { name: 'Edit as JSON' }).click()
    expect(JSON.parse(await asJson.inputValue())).toEqual({ ...wanted, count: 3, to: { city: 'Ulm' }, note: 'no field' })
    // And what its field can't show, is shown as JSON.
    await asJson.fill(JSON.stringify({ ...wanted, count: 3, note: 'no field', title: ['no', 'text'], lines: [{ sku: 'a' }, { sku: 'b' }] }))
    await form.getByRole('button', { name: 'Edit as JSON' }).click()
    const titleAsJson = form.getByRole('textbox', { name: 'title' })
    expect(JSON.parse(await titleAsJson.inputValue())).toEqual(['no', 'text'])
    await titleAsJson.fill('"chairs"')
    await form.getByRole('button', { name: 'Remove from lines' }).first().click()
    await form.getByRole('button', { name: 'Add to lines' }).and(page.locator(':focus')).waitFor()
    expect(await form.getByLabel('sku').inputValue()).toBe('b')
    await form.getByLabel('sku').fill('a-1')
    await run.click()
    await dialog.getByRole('button', { name: 'Run' }).click()
    await form.getByText('Succeeded').waitFor()
    await form.getByText('{ "ordered": "chairs" }').waitFor()
    expect(given).toEqual([{ ...wanted, count: 3, note: 'no field' }])
    await page.getByText('1 call, since the service started').waitFor()
    await page.getByText('tried here').waitFor()
  })

  it('ToolsView says where tools come from, how their servers are, and how their last calls ended, each with its run', async () => {
    const servers = { notes: odd({ tools: [listed('note')] }), gone: { command: '/nothing/here', optional: true } }
    const { file } = await configFile(`tools: { builtin: [calculate] }\nmcp: ${JSON.stringify({ servers })}\n`)
    const fails = defineTool({
      name: 'fails',
      description: 'Fails.',
      effect: 'read',
      parameters: { type: 'object' },
      execute: () => {
        throw new Error('out of paper')
      },
    })
    const { url, post } = await startService({
      configFile: file,
      tools: [fails],
      model: scriptedModel([{ toolCalls: [{ name: 'fails', arguments: {} }] }, 'sorry']),
    })
    const page = await open(url, { path: '#/tools/fails' })
    const card = (name: string) => page.locator('details.tool').filter({ has: page.getByText(name, { exact: true }) })
    await card('fails').getByText('Not called since the service started.').waitFor()
    await card('fails').locator('summary').first().getByText('own').waitFor()
    await card('calculate').getByText('built-in').waitFor()
    await page.getByText('MCP: notes').first().waitFor()
    const items = page.getByRole('listitem')
    await items.filter({ hasText: 'notes' }).getByText('ready').waitFor()
    await items.filter({ hasText: 'gone' }).getByText('down').waitFor()
    await card('fails').getByRole('button', { name: 'Run' }).click()
    await card('fails').getByText('Failed', { exact: true }).waitFor()
    await card('fails').getByText('out of paper').waitFor()
    const { id } = (await (await post('/v1/runs', { input: 'x' })).json()) as { id: string }
    await card('fails').getByText('2 calls, 2 failed, since the service started').waitFor()
    await card('fails').getByRole('link', { name: 'Run' }).click()
    await expect.poll(() => new URL(page.url()).hash).toBe(`#/runs/${id}`)
  })
})
