/**
 * One contender in a process of its own, so that its heap, its compiled code and its garbage are nobody else's:
 * `node contender.ts SCENARIO CONTENDER URL`. Does one sample of the work for each message it gets and answers with what it took.
 */
import { scenarios } from './scenarios.ts'

const [, , scenarioName = '', contenderName = '', url = ''] = process.argv
const { contenders = {}, peers = {} } = scenarios[scenarioName] ?? {}
const work = contenders[contenderName] ?? peers[contenderName]
if (work === undefined) throw new Error(`Expected a scenario and one of its contenders, got \`${scenarioName} ${contenderName}\``)

process.on('message', async () => {
  try {
    const cpu = process.cpuUsage()
    const start = performance.now()
    const figures = (await work(url)) ?? {}
    const wallMs = performance.now() - start
    const { user, system } = process.cpuUsage(cpu)
    process.send?.({ cpuMs: (user + system) / 1000, wallMs, figures })
  } catch (error) {
    process.send?.({ error: error instanceof Error ? error.message : String(error) })
  }
})
