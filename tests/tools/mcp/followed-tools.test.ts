import { expect, it } from 'vitest'
import { connectMcpServers } from '../../../src/tools/mcp/index.ts'
import { recordingLogger } from '../../hazards/recording-logger.ts'
import { listed } from './open-tools.ts'
import { startSessionServer } from './session-server.ts'

it('E2.7 waits for announced changes only while the server is connected', async () => {
  await using server = await startSessionServer([listed('a')])
  const tools = await connectMcpServers({ kept: { url: server.url, prefix: '' } }, { logger: recordingLogger().logger })
  // A second change during the first list: the next list waits for a pause.
  await server.current()?.sendToolListChanged()
  await server.current()?.sendToolListChanged()
  const before = tools.settled?.()
  await tools.close()
  await before
  expect(await tools.settled?.()).toBeUndefined()
})
