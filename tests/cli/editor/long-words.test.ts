import { setImmediate } from 'node:timers/promises'
import { expect, it, onTestFinished } from 'vitest'
import { Terminal } from '../../../src/cli/terminal/terminal.ts'
import { TerminalLines } from '../../../src/cli/terminal/terminal-lines.ts'
import { fakeIO } from '../fake-io.ts'
import { shownOn } from '../shown-on.ts'

/** A chat on a screen of 30 columns. */
function narrow() {
  const { stdin, stderr, env, cwd, err } = fakeIO({ tty: true, env: { NO_COLOR: '1' } })
  const io = { stdin, stdout: Object.assign(stderr, { columns: 30, rows: 24 }), stderr, env, cwd }
  const terminal = new Terminal(io)
  const lines = new TerminalLines(io, { prompt: '> ' })
  onTestFinished(() => lines.close())
  terminal.attach(lines)
  return {
    terminal,
    lines,
    type: (keys: string) => stdin.emit('data', Buffer.from(keys)),
    shown: () => shownOn(err().replace(/\r?\n/g, '\r\n'), { rows: 24, columns: 30 }).join('\n'),
  }
}

it('an address longer than the screen is shown once, complete, above what is typed meanwhile', () => {
  const { terminal, type, shown } = narrow()
  const address = `https://example.com/${'abcdefghij/'.repeat(8)}`
  const answer = `See ${address} or ask.`
  for (let at = 0; at < answer.length; at += 3) {
    terminal.answer(answer.slice(at, at + 3))
    if (at === 60) type('typed')
  }
  const wanted = `See\n${address.match(/.{1,30}/g)?.join('\n')}\nor ask.\n> typed`
  expect(shown()).toBe(wanted)
  terminal.endAnswerLine()
  expect(shown()).toBe(wanted)
})

it('a question with an address longer than the screen is shown once while it is answered', async () => {
  const { terminal, lines, type, shown } = narrow()
  const answer = lines.ask(`Is https://example.com/${'abcdefghij/'.repeat(8)} yours? `, new AbortController().signal)
  for (let round = 0; round < 3; round++) await setImmediate()
  type('n')
  terminal.note('meanwhile')
  type('o\r')
  expect(await answer).toBe('no')
  expect(shown().match(/https:/g)).toHaveLength(1)
})
