import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { sharedFolder } from './killed-service.ts'
import { legacyPeer, modernPeer } from './mcp-peer.ts'

it('tasks survive the death of their service', { timeout: 120_000 }, async () => {
  const { folder, start, world } = await sharedFolder('keepRuns: { folder: kept }, mcp: true')
  const call = (task: string) => ({ name: 'ask_toolloop', arguments: { task } })
  let service = await start()
  const peer = () => modernPeer(service.post)
  const first = await peer()('tools/call', call('wait'))
  const second = await peer()('tools/call', call('put wait'))
  const { task } = (await (await legacyPeer(service.post))('tools/call', { ...call('wait put'), task: {} })) as { task: { taskId: string } }
  await expect.poll(() => world().filter((line) => line.startsWith('start wait')).length).toBe(3)
  for (let kills = 0; kills < 2; kills++) {
    await service.kill()
    service = await start()
    for (const taskId of [first.taskId, second.taskId, task.taskId])
      expect(await peer()('tasks/get', { taskId: String(taskId) })).toMatchObject({ status: 'working' })
  }
  writeFileSync(join(folder, 'go'), '')
  for (const taskId of [first.taskId, second.taskId])
    await expect
      .poll(() => peer()('tasks/get', { taskId: String(taskId) }), { timeout: 60_000 })
      .toMatchObject({ status: 'completed', result: { content: [{ text: 'done [redacted]' }] } })
  const result = await (await legacyPeer(service.post))('tasks/result', { taskId: task.taskId })
  expect(result).toMatchObject({ content: [{ text: 'done [redacted]' }] })
})
