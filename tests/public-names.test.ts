import { readdirSync, readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { entries, exportsOf } from './pins/public-types.ts'

const root = new URL('..', import.meta.url)
const read = (path: string) => readFileSync(new URL(path, root), 'utf8')

/** Names at the root that the specifications fix, in addition to those that a row of tests/spec uses. */
const specified =
  'AgentRunner ChatModel ModelCapabilities ModelRequest ModelResponse ModelSink RunEvent RunResult RunStream ToolDefinition createModel defineTool'.split(
    ' ',
  )

/** The code in the rows of tests/spec, and what its tests import. */
function specification(): string {
  const files = readdirSync(new URL('tests/spec', root)).map((name) => `tests/spec/${name}`)
  const parts = files.map((file) =>
    read(file)
      .match(file.endsWith('.md') ? /`[^`\n]+`/g : /^import [^']*/gm)
      ?.join(' '),
  )
  return parts.join(' ')
}

describe('the names of the package', () => {
  it('are at most 120 at the root, besides those that the specifications fix', () => {
    const rootNames = exportsOf(entries.get('toolloop') ?? '').map(({ name }) => name)
    const text = specification()
    const fixed = (name: string) => specified.includes(name) || new RegExp(`\\b${name}\\b`).test(text)
    expect(rootNames.filter(fixed).length).toBeGreaterThan(40)
    expect(rootNames.filter((name) => !fixed(name)).length).toBeLessThanOrEqual(120)
  })

  it('mean the same in every entry', () => {
    const rows = [...read('docs/api.md').matchAll(/^\| \[`(\w+)`\]\(.+?\) \| (.+)$/gm)]
    expect(rows.length).toBeGreaterThan(400)
    const meanings = Map.groupBy(rows, ([, name = '']) => name)
    const ambiguous = [...meanings].filter(([, all]) => new Set(all.map(([, , meaning]) => meaning)).size > 1)
    expect(ambiguous.map(([name]) => name)).toEqual([])
  })
})
