import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { shorten, Terminal, withoutControls } from '../../src/cli/terminal/terminal.ts'
import { visible } from '../../src/core/text/visible.ts'
import { fakeIO } from './fake-io.ts'

const erase = '\r\x1b[K'

describe('colors', () => {
  const painted = (env: Record<string, string>, tty = true) => new Terminal(fakeIO({ tty, env })).paint('red', 'x') !== 'x'

  it('are for terminals, unless the environment overrides that', () => {
    expect(painted({})).toBe(true)
    expect(painted({}, false)).toBe(false)
    expect(painted({ NO_COLOR: '1' })).toBe(false)
    expect(painted({ NO_COLOR: '' })).toBe(true)
    expect(painted({ TERM: 'dumb' })).toBe(false)
    expect(painted({ FORCE_COLOR: '1', NO_COLOR: '1' }, false)).toBe(true)
    expect(painted({ FORCE_COLOR: '0' })).toBe(false)
  })
})

describe('the screen', () => {
  it('keeps lines about the answer separate from the answer’s own line', () => {
    const io = fakeIO({ tty: true })
    const terminal = new Terminal(io)
    terminal.answer('Let me')
    terminal.note('→ tool')
    terminal.note('✓ tool')
    expect(io.err()).toBe('\n→ tool\n✓ tool\n')
  })

  it('writes only the answer to a file, unchanged', () => {
    const io = fakeIO()
    const terminal = new Terminal(io)
    terminal.answer('a\x1b[31m')
    terminal.note('→ tool')
    terminal.endAnswerLine()
    terminal.endAnswerLine()
    expect([io.out(), io.err()]).toEqual(['a\x1b[31m\n', '→ tool\n'])
  })

  it('removes from a model’s text what would control the terminal', () => {
    const io = fakeIO({ tty: true })
    new Terminal(io).answer('ok\x1b]0;title\x07\r\n\tnext\u009b2J')
    expect(io.out()).toBe('ok]0;title\n\tnext2J')
    expect(withoutControls('a\r\n\x1bb')).toBe('a b')
    expect(withoutControls('to \u202eeno\u202c')).toBe('to ‹U+202E›eno‹U+202C›')
  })

  it('X6 is never controlled by output, regardless of its source; the program’s own styles stay', () => {
    const evil = '\x1b]0;t\x07\x1b[2J\x1b[8mhidden\x1b]8;;http://x\x1b\\link\u009b1A\u202eback\u2066\x1b[31mred'
    const shown = ']0;t[2J[8mhidden]8;;http://x\\link1A‹U+202E›back‹U+2066›'
    const io = fakeIO({ tty: true, env: { NO_COLOR: '1' } })
    const terminal = new Terminal(io)
    terminal.print(`${evil}\nnext`)
    expect(io.out()).toBe(`${shown}[31mred\nnext\n`)
    terminal.note(evil)
    terminal.row(evil)
    expect(io.err()).toBe(`${shown}\x1b[31mred\n`.repeat(2))
    const said = fakeIO({ tty: true, env: { NO_COLOR: '1' } })
    new Terminal(said).say(evil)
    new Terminal(said).answer(`می‌خواهم ${evil}`)
    expect(said.out()).toBe(`${shown}\x1b[31mred\nمی‌خواهم ${shown}[31mred`)
    const piped = fakeIO()
    new Terminal(piped).print(evil)
    expect(piped.out()).toBe(`${evil}\n`)
  })
})

describe('the status line', () => {
  beforeEach(() => void vi.useFakeTimers())
  afterEach(() => void vi.useRealTimers())

  it('appears after a second, and disappears before other output', () => {
    const io = fakeIO({ tty: true, env: { NO_COLOR: '1' } })
    const terminal = new Terminal(io)
    terminal.waitFor('waiting for m')
    vi.advanceTimersByTime(900)
    expect(io.err()).toBe('')
    vi.advanceTimersByTime(100)
    expect(io.err()).toBe(`${erase}⠋ waiting for m 1 s`)
    terminal.note('→ tool')
    expect(io.err().endsWith(`1 s${erase}→ tool\n`)).toBe(true)
    terminal.waitFor(undefined)
    expect(vi.getTimerCount()).toBe(0)
  })

  it('is not drawn into an unfinished line of the answer', () => {
    const io = fakeIO({ tty: true })
    const terminal = new Terminal(io)
    terminal.answer('half a line')
    terminal.waitFor('waiting for m')
    vi.advanceTimersByTime(5_000)
    expect(io.err()).toBe('')
    terminal.waitFor(undefined)
  })

  it('is for terminals only', () => {
    const io = fakeIO()
    new Terminal(io).waitFor('waiting for m')
    expect(vi.getTimerCount()).toBe(0)
    vi.advanceTimersByTime(5_000)
    expect(io.err()).toBe('')
  })
})

it('shorten cuts to a length, and never inside a character', () => {
  expect(shorten('abc', 3)).toBe('abc')
  expect(shorten('abcd', 3)).toBe('ab…')
  expect(shorten('a😀b', 3)).toBe('a…')
})

it.each([
  ['\u202eabc\u202c', '‹U+202E›abc‹U+202C›'],
  ['a\u200bb\u2060c\ufeffd\u00ade', 'a‹U+200B›b‹U+2060›c‹U+FEFF›d‹U+00AD›e'],
  ['\x1b[2J\x7f\x9b\n', '‹U+001B›[2J‹U+007F›‹U+009B›‹U+000A›'],
  ['hi\u{e0041}\ufe01\u3164\u2800', 'hi‹U+E0041›‹U+FE01›‹U+3164›‹U+2800›'],
  ['\ud800 \ue000 \u2028', '‹U+D800› ‹U+E000› ‹U+2028›'],
  ['שלום, café, 你好, ❤️ 👩‍💻 🏴󠁧󠁢󠁳󠁣󠁴󠁿', 'שלום, café, 你好, ❤️ 👩‍💻 🏴󠁧󠁢󠁳󠁣󠁴󠁿'],
  ['❤\ufe0f\u200d', '❤️‹U+200D›'],
])('visible shows %j as %j', (text, shown) => {
  expect(visible(text)).toBe(shown)
})
