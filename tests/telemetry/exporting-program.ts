import { AgentRunner } from '../../src/agent/agent-runner.ts'
import { otlpTelemetry } from '../../src/telemetry/index.ts'
import { scriptedModel } from '../../src/testing/index.ts'

/** Exports a run to the given collector, and then has nothing else to do. `close`: waits for the collector first. */
const [, , endpoint = '', ending = ''] = process.argv
const { telemetry, close } = await otlpTelemetry({ endpoint })
const { output } = await new AgentRunner({ model: scriptedModel(['Done.']), telemetry }).run('go')
if (ending === 'close') await close(100)
else await new Promise((resolve) => setTimeout(resolve, 100))
console.log(output)
