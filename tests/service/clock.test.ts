import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { scriptedModel } from '../../src/testing/index.ts'
import { approvals } from './killed-service.ts'
import { configFile, json, payTool, startService } from './start-service.ts'

const dayMs = 86_400_000

describe('a service whose clock is set while runs wait', () => {
  it.each([
    ['in memory', 40],
    ['in memory', -40],
    ['in a journal', 40],
    ['in a journal', -40],
  ])('P1.8 H60 ends none of them: %s, by %i days', async (place, days) => {
    const { folder, file } = await configFile(place === 'in a journal' ? 'service: { keepRuns: { folder: kept } }\n' : '')
    const { tool, paid } = payTool()
    const model = scriptedModel(({ messages }) =>
      messages.at(-1)?.role === 'tool' ? 'done' : { toolCalls: [{ name: tool.name, args: { euros: 1 } }] },
    )
    const { post, ask } = await startService({ model, tools: [tool], configFile: file, cwd: folder })
    const start = async () => json(post('/v1/runs', { input: 'go' }))
    const before = await start()
    onTestFinished(() => void vi.useRealTimers())
    vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + days * dayMs })
    const meanwhile = await start()
    vi.useRealTimers()
    // Each is looked at, and room is made for another, which forgets what is old.
    await start()
    for (const run of [before, meanwhile]) {
      expect((await json(ask(`/v1/runs/${run.id}`))).status).toBe('waiting')
      expect(await json(post(`/v1/runs/${run.id}/decisions`, { decisions: approvals(run) }))).toMatchObject({
        status: 'ended',
        output: 'done',
      })
    }
    expect(paid.length).toBe(2)
  })
})
