import { expect, it } from 'vitest'
import { ShownCalls } from '../../src/cli/terminal/shown-calls.ts'
import { Terminal } from '../../src/cli/terminal/terminal.ts'
import { fakeIO } from './fake-io.ts'

function showing(calls: ShownCalls, number?: number): string {
  const io = fakeIO({ tty: true, env: { NO_COLOR: '1' } })
  calls.show(number, new Terminal(io))
  return io.err()
}

it('ShownCalls shows a call by number, or the last one, with nothing that would control the terminal', () => {
  const calls = new ShownCalls()
  expect(showing(calls)).toBe('no calls yet\n')
  calls.end(calls.add({ tool: 'look', args: { path: 'a' } }), 'ok 3 ms', 'one\n\ttwo\x1b[2J')
  calls.add({ tool: 'wait', args: {} })
  expect(showing(calls, 1)).toBe('1 look · ok 3 ms\n{\n  "path": "a"\n}\nresult: 2 lines\none\n    two‹U+001B›[2J\n')
  expect(showing(calls)).toBe('2 wait · running\n{}\n')
  expect(showing(calls, 3)).toBe('expected the number of a call, up to 2\n')
})

it('ShownCalls shows an edit as a diff, and also a result that is a diff', () => {
  const calls = new ShownCalls()
  const edits = [{ oldText: 'a\nb\nc', newText: 'a\nB\nc' }]
  calls.end(calls.add({ tool: 'edit', args: { path: 'x', edits } }), 'ok', '--- x\n+++ x\n@@ -1 +1 @@\n-b\n+B')
  expect(showing(calls)).toBe(
    '1 edit · ok\n{\n  "path": "x"\n}\n  a\n- b\n+ B\n  c\nresult: 5 lines\n  --- x\n  +++ x\n  @@ -1 +1 @@\n- b\n+ B\n',
  )
})
