import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { defineConfig } from 'vitest/config'

export default defineConfig({
  test: {
    root: fileURLToPath(new URL('..', import.meta.url)),
    include: ['tests/**/*.test.ts'],
    testTimeout: 20_000,
    // Starting a process and loading the SDKs anew for each file costs more than the tests: no test may leave anything behind.
    isolate: false,
    // One fewer than there are cores is the default: on two cores that is half of what there is.
    maxWorkers: '100%',
    // The processes that tests start compile our files once, not each of them anew.
    env: { NODE_COMPILE_CACHE: join(tmpdir(), 'toolloop-compiled-tests') },
    // Any unhandled rejection or uncaught exception fails the whole run.
    dangerouslyIgnoreUnhandledErrors: false,
    coverage: { provider: 'v8', include: ['src/**/*.ts'], reporter: ['text-summary', 'text'] },
  },
})
