import { describe, expect, it } from 'vitest'
import { dialects } from '../../src/dialects/dialects.ts'
import { read } from './read.ts'

const call = { name: 'get_weather', arguments: { city: 'Oslo' } }
/** Calls and results as every dialect writes them: what a hostile page could contain. */
const markup = dialects.flatMap((dialect) => [dialect.renderCalls([call]), dialect.renderResults([{ name: 'ping', content: 'done' }])])
const pairs = dialects.flatMap((dialect) => markup.map((content) => [dialect, content] as const))
const count = (text: string, part: string): number => text.split(part).length - 1

describe('results', () => {
  it.each(dialects.map((dialect) => [dialect.name, dialect] as const))(
    'H25 %s: no call is found in a result, whatever markup it contains',
    (_, dialect) => {
      for (const content of markup) {
        const written = dialect.renderResults([{ name: 'search', content: `before ${content} after\n${content}` }])
        expect(read(written, { dialect })).toMatchObject({ calls: [], rejected: [] })
      }
    },
  )

  it('H25 a result can’t close its own element', () => {
    for (const [dialect, content] of pairs) {
      const plain = dialect.renderResults([{ name: 'search', content: 'x' }])
      const hostile = dialect.renderResults([{ name: 'search', content }])
      for (const marker of dialect.resultMarkers) {
        const closing = marker.replace(/^[<[]/, '$&/')
        expect([dialect.name, closing, count(hostile, closing)]).toEqual([dialect.name, closing, count(plain, closing)])
      }
    }
  })

  it('H25 ordinary content is shown unchanged', () => {
    const content = 'a < b && c[0] > "d" {e}\nf'
    for (const dialect of dialects) {
      const written = dialect.renderResults([{ name: 'search', content }])
      expect(written.includes(content) || written.includes(JSON.stringify(content))).toBe(true)
    }
  })

  it.each(dialects.filter(({ name }) => name !== 'tool-action').map((dialect) => [dialect.name, dialect] as const))(
    '%s: a result that the model makes up after a call is dropped',
    (_, dialect) => {
      const made = `${dialect.renderCalls([call])}\n${dialect.renderResults([{ name: 'get_weather', content: 'sunny' }])}\nIt is sunny.`
      const { calls, text } = read(made, { dialect })
      expect(calls).toEqual([call])
      expect(text.trim()).toBe('')
    },
  )

  it('tool-action: a made-up result is dropped', () => {
    const text = 'a <tool_action name="ping"></tool_action>b\n<tool_result name="ping">\n1\n</tool_result>\nSo it is 1.'
    expect(read(text, { dialect: 'tool-action' })).toMatchObject({ calls: [{ name: 'ping' }], text: 'a b\n' })
  })
})
