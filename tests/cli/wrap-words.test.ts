import { stripVTControlCharacters, styleText } from 'node:util'
import fc from 'fast-check'
import { expect, it } from 'vitest'
import { runCommand } from '../../src/cli/program.ts'
import { cellsOf } from '../../src/cli/terminal/editor/layout.ts'
import { wrapWords } from '../../src/cli/terminal/wrap-words.ts'
import { fakeIO } from './fake-io.ts'

const red = (text: string) => styleText('red', text, { validateStream: false })

it('wraps a line between words, indented if it is an item or has two columns', () => {
  expect(wrapWords('short', 20)).toEqual(['short'])
  expect(wrapWords('one two three four five', 10)).toEqual(['one two', 'three four', 'five'])
  expect(wrapWords('• one two three', 9)).toEqual(['• one two', '  three'])
  expect(wrapWords('  /a  one two three', 12)).toEqual(['  /a  one', '      two', '      three'])
  expect(wrapWords('  /command     one two three', 18)).toEqual(['  /command  one', '    two three'])
  expect(wrapWords('1. 好好 好好', 8)).toEqual(['1. 好好', '   好好'])
})

it('wraps the help of every command between words, on any terminal', async () => {
  for (const columns of [20, 40, 200]) {
    for (const args of [['--help'], ['runs', 'decide', '--help'], ['serve', '--help'], ['chat', '--nope']]) {
      const io = fakeIO({ tty: true })
      Object.assign(io.stdout, { columns })
      Object.assign(io.stderr, { columns })
      await runCommand(args, io)
      const shown = `${io.out()}${io.err()}`
      const lines = shown.split('\n').filter((line) => !line.includes('://'))
      expect(Math.max(...lines.map(cellsOf))).toBeLessThan(columns)
      const words = shown.replace(/\s+/g, ' ')
      expect(words).toContain(args.includes('--nope') ? "unknown option '--nope'" : 'log everything to standard error')
    }
  }
})

it('breaks a word longer than a row at good positions, and never an address', () => {
  expect(wrapWords('run {"name":"value","other":"value"}', 12)).toEqual(['run {"name":', '"value",', '"other":', '"value"}'])
  expect(wrapWords('a'.repeat(25), 10)).toEqual(['a'.repeat(10), 'a'.repeat(10), 'a'.repeat(5)])
  expect(wrapWords('open https://example.com/a-long-path now', 12)).toEqual(['open', 'https://example.com/a-long-path', 'now'])
})

it('continues a color in the next row', () => {
  expect(wrapWords(`${red('one two')} three`, 5)).toEqual(['\x1b[31mone\x1b[0m', '\x1b[31mtwo\x1b[39m', 'three'])
})

it('wraps two columns, or what looks like them, into rows of a few cells', () => {
  expect(wrapWords('  a  a', 4)).toEqual(['  a', ' a'])
})

it('drops an indent that leaves little space: no row is empty', () => {
  expect(wrapWords('    --name  a name', 6)).toEqual(['--name', ' a', ' name'])
  expect(wrapWords('          word', 8)).toEqual(['word'])
  expect(wrapWords(red('        a long word'), 6)).toEqual(['\x1b[31ma long\x1b[0m', ' \x1b[31mword\x1b[39m'])
  const word = fc.string({ unit: fc.constantFrom('a', '-', '好'), minLength: 1, maxLength: 12 })
  const line = fc.tuple(fc.nat(20), word, fc.nat(6), word, fc.boolean())
  fc.assert(
    fc.property(line, fc.integer({ min: 4, max: 30 }), ([indent, first, between, second, isRed], columns) => {
      const text = `${' '.repeat(indent)}${first}${' '.repeat(between)}${second}`
      for (const row of wrapWords(isRed ? red(text) : text, columns)) {
        expect(stripVTControlCharacters(row).trim()).not.toBe('')
        expect(cellsOf(row)).toBeLessThanOrEqual(columns)
      }
    }),
  )
})

it('loses nothing but spaces, and no row is too long', () => {
  const word = fc.string({ unit: fc.constantFrom('a', 'b', '/', '好', '👩‍💻', 'é', 'e\u0301', 'א'), maxLength: 30 })
  fc.assert(
    fc.property(fc.array(fc.tuple(word, fc.boolean())), fc.integer({ min: 4, max: 60 }), (words, columns) => {
      const line = words.map(([text, isRed]) => (isRed && text !== '' ? red(text) : text)).join(' ')
      const rows = wrapWords(line, columns)
      expect(stripVTControlCharacters(rows.join('')).replaceAll(' ', '')).toBe(words.map(([text]) => text).join(''))
      for (const row of rows) expect(cellsOf(row)).toBeLessThanOrEqual(columns)
    }),
  )
})
