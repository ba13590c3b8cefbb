import { AgentRunner, Event } from '../../src/index.ts'
import { startMockProvider } from '../../src/testing/index.ts'

// The first response breaks off in the middle.
const fault = { resetAfterBytes: 'content' } as const
const provider = await startMockProvider({ script: [{ text: 'It is lo', fault }, 'It is long.'] })
const runner = new AgentRunner({ model: { provider: 'custom', model: 'm', baseURL: provider.baseURL } })

let text = ''
for await (const event of runner.stream('How long is it?')) {
  if (event.type === Event.MODEL_RETRY && event.discards) text = ''
  if (event.type === Event.TEXT_DELTA) text += event.text
}
console.log(text)
await provider.close()
