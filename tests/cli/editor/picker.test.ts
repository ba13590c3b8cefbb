import { expect, it } from 'vitest'
import { Picker } from '../../../src/cli/terminal/editor/picker.ts'
import { visible } from '../../../src/core/text/visible.ts'

const key = (name: string) => ({ name, sequence: name })
const typed = (picker: Picker, text: string) => {
  for (const one of text) picker.press(one, { name: one, sequence: one })
}

it('shows the items around the current one, with their details at the right', () => {
  const picker = new Picker(
    'Which?',
    Array.from({ length: 30 }, (_, at) => ({ text: `item ${at}`, detail: `${at} min` })),
  )
  for (let at = 0; at < 40; at++) picker.press(undefined, key('down'))
  expect(picker.chosen).toBe(29)
  const rows = picker.rows(40, 24)
  expect(rows).toHaveLength(12)
  expect(rows[0]).toBe('Which? (30 of 30)')
  expect(rows.at(-2)).toBe('❯ item 29                         29 min')
  for (let at = 0; at < 40; at++) picker.press(undefined, key('up'))
  expect([picker.chosen, picker.rows(40, 5)[1]]).toEqual([0, '❯ item 0                           0 min'])
})

it('filters by what is typed, in text and detail', () => {
  const picker = new Picker('Which?', [{ text: 'Rome', detail: 'ITALY' }, { text: 'Paris' }, { text: 'Romania' }])
  typed(picker, 'rom')
  expect(picker.rows(40, 24).slice(1, -1)).toEqual(['❯ Rome                             ITALY', '  Romania'])
  typed(picker, 'ania')
  expect(picker.chosen).toBe(2)
  typed(picker, 'x')
  expect([picker.chosen, picker.press(undefined, key('return'))]).toEqual([undefined, undefined])
  expect(picker.rows(40, 24)).toEqual(['Which?', '  nothing matches', 'filter: romaniax'])
  picker.press(undefined, { name: 'u', ctrl: true })
  typed(picker, 'ital')
  expect([picker.chosen, picker.press(undefined, key('return')), picker.press(undefined, key('escape'))]).toEqual([0, 'chosen', 'left'])
})

it('shows no invisible character of an item, and never more than the screen is wide', () => {
  const picker = new Picker('Which?', [{ text: `a\u001b[2J${'b'.repeat(90)}`, detail: '\u202e1 h' }, { text: '好'.repeat(50) }])
  for (const columns of [12, 20, 80]) for (const row of picker.rows(columns, 24)) expect(visible(row)).toBe(row)
  expect(picker.rows(80, 24)[1]).toMatch(/^❯ a‹U\+001B›\[2Jb+… {2}‹U\+202E›1 h$/)
})
