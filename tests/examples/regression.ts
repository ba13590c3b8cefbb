import { AgentRunner } from '../../src/index.ts'
import { replayModel, replayTools } from '../../src/testing/index.ts'

const file = new URL('recorded-weather.json', import.meta.url)
const runner = new AgentRunner({ model: replayModel(file), tools: replayTools(file), instructions: 'Be brief.' })
const result = await runner.run('How is the weather in Oslo?')
console.log(result.stopReason, result.error?.message ?? result.output)
