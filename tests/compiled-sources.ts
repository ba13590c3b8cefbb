import { execFileSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { compileCache } from './compile-cache.ts'

/** What most of the processes that tests start import. */
const sources = [
  'index.ts',
  'cli/program.ts',
  'journals/sqlite/index.ts',
  'models/openai/driver.ts',
  'service/index.ts',
  'sessions/sqlite/index.ts',
  'testing/index.ts',
  'tools/builtin/index.ts',
  'tools/mcp/index.ts',
  'tools/skills/index.ts',
  'ui/index.ts',
]

/** Compiles the sources for the processes that tests start: what a process has compiled is lost if it is killed, as most of them are. */
export function setup(): void {
  const urls = sources.map((source) => new URL(`../src/${source}`, import.meta.url).href)
  const load = 'await Promise.all(process.argv.slice(1).map((url) => import(url))); process.exit(0)'
  execFileSync(process.execPath, ['--input-type=module', '--eval', load, ...urls], {
    cwd: fileURLToPath(new URL('..', import.meta.url)),
    env: { ...process.env, NODE_COMPILE_CACHE: compileCache },
  })
}
