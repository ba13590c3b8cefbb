import { fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { expect, it, onTestFinished } from 'vitest'
import { tempFolder } from '../cli/temp-folder.ts'
import { json, token } from '../service/start-service.ts'
import { startCollector } from './collector.ts'

const program = fileURLToPath(new URL('traced-service.ts', import.meta.url))

it('a run that pauses, is killed, and continues in other processes is one trace', async () => {
  await using collector = await startCollector()
  const folder = await tempFolder({})
  const start = async () => {
    const child = fork(program, [token, folder, collector.url], {
      execArgv: [],
      // Spans that a process has not sent when it is killed are lost.
      env: { ...process.env, OTEL_BSP_SCHEDULE_DELAY: '1' },
    })
    const exit = once(child, 'exit')
    onTestFinished(() => void child.kill('SIGKILL'))
    const [{ url }] = (await once(child, 'message')) as [{ url: string }]
    const ask = (path: string, body?: object) =>
      fetch(url + path, {
        headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
        ...(body === undefined ? {} : { method: 'POST', body: JSON.stringify(body) }),
      })
    const kill = async () => {
      child.kill('SIGKILL')
      await exit
    }
    return { child, ask, kill }
  }
  const arrived = (name: string, count: number) =>
    expect.poll(() => collector.spans().filter((span) => span.name === name).length, { timeout: 60_000 }).toBe(count)

  const first = await start()
  const { id, pending } = await json(first.ask('/v1/runs', { input: 'Order it.' }))
  await arrived('invoke_agent', 1)
  await first.kill()

  const second = await start()
  const shipping = once(second.child, 'message')
  const [{ toolCallId, fingerprint }] = pending
  second.ask(`/v1/runs/${id}/decisions`, { decisions: [{ toolCallId, fingerprint, approved: true }] }).catch(() => {})
  await shipping
  await arrived('execute_tool pay', 1)
  await arrived('chat scripted-model', 2)
  await second.kill()

  const third = await start()
  await expect.poll(async () => (await json(third.ask(`/v1/runs/${id}`))).status, { timeout: 60_000 }).toBe('ended')
  await arrived('invoke_agent', 2)
  await arrived('execute_tool ship', 1)
  await arrived('chat scripted-model', 3)

  const spans = collector.spans().filter(({ scope, kind }) => scope === 'toolloop' && kind !== 2)
  expect(new Set(spans.map(({ traceId }) => traceId)).size).toBe(1)
  const [begun, last] = spans.filter(({ name }) => name === 'invoke_agent')
  expect(begun?.attributes).toMatchObject({ 'toolloop.stop_reason': 'paused', 'toolloop.run.id': id })
  // It is below the first, like that of the second process, which died before it could end.
  expect(last).toMatchObject({
    parentSpanId: begun?.spanId,
    attributes: { 'toolloop.run.resumed': true, 'toolloop.stop_reason': 'answered' },
  })
  const killed = spans.find(({ name }) => name === 'execute_tool pay')?.parentSpanId
  expect(spans.map(({ spanId }) => spanId)).not.toContain(killed)
  const below = (parent: string | undefined) => spans.filter(({ parentSpanId }) => parentSpanId === parent).map(({ name }) => name)
  expect(below(killed)).toEqual(['execute_tool pay', 'chat scripted-model'])
  expect(below(last?.spanId)).toEqual(['execute_tool ship', 'chat scripted-model'])
})
