import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import fc from 'fast-check'
import { expect, it } from 'vitest'
import { completeIn } from '../../../src/cli/terminal/editor/completions.ts'
import { DrawnRows } from '../../../src/cli/terminal/editor/drawn-rows.ts'
import { EditedText } from '../../../src/cli/terminal/editor/edited-text.ts'
import { HistorySearch } from '../../../src/cli/terminal/editor/history-search.ts'
import { KeyedInput } from '../../../src/cli/terminal/editor/keyed-input.ts'
import { type KnownRows, layOut, withinRows } from '../../../src/cli/terminal/editor/layout.ts'
import { fakeIO } from '../fake-io.ts'
import { shownOn } from '../shown-on.ts'
import { tempFolder } from '../temp-folder.ts'

const moves = ['left', 'right', 'wordLeft', 'wordRight', 'lineStart', 'lineEnd'] as const

it('EditedText moves and deletes by visible characters and words, across lines', () => {
  const edited = new EditedText()
  edited.set('one two\nthree 👩‍💻')
  edited.delete('left')
  expect(edited.text).toBe('one two\nthree ')
  edited.delete('wordLeft')
  expect([edited.text, edited.moveUp(), edited.at]).toEqual(['one two\n', true, 0])
  edited.move('wordRight')
  edited.delete('lineEnd')
  expect(edited.text).toBe('one\n')
  edited.move('right')
  edited.paste()
  expect([edited.text, edited.moveDown()]).toEqual(['one\n two', false])
})

it('EditedText undoes changes one by one, and characters typed in a row at once', () => {
  const edited = new EditedText()
  for (const character of 'one two') edited.insert(character)
  edited.delete('wordLeft')
  edited.insert('a paste of\nlines')
  edited.insert('!')
  const seen = []
  for (let times = 0; times < 7; times++) {
    seen.push(edited.text)
    edited.undo()
  }
  expect(seen).toEqual(['one a paste of\nlines!', 'one a paste of\nlines', 'one ', 'one two', 'one', '', ''])
})

it('layOut only lays out the changed line of a long text', () => {
  const lines = Array.from({ length: 100 }, (_, at) => `line ${at}, with ${'some more words '.repeat(4)}`)
  const text = lines.join('\n')
  const known: KnownRows = new Map()
  layOut(text, text.length, '> ', 40, known)
  const before = new Map(known)
  expect(layOut(`${text}x`, text.length + 1, '> ', 40, known)).toEqual(layOut(`${text}x`, text.length + 1, '> ', 40))
  for (const line of lines.slice(1, -1)) expect(known.get(line)).toBe(before.get(line))
  expect(layOut(text, 10, '> ', 40, known)).toEqual(layOut(text, 10, '> ', 40))
})

it('EditedText never ends a move up or down inside a character', () => {
  const edited = new EditedText()
  edited.set('😀😀\nabc')
  expect([edited.moveUp(), edited.at]).toEqual([true, 4])
  edited.set('abc\n👩‍💻 x', 3)
  expect([edited.moveDown(), edited.at]).toEqual([true, 11])
})

it('HistorySearch deletes a whole character with Backspace', () => {
  const search = new HistorySearch(['a 👩‍💻'])
  search.type('a ')
  search.type('👩‍💻')
  search.erase()
  expect(search.query).toBe('a ')
})

it('EditedText keeps the cursor inside the text, whatever is typed and however it is moved', () => {
  const action = fc.oneof(
    fc.constantFrom(...moves).map((how) => (edited: EditedText) => edited.move(how)),
    fc.constantFrom(...moves).map((how) => (edited: EditedText) => edited.delete(how)),
    fc.constantFrom('a', ' b', '\n', '好', '👩‍💻', '\t').map((text) => (edited: EditedText) => edited.insert(text)),
    fc.constantFrom('moveUp', 'moveDown', 'paste').map((name) => (edited: EditedText) => void edited[name as 'paste']()),
  )
  fc.assert(
    fc.property(fc.array(action, { maxLength: 60 }), (actions) => {
      const edited = new EditedText()
      for (const act of actions) act(edited)
      expect(edited.at).toBeGreaterThanOrEqual(0)
      expect(edited.at).toBeLessThanOrEqual(edited.text.length)
      expect(edited.text.slice(0, edited.at).isWellFormed()).toBe(true)
    }),
  )
})

it('DrawnRows shows what was drawn last, whatever was drawn before', () => {
  const text = fc.string({ unit: fc.constantFrom('a', 'b', ' ', '\n', '\t', '好', '🎉'), maxLength: 60 })
  fc.assert(
    fc.property(fc.array(fc.tuple(text, fc.nat(60)), { minLength: 1, maxLength: 6 }), fc.integer({ min: 8, max: 30 }), (texts, columns) => {
      const io = fakeIO({ tty: true })
      const rows = new DrawnRows(io.stderr, true)
      let expected: string[] = []
      for (const [drawn, at] of texts) {
        const layout = withinRows(layOut(drawn, Math.min(at, drawn.length), '> ', columns - 1), 10)
        rows.draw(layout)
        expected = layout.rows.map((row) => row.trimEnd())
      }
      rows.finish()
      expect(shownOn(`${io.err()}end`, { rows: 11, columns })).toEqual([...expected, 'end'])
    }),
  )
})

it('layOut puts lines below each other, and makes invisible characters visible', () => {
  expect(layOut('ab\n\u202ecd', 2, '> ', 20)).toEqual({ rows: ['> ab', '  ‹U+202E›cd'], cursor: { row: 0, column: 4 } })
  expect(layOut('abcdefgh', 8, '> ', 6)).toEqual({ rows: ['> abcd', '  efgh'], cursor: { row: 1, column: 6 } })
  expect(layOut('好好', 1, '', 3)).toEqual({ rows: ['好', '好'], cursor: { row: 1, column: 0 } })
})

it('HistorySearch finds the newest text first, then older ones, and says when there is none', () => {
  const search = new HistorySearch(['git log', 'ls', 'git diff', 'git diff'])
  search.type('g')
  search.type('it')
  expect(search.found).toBe('git diff')
  search.older()
  expect(search.found).toBe('git log')
  search.older()
  expect(search.found).toBe('git log')
  search.type('x')
  expect(search.found).toBeUndefined()
  search.erase()
  expect(search.found).toBe('git diff')
})

it('PromptLayout shows a short prompt once, even on a narrow screen', () => {
  const io = fakeIO({ tty: true })
  io.stderr.columns = 20
  new KeyedInput(io, { prompt: '> ' }).begin()
  expect(io.err()).toBe('> ')
})

it('completeIn completes commands at the start, and files after an @', async () => {
  const folder = await tempFolder({ 'src/a.ts': '', 'src/b.ts': '', 'my file.txt': '', '.env': '' })
  await mkdir(join(folder, 'scripts'))
  await writeFile(join(folder, 'scripts', 'x"y'), '')
  const complete = completeIn(folder, ['/help', '/history'])
  expect(complete('/h')).toEqual({ from: 0, words: ['/help', '/history'] })
  expect(complete('say /h').words).toEqual([])
  expect(complete('read @s')).toEqual({ from: 5, words: ['@scripts/', '@src/'] })
  expect(complete('@src/')).toEqual({ from: 0, words: ['@src/a.ts', '@src/b.ts'] })
  expect(complete('@m').words).toEqual(['@"my file.txt"'])
  expect(complete('@"my').words).toEqual(['@"my file.txt"'])
  expect(complete('@.e').words).toEqual(['@.env'])
  expect([complete('@scripts/').words, complete('me@s').words, complete('@nowhere/').words]).toEqual([[], [], []])
})
