import { setImmediate } from 'node:timers/promises'
import { describe, expect, it, onTestFinished } from 'vitest'
import { PromptHistory } from '../../../src/cli/terminal/editor/prompt-history.ts'
import { TerminalLines } from '../../../src/cli/terminal/terminal-lines.ts'
import { fakeIO } from '../fake-io.ts'
import { shownOn } from '../shown-on.ts'

function typing(prompts: string[] = [], env: Record<string, string> = {}) {
  const io = fakeIO({ tty: true, env })
  const lines = new TerminalLines(io, { prompt: '> ', history: new PromptHistory(prompts) })
  onTestFinished(() => lines.close())
  let interrupts = 0
  lines.onInterrupt = () => void interrupts++
  const { signal } = new AbortController()
  const next = lines.next(signal)
  return {
    lines,
    signal,
    screen: () => shownOn(io.err(), { rows: 24, columns: 80 }).join('\n'),
    next,
    interrupts: () => interrupts,
    type: (piece: string) => io.stdin.emit('data', Buffer.from(piece)),
  }
}

it('Ctrl-C in a paste ends neither the paste nor an answer: nothing after it is sent', async () => {
  const { next, type, interrupts } = typing()
  type('\x1b[200~one\x03two\r\x04/quit\r')
  type('\x03three\x1b[201~')
  type('!\r')
  expect([(await next)?.text, interrupts()]).toEqual(['onetwo\n/quit\nthree!', 0])
})

it('Ctrl-C by itself ends a paste without an end', async () => {
  const { next, type, interrupts } = typing()
  type('\x1b[200~never ends')
  type('\x03')
  type('typed\r')
  expect([(await next)?.text, interrupts()]).toEqual(['typed', 1])
})

it('text typed while nothing reads can be edited as at the prompt: searched, over several lines, entered for later', async () => {
  const { lines, signal, screen, next, type } = typing(['from before'])
  type('one\r')
  expect((await next)?.text).toBe('one')
  for (const key of ['\x12', 'f', 'r', 'o', '\r']) type(key)
  expect(screen()).toContain('next: from before')
  for (const key of ['t', 'w', 'o', '\\', '\r', 'three', '\r']) type(key)
  expect(screen()).toContain('next: from before\nnext: two three')
  expect([(await lines.next(signal))?.text, (await lines.next(signal))?.text]).toEqual(['from before', 'two\nthree'])
})

it('a question takes back entered text, and is answered only by what is typed after a pause', async () => {
  const { lines, signal, screen, next, type } = typing()
  type('one\r')
  await next
  for (const key of ['y', '\r', 'y']) type(key)
  const answer = lines.ask('Sure? ', signal)
  for (let round = 0; round < 3; round++) await setImmediate()
  // Still typing.
  for (const key of ['e', 's', '\r']) type(key)
  expect(screen()).toMatch(/next: y\nnext: yes\nSure\? …$/)
  await expect.poll(screen).toMatch(/Sure\?$/)
  type('no')
  type('\r')
  expect(await answer).toBe('no')
  expect(screen()).toMatch(/Sure\? no\n> y\n {2}yes$/)
})

describe('a question that one key answers', () => {
  const answers = { y: '[y]es', n: '[N]o', v: 'ne[v]er' } as const

  function asking(onEnter?: 'y' | 'n') {
    const typed = typing()
    const asked = async () => {
      typed.type('one\r')
      await typed.next
      const answer = typed.lines.choose('Sure?', answers, typed.signal, onEnter)
      for (let round = 0; round < 3; round++) await setImmediate()
      return { answer }
    }
    const shown = () => expect.poll(typed.screen).toMatch(/Sure\? \[y\]es \[N\]o ne\[v\]er$/)
    return { ...typed, asked, shown }
  }

  it.each([
    ['y', undefined, 'y', 'yes'],
    ['Y', undefined, 'y', 'yes'],
    ['v', undefined, 'v', 'never'],
    ['\r', undefined, 'n', 'no'],
    ['\r', 'y', 'y', 'yes'],
    ['\x04', undefined, 'n', ''],
  ] as const)('takes %j (Enter means %s) for %s', async (key, onEnter, meant, word) => {
    const { asked, shown, type, screen } = asking(onEnter)
    const { answer } = await asked()
    await shown()
    type(key)
    expect(await answer).toBe(meant)
    expect(screen()).toContain(`Sure?${word && ` ${word}`}\n`)
  })

  it('takes Esc for no', async () => {
    const { asked, shown, type, lines, signal } = asking('y')
    const { answer } = await asked()
    await shown()
    type('\x1b')
    expect(await answer).toBe('n')
    const aborted = AbortSignal.abort()
    await expect(lines.choose('Sure?', answers, aborted)).rejects.toBe(aborted.reason)
    expect(signal.aborted).toBe(false)
  })

  it('is not answered by keys pressed before it appeared, nor while somebody types, nor by a paste', async () => {
    const { asked, shown, type, screen } = asking()
    const { answer } = await asked()
    for (const key of ['y', 'e', 's', '\r', 'y']) type(key)
    expect(screen()).toMatch(/next: yes\nSure\? …$/)
    await shown()
    type('\x1b[200~y\r\x1b[201~')
    type('yes\r')
    type('q')
    expect(screen()).toMatch(/Sure\? \[y\]es \[N\]o ne\[v\]er$/)
    type('n')
    expect(await answer).toBe('n')
    expect(screen()).toMatch(/Sure\? no\n> yes\n {2}yy$/)
  })
})

it('a paste of several lines answers no question if pastes are not marked; a line sent by a program does', async () => {
  const { lines, signal, screen, next, type } = typing([], { TERM: 'dumb' })
  type('one\r')
  await next
  const ask = async (question: string) => {
    const answer = lines.ask(question, signal)
    for (let round = 0; round < 3; round++) await setImmediate()
    return { answer }
  }
  const first = await ask('Sure? ')
  await expect.poll(screen).toMatch(/Sure\?$/)
  type('y\rfrom a page\r')
  expect(screen()).toContain('from a page')
  type('no')
  type('\r')
  expect(await first.answer).toBe('y\nfrom a page\nno')
  const second = await ask('And this? ')
  await expect.poll(screen).toMatch(/And this\?$/)
  type('y\r')
  expect(await second.answer).toBe('y')
})

it('Ctrl-D while nothing reads ends the prompts, unless something is typed after it', async () => {
  const { lines, signal, next, type } = typing()
  let left = 0
  lines.onLeave = () => void left++
  type('one\r')
  await next
  type('\x04')
  type('wait')
  const second = lines.next(signal)
  type('\r')
  expect((await second)?.text).toBe('wait')
  type('\x04')
  expect([await lines.next(signal), left]).toEqual([undefined, 2])
})

it('a prompt hidden for another program is not drawn with other output', async () => {
  const { lines, screen, next, type } = typing()
  type('one\r')
  await next
  type('two')
  await lines.lend(async () => {
    lines.hide()
    lines.show()
    expect(screen()).not.toContain('two')
  })
  expect(screen()).toContain('> two')
})
