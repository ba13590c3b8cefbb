import { expect, it, onTestFinished } from 'vitest'
import { TerminalLines } from '../../../src/cli/terminal/terminal-lines.ts'
import { fakeIO } from '../fake-io.ts'

function typing() {
  const io = fakeIO({ tty: true })
  const lines = new TerminalLines(io, { prompt: '> ' })
  onTestFinished(() => lines.close())
  let interrupts = 0
  lines.onInterrupt = () => void interrupts++
  const { signal } = new AbortController()
  const next = lines.next(signal)
  return { next, interrupts: () => interrupts, type: (piece: string) => io.stdin.emit('data', Buffer.from(piece)) }
}

it('a Ctrl-C within what is pasted ends neither the paste nor an answer: nothing behind it is sent', async () => {
  const { next, type, interrupts } = typing()
  type('\x1b[200~one\x03two\r\x04/quit\r')
  type('\x03three\x1b[201~')
  type('!\r')
  expect([(await next)?.text, interrupts()]).toEqual(['onetwo\n/quit\nthree!', 0])
})

it('a Ctrl-C that comes by itself ends a paste whose end never comes', async () => {
  const { next, type, interrupts } = typing()
  type('\x1b[200~never ends')
  type('\x03')
  type('typed\r')
  expect([(await next)?.text, interrupts()]).toEqual(['typed', 1])
})
