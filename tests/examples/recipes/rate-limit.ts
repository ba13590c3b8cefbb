import { AgentRunner } from '../../../src/index.ts'

const rateLimits = { requestsPerMinute: 3_000 }
const runner = new AgentRunner({ model: { provider: 'openai', model: 'gpt-6.1-sol', rateLimits } })

const letters = Array.from({ length: 1_000 }, (_, at) => `Letter ${at}: where is my lamp?`)
const results = await Promise.all(letters.map((letter) => runner.run(`Answer in one sentence. ${letter}`)))
console.log(results.filter(({ stopReason }) => stopReason === 'answered').length, 'answered')
