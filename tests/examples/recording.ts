import { mkdtempSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { AgentRunner, defineTool } from '../../src/index.ts'
import { describeDifference, readRecording, recordRun, replayRun } from '../../src/recording/index.ts'
import { scriptedModel } from '../../src/testing/index.ts'

const weather = defineTool({
  name: 'weather',
  description: 'The current weather in a city.',
  parameters: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
  effect: 'read',
  execute: ({ city }) => ({ city, sky: 'clear' }),
})
const model = scriptedModel([{ toolCalls: [{ name: 'weather', arguments: { city: 'Oslo' } }] }, 'It is clear in Oslo.'])
const runner = new AgentRunner({ model, tools: [weather], instructions: 'Be brief.' })
const file = join(mkdtempSync(join(tmpdir(), 'runs-')), 'oslo.json')

// Pass `record` as options of run(), stream(), resume() or resumeStream().
await recordRun((record) => runner.run('How is the weather in Oslo?', record), file)
const recording = readRecording(file)
console.log(`0${(statSync(file).mode & 0o777).toString(8)} ${Object.keys(recording.steps).join(', ')}`)

// Asks no model and runs no tool.
const same = await replayRun(recording)
console.log(same.difference === undefined ? 'the same' : describeDifference(same.difference))

const changed = await replayRun(recording, { instructions: 'Be polite.' })
console.log(changed.difference === undefined ? 'the same' : describeDifference(changed.difference))
