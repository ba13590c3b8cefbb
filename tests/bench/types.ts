import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

/** What a file full of tools costs the type checker, beyond the same file with one tool: `npm run build` first, it reads dist. */
const root = fileURLToPath(new URL('../..', import.meta.url))
// Inside the project, so that `zod` is found from there.
const folder = mkdtempSync(join(root, 'tests/bench/types-'))

function toolsFile(count: number): string {
  const body = '({ city, days, nested }) => ({ city, sum: (days ?? 0) + nested.tags.length })'
  const zod = 'z.object({ city: z.string(), days: z.number().int().optional(), nested: z.object({ tags: z.array(z.string()) }) })'
  const json = `{ type: 'object', properties: { city: { type: 'string' }, days: { type: 'integer' }, nested: { type: 'object', properties: { tags: { type: 'array', items: { type: 'string' } } }, required: ['tags'] } }, required: ['city', 'nested'] }`
  const tools = Array.from(
    { length: count },
    (_, i) => `const t${i} = defineTool({ name: 'tool_${i}', description: '', parameters: ${i % 2 === 0 ? json : zod}, execute: ${body} })`,
  )
  const names = tools.map((_, i) => `t${i}`).join(', ')
  return [
    `import { z } from 'zod'\nimport { AgentRunner, defineTool } from '../../../dist/index.js'`,
    ...tools,
    'z.string()',
    `export const runner: AgentRunner = new AgentRunner({ model: 'demo', tools: [${names}] })`,
  ].join('\n')
}

/** Seconds of the fastest of some runs. */
function check(count: number): number {
  writeFileSync(join(folder, 'tools.ts'), toolsFile(count))
  writeFileSync(
    join(folder, 'tsconfig.json'),
    JSON.stringify({
      compilerOptions: { module: 'nodenext', target: 'es2024', strict: true, noEmit: true, skipLibCheck: true, types: ['node'] },
      files: ['tools.ts'],
    }),
  )
  const times = Array.from({ length: 5 }, () => {
    const start = performance.now()
    execFileSync('npx', ['tsc', '-p', folder], { cwd: root, stdio: ['ignore', 'inherit', 'ignore'] })
    return (performance.now() - start) / 1000
  })
  return Math.min(...times)
}

try {
  const [one, hundred] = [check(1), check(100)]
  console.log(`types: 1 tool ${one.toFixed(2)} s, 100 tools ${hundred.toFixed(2)} s: ${(hundred - one).toFixed(2)} s for 99 tools more`)
} finally {
  rmSync(folder, { recursive: true })
}
