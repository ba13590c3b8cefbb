import { globSync, readFileSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { defineConfig } from 'vitest/config'
import { BaseSequencer, type TestSpecification } from 'vitest/node'
import { compileCache } from './compile-cache.ts'

const root = fileURLToPath(new URL('..', import.meta.url))

/**
 * Runs long files first. Vitest assumes that large files take long until it has seen them; but a contract suite is a short file that takes
 * long.
 */
class LongFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files)
    const isContract = ({ moduleId }: TestSpecification): boolean => /-contract\.(slow\.)?test\.ts$/.test(moduleId)
    return [...sorted.filter(isContract), ...sorted.filter((file) => !isContract(file))]
  }
}

/** Long tests (browsers, terminals, attacks, crashes) are named `*.slow.test.ts`: `npm run test:slow`, with `--mode slow`. */
const slow = 'tests/**/*.slow.test.ts'
/** Programs and servers of other vendors, conformance suites, and long series of kills: `.ci/nightly`, with `--mode nightly`. */
const nightly = 'tests/**/*.nightly.test.ts'

/** Slow tests that measure how long something blocks an event loop. They run alone, after the others. */
function measuringFiles(): string[] {
  const measures = (file: string): boolean => /\/(?:measured-service|longest-stall)\.ts'/.test(readFileSync(join(root, file), 'utf8'))
  return globSync(slow, { cwd: root }).filter(measures)
}

function slowProjects() {
  const measuring = measuringFiles()
  return [
    { extends: true as const, test: { name: 'slow', include: [slow], exclude: measuring } },
    { extends: true as const, test: { name: 'measuring', include: measuring, maxWorkers: 1, sequence: { groupOrder: 1 } } },
  ]
}

function includedIn(mode: string) {
  return mode === 'nightly' ? { include: [nightly] } : { include: ['tests/**/*.test.ts'], exclude: [slow, nightly, '**/node_modules/**'] }
}

/** Far more than any test or hook takes: one that hangs fails, and one on a busy machine does not. */
function timeoutMs(mode: string): number {
  return mode === 'nightly' ? 400_000 : mode === 'slow' ? 180_000 : 60_000
}

export default defineConfig(({ mode }) => ({
  test: {
    root,
    ...(mode === 'slow' ? { projects: slowProjects() } : includedIn(mode)),
    // The admin page is served from its bundle.
    globalSetup: ['tests/built-page.ts', 'tests/compiled-sources.ts'],
    setupFiles: ['tests/real-connections.ts', 'tests/own-timers.ts', 'tests/same-values.ts'],
    testTimeout: timeoutMs(mode),
    hookTimeout: timeoutMs(mode),
    // Less than a test may take: the message says what did not happen.
    expect: { poll: { timeout: 50_000 } },
    // Tests use real sockets, processes and browsers on a shared machine. A failed test is retried once, and Vitest names it.
    retry: 1,
    // Starting a process and loading the SDKs again for each file would cost more than the tests. No test may leave anything behind.
    isolate: false,
    // Node loads the sources of the quick tests itself, as in every process of toolloop: their code is quicker than what Vite's module runner
    // makes of it, which Node 22 needs for `await using`. In the slow ones browsers and processes take the time.
    experimental: { viteModuleRunner: mode !== 'test' || Number.parseInt(process.versions.node, 10) < 24, nodeLoader: false },
    // More than there are cores: tests wait for sockets, processes and timeouts, and a worker that waits leaves its core idle.
    maxWorkers: availableParallelism() + (mode === 'test' ? 2 : 1),
    sequence: { sequencer: LongFirst },
    // Processes that tests start share one compile cache.
    env: { NODE_COMPILE_CACHE: compileCache },
    // Any unhandled rejection or uncaught exception fails the whole run.
    dangerouslyIgnoreUnhandledErrors: false,
    coverage: { provider: 'v8', include: ['src/**/*.ts'], reporter: ['text-summary', 'text'] },
  },
}))
