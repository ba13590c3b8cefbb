import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { defineConfig } from 'vitest/config'
import { BaseSequencer, type TestSpecification } from 'vitest/node'
import { compileCache } from './compile-cache.ts'

const root = fileURLToPath(new URL('..', import.meta.url))

/** Long files first, which Vitest takes to be the large ones until it has seen them run; but a contract suite is a short file that takes long. */
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

/** Slow tests that measure for how long something blocks an event loop: they run alone, after the others. */
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

export default defineConfig(({ mode }) => ({
  test: {
    root,
    ...(mode === 'slow' ? { projects: slowProjects() } : includedIn(mode)),
    // The admin page is served as it is bundled.
    globalSetup: ['tests/built-page.ts', 'tests/compiled-sources.ts'],
    setupFiles: ['tests/real-connections.ts', 'tests/own-timers.ts', 'tests/same-values.ts'],
    // Far more than any test takes: what hangs fails, and what a busy machine slows down does not.
    testTimeout: mode === 'nightly' ? 400_000 : mode === 'slow' ? 180_000 : 60_000,
    expect: { poll: { timeout: 15_000 } },
    // Real sockets, processes and browsers on a machine that others share: what fails is tried once more, and Vitest names it.
    retry: 1,
    // Starting a process and loading the SDKs anew for each file costs more than the tests: no test may leave anything behind.
    isolate: false,
    // One fewer than there are cores is the default: on two cores that is half of what there is.
    maxWorkers: '100%',
    sequence: { sequencer: LongFirst },
    // The processes that tests start compile our files once, not each of them anew.
    env: { NODE_COMPILE_CACHE: compileCache },
    // Any unhandled rejection or uncaught exception fails the whole run.
    dangerouslyIgnoreUnhandledErrors: false,
    coverage: { provider: 'v8', include: ['src/**/*.ts'], reporter: ['text-summary', 'text'] },
  },
}))
