import { readFileSync } from 'node:fs'
import { AgentRunner, createModel } from 'toolloop'

/** What is built, as users get it: every entry of the package can be imported, a run answers, and the files beside the code are found. */
const { exports } = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8'))
const entries = Object.keys(exports).filter((entry) => !entry.endsWith('.json'))
for (const entry of entries) await import(`toolloop${entry.slice(1)}`)
createModel({ provider: 'deepseek', model: 'deepseek-chat', apiKey: 'none' })
const { stopReason, output } = await new AgentRunner({ model: 'demo' }).run('How much is 6 * 7?')
if (stopReason !== 'answered') throw new Error(`Expected the built package to answer, got ${stopReason}: ${output}`)
console.log(`${entries.length} entries of the package import, and a run answers`)
