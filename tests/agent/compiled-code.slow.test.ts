import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { expect, it } from 'vitest'

const run = promisify(execFile)

/** Functions whose compiled code was thrown away, by their names, at each collection: because objects that it was compiled for were gone. */
function thrownAway(stdout: string): Set<string>[] {
  return stdout.split('<idle>').map((part) => {
    const found = part.matchAll(/^\[marking dependent code .*<SharedFunctionInfo ([^>]+)>.*weak objects cleared\]$/gm)
    return new Set([...found].map(([, name = '']) => name))
  })
}

/** What V8 prints is its own affair: this is how the version in Node.js 24 does. */
const readsTrace = process.version.startsWith('v24.')

it.skipIf(!readsTrace)(
  'what is compiled for a call is still there when all runs are over and collected',
  async () => {
    const file = fileURLToPath(new URL('./compiled-code-process.ts', import.meta.url))
    const { stdout } = await run(process.execPath, ['--expose-gc', '--trace-deopt', file], { maxBuffer: 64 * 2 ** 20 })
    const [, , ...collections] = thrownAway(stdout)
    expect(collections).toHaveLength(3)
    const always = [...(collections[0] ?? [])].filter((name) => collections.every((names) => names.has(name)))
    // Nothing keeps the shape of `Forgotten`, which its constructor needs as well.
    const expected = new Set(['readForgotten', 'Forgotten'])
    expect(always.filter((name) => !expected.has(name))).toEqual([])
    // It shows that others would be found.
    expect(collections.some((names) => names.has('readForgotten'))).toBe(true)
  },
  60_000,
)
