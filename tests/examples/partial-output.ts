import { z } from 'zod'
import { AgentRunner } from '../../src/index.ts'
import { scriptedModel } from '../../src/testing/index.ts'

const Trip = z.object({ city: z.string(), days: z.array(z.object({ what: z.string() })) })
const model = scriptedModel([{ toolCalls: [{ name: 'final_answer', args: { city: 'Kyoto', days: [{ what: 'walk' }, { what: 'tea' }] } }] }])

const stream = new AgentRunner({ model }).stream('Two days in Kyoto?', { output: Trip })
const shown: string[] = []
for await (const { city, days = [] } of stream.partialOutput) if (city !== undefined) shown.push(`${city}: ${days.length}`)
console.log([...new Set(shown)].join(', '))
const { output } = await stream.result
console.log(output?.days.map(({ what }) => what).join(', '))
