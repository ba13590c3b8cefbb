import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'

const tests = fileURLToPath(new URL('.', import.meta.url))

interface Row {
  id: string
  delivered: boolean
  place: string
}

/** The rows of a page of the specification. Every list item that starts with a box is a row. */
function rowsOf(page: string): Row[] {
  return readFileSync(join(tests, 'spec', page), 'utf8')
    .split('\n')
    .flatMap((line, index) => {
      const place = `spec/${page}:${index + 1}`
      if (!/^- \[/.test(line)) return []
      const [, box, id] = /^- \[([ x])\] (S\d-\d+[a-c]?|[FHQX]\d+|[EP]\d\.\d+) \S.*\S$/.exec(line) ?? []
      if (box === undefined || id === undefined) throw new Error(`${place} is not a row: ${line}`)
      return [{ id, delivered: box === 'x', place }]
    })
}

/** The ids that names of tests start with, and their places. */
function idsIn(source: string, file: string): { id: string; place: string }[] {
  return source.split('\n').flatMap((line, index) =>
    [...line.matchAll(/(['"`])((?:(?:S\d-\d+[a-c]?|[FHQX]\d+|[EP]\d\.\d+) )+)(?!\1)/g)].flatMap(([, , ids = '']) =>
      ids
        .trim()
        .split(' ')
        .map((id) => ({ id, place: `${file}:${index + 1}` })),
    ),
  )
}

const rows = ['requirements.md', 'hazards.md', 'wire-quirks.md', 'field.md', 'production.md', 'security.md', 'outside.md'].flatMap(rowsOf)
const named = readdirSync(tests, { recursive: true, encoding: 'utf8' })
  .filter((file) => file.endsWith('.ts') && file !== 'spec.test.ts')
  .flatMap((file) => idsIn(readFileSync(join(tests, file), 'utf8'), file.replaceAll('\\', '/')))

describe('the specification', () => {
  it('has every row once', () => {
    const places = Map.groupBy(rows, ({ id }) => id)
    expect([...places].filter(([, found]) => found.length > 1)).toEqual([])
    expect(rows.length).toBeGreaterThan(200)
  })

  it('has no gap in a numbered list', () => {
    const numbers = (list: string) => rows.flatMap(({ id }) => (id.startsWith(list) ? [Number.parseInt(id.slice(list.length), 10)] : []))
    for (const list of ['S0-', 'S1-', 'S2-', 'S4-', 'H', 'Q', 'F', 'X', 'P1.', 'P2.', 'P3.', 'E1.', 'E2.', 'E3.', 'E4.']) {
      const found = [...new Set(numbers(list))]
      expect(found, list).toEqual(Array.from({ length: found.length }, (_, i) => i + 1))
    }
  })

  it('every row marked delivered is named by a test', () => {
    const ids = new Set(named.map(({ id }) => id))
    expect(rows.filter(({ id, delivered }) => delivered && !ids.has(id)).map(({ id, place }) => `${place} ${id}`)).toEqual([])
  })

  it('every id at the start of a test’s name leads to a row', () => {
    const ids = new Set(rows.map(({ id }) => id))
    expect(named.filter(({ id }) => !ids.has(id)).map(({ id, place }) => `${place} ${id}`)).toEqual([])
  })

  it('the scan finds the names of tests', () => {
    expect(idsIn(`it('S0-1 S0-15a both', () => {})\nit.each(x)("Q7 %s", y)\nexpect('H100')`, 'x.ts')).toEqual([
      { id: 'S0-1', place: 'x.ts:1' },
      { id: 'S0-15a', place: 'x.ts:1' },
      { id: 'Q7', place: 'x.ts:2' },
    ])
    expect(named.length).toBeGreaterThan(300)
  })
})
