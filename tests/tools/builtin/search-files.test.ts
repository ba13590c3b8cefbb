import { getEventListeners } from 'node:events'
import { symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Worker } from 'node:worker_threads'
import fc from 'fast-check'
import { describe, expect, it, onTestFinished } from 'vitest'
import { type SearchResult, searchFilesTool } from '../../../src/tools/builtin/search-files.ts'
import { addFiles, callTool, errorOf, makePipe, makeTree } from './workbench.ts'

const search = (workspace: string, args: object, signal?: AbortSignal) =>
  callTool<SearchResult>(searchFilesTool({ workspace }), args, signal)

describe('search_files', () => {
  it('finds lines by text, ordered by file and line', async () => {
    const folder = makeTree({ 'b.txt': 'no\nneedle one\r\nno\nneedle needle\n', 'a/c.txt': 'a needle', 'none.txt': 'hay\n' })
    expect(await search(folder, { query: 'needle' })).toEqual({
      query: 'needle',
      count: 3,
      files: 2,
      matches: [
        { path: 'b.txt', line: 2, text: 'needle one' },
        { path: 'b.txt', line: 4, text: 'needle needle' },
        { path: 'a/c.txt', line: 1, text: 'a needle' },
      ],
    })
    expect(await search(folder, { query: 'needle', path: 'a' })).toMatchObject({ count: 1, files: 1 })
    expect(await search(folder, { query: 'needle', path: 'b.txt' })).toMatchObject({ count: 2, files: 1 })
    expect(await search(folder, { query: 'needle', pattern: 'a/*' })).toMatchObject({ count: 1 })
    expect(await search(folder, { query: 'nothing' })).toEqual({ query: 'nothing', count: 0, files: 0, matches: [] })
  })

  it('treats a text query literally, even if it looks like a regular expression', async () => {
    const folder = makeTree({ 'a.txt': 'f(x) = a.b*[c]\nF(X)\nfxx = aXb\n' })
    expect((await search(folder, { query: 'f(x) = a.b*[c]' })).count).toBe(1)
    expect((await search(folder, { query: 'f(X)', ignoreCase: true })).matches.map(({ line }) => line)).toEqual([1, 2])
    expect((await search(folder, { query: '.*' })).count).toBe(0)
  })

  it('finds lines by regular expression', async () => {
    const folder = makeTree({ 'a.ts': 'const a = 1\nlet b = 2\r\nconst größe = 3\n\n' })
    const lines = async (args: object) => (await search(folder, { regex: true, ...args })).matches.map(({ line }) => line)
    expect(await lines({ query: '^const \\p{L}+ =' })).toEqual([1, 3])
    expect(await lines({ query: '2$' })).toEqual([2])
    expect(await lines({ query: 'CONST', ignoreCase: true })).toEqual([1, 3])
    expect(await lines({ query: '(?i)LET' })).toEqual([2])
    // Refused in Unicode mode, and harmless.
    expect(await lines({ query: 'a\\-z|b \\= 2' })).toEqual([2])
    // Every existing line, and no other.
    expect(await lines({ query: '^' })).toEqual([1, 2, 3, 4])
  })

  it('shows lines before and after a match', async () => {
    const folder = makeTree({ 'a.txt': '1\n2\nx3\n4\nx5\n6\n7' })
    expect((await search(folder, { query: 'x', context: 2 })).matches).toEqual([
      { path: 'a.txt', line: 3, text: 'x3', before: ['1', '2'], after: ['4', 'x5'] },
      { path: 'a.txt', line: 5, text: 'x5', before: ['x3', '4'], after: ['6', '7'] },
    ])
    expect((await search(folder, { query: '1', context: 1 })).matches).toEqual([{ path: 'a.txt', line: 1, text: '1', after: ['2'] }])
    expect((await search(folder, { query: '7', context: 1 })).matches).toEqual([{ path: 'a.txt', line: 7, text: '7', before: ['6'] }])
  })

  it('finds the same lines in a file of many blocks, with context across blocks', async () => {
    const folder = makeTree()
    const count = 4000
    const marked = fc.uniqueArray(fc.integer({ min: 0, max: count - 1 }), { minLength: 1, maxLength: 20 })
    let file = 0
    await fc.assert(
      fc.asyncProperty(marked, fc.integer({ min: 0, max: 3 }), fc.boolean(), fc.boolean(), async (at, context, regex, ended) => {
        const path = `${file++}.txt`
        // About 1 MB: four blocks.
        const lines = Array.from(
          { length: count },
          (_, index) => `${index}${at.includes(index) ? ' needle ' : ''}${'.'.repeat(index % 500)}`,
        )
        addFiles(folder, { [path]: lines.join('\n') + (ended ? '\n' : '') })
        const expected = at
          .toSorted((a, b) => a - b)
          .map((index) => {
            const [before, after] = [lines.slice(Math.max(0, index - context), index), lines.slice(index + 1, index + 1 + context)]
            return {
              line: index + 1,
              number: String(index),
              ...(before.length > 0 ? { before: before.map((text) => Number.parseInt(text, 10)) } : {}),
              ...(after.length > 0 ? { after: after.map((text) => Number.parseInt(text, 10)) } : {}),
            }
          })
        const { count: found, matches } = await search(folder, { query: 'needle', path, context, regex })
        const shown = matches.map(({ line, text, before, after }) => ({
          line,
          number: text.slice(0, text.indexOf(' ')),
          ...(before === undefined ? {} : { before: before.map((one) => Number.parseInt(one, 10)) }),
          ...(after === undefined ? {} : { after: after.map((one) => Number.parseInt(one, 10)) }),
        }))
        expect(found).toBe(at.length)
        expect(shown).toEqual(expected)
      }),
      { numRuns: 15 },
    )
  })

  it('shows 500 characters of a long line, around the match', async () => {
    const folder = makeTree({ 'a.txt': `${'a'.repeat(900)}needle${'b'.repeat(900)}\n${'c'.repeat(600)}needle\nneedle${'d'.repeat(600)}\n` })
    const { matches } = await search(folder, { query: 'needle' })
    expect(matches.map(({ text }) => text.length)).toEqual([500, 500, 500])
    expect(matches.every(({ text }) => text.includes('needle'))).toBe(true)
    expect(matches[0]?.text).toMatch(/^…a+needleb+…$/)
    expect(matches[1]?.text).toMatch(/^…c+needle$/)
    expect(matches[2]?.text).toMatch(/^needled+…$/)
  })

  it('counts a line once, however long it is and however often it matches', async () => {
    const folder = makeTree({ 'a.txt': `first\n${'needle '.repeat(100_000)}\nneedle` })
    expect(await search(folder, { query: 'needle' })).toMatchObject({ count: 2, matches: [{ line: 2 }, { line: 3 }] })
    expect(await search(folder, { query: 'ne+dle', regex: true })).toMatchObject({ count: 2, matches: [{ line: 2 }, { line: 3 }] })
  })

  it('shows at most `limit` matches and counts all', async () => {
    const files = Object.fromEntries(Array.from({ length: 30 }, (_, index) => [`f${String(index).padStart(2, '0')}.txt`, 'x\nx\nx\n']))
    const folder = makeTree(files)
    const found = await search(folder, { query: 'x', limit: 4 })
    expect(found).toMatchObject({ count: 90, files: 30, truncated: true })
    expect(found.matches.map(({ path, line }) => `${path}:${line}`)).toEqual(['f00.txt:1', 'f00.txt:2', 'f00.txt:3', 'f01.txt:1'])
    expect((await search(folder, { query: 'x' })).matches).toHaveLength(50)
    expect(await search(folder, { query: 'x', limit: 90 })).not.toHaveProperty('truncated')
  })

  it('leaves out what git ignores, hidden files, binary files, links and special files', async () => {
    const folder = makeTree({
      '.gitignore': 'dist\n',
      'dist/a.js': 'needle',
      '.editorconfig': 'needle',
      'a.bin': Buffer.from('needle\0'),
      'node_modules/x.js': 'needle',
      'a.txt': 'needle',
    })
    makePipe(join(folder, 'pipe'))
    symlinkSync('a.txt', join(folder, 'link'))
    symlinkSync('/proc', join(folder, 'proc'))
    expect(await search(folder, { query: 'needle' })).toMatchObject({ count: 1, files: 1, matches: [{ path: 'a.txt' }] })
    expect(await search(folder, { query: 'needle', pattern: '.editorconfig' })).toMatchObject({ count: 1 })
    expect(await errorOf(search(folder, { query: 'x', path: 'proc/self' }))).toMatchObject({ code: 'tool_denied' })
  })

  it.runIf(process.platform === 'linux')('continues after a file that it can’t read, and says so', async () => {
    const folder = makeTree({ 'a.txt': 'needle' })
    // A name that is not UTF-8 comes back from the system changed, and can’t be found.
    writeFileSync(Buffer.concat([Buffer.from(`${folder}/`), Buffer.of(0xff)]), 'needle')
    expect(await search(folder, { query: 'needle' })).toMatchObject({ count: 1, note: '1 file(s) could not be read.' })
  })

  it('refuses an invalid regular expression, and a text of several lines, with a message', async () => {
    const folder = makeTree({ 'a.txt': '' })
    const error = await errorOf(search(folder, { query: 'f(', regex: true }))
    expect(error).toMatchObject({ code: 'invalid_arguments' })
    expect(error.message).toMatch(/^Expected `query` to be a regular expression \(JavaScript\), got "f\(": .*Unterminated group/)
    expect((await errorOf(search(folder, { query: 'a\nb' }))).message).toBe('Expected `query` to be a single line, got "a\\nb"')
    await expect(search(folder, { query: '' })).rejects.toThrow('query')
  })

  it('stops an endless regular expression when its signal is aborted, and does not block others', async () => {
    const folder = makeTree({ 'a.txt': `${'a'.repeat(40)}!\n`, 'b.txt': 'x\n' })
    const controller = new AbortController()
    const reason = new Error('enough')
    const searching = errorOf(search(folder, { query: '^(a+)+$', regex: true }, controller.signal))
    // Another search, over many turns of the event loop, finishes while the first one hangs.
    expect(await search(folder, { query: 'x+', regex: true })).toMatchObject({ count: 1 })
    controller.abort(reason)
    expect(await searching).toBe(reason)
  })

  it('stops a slow regular expression after a time limit, and names it', async () => {
    const folder = makeTree({ 'a.txt': `${'a'.repeat(40)}!\n` })
    const tool = searchFilesTool({ workspace: folder, regexTimeoutMs: 100 })
    const error = await errorOf(callTool(tool, { query: '^(a+)+$', regex: true }))
    expect(error).toMatchObject({ code: 'invalid_arguments' })
    expect(error.message).toContain('got "^(a+)+$": it took longer than 100 ms')
  })

  it('leaves no thread or listener behind, however it ends', async () => {
    const folder = makeTree({ 'a.txt': `x\n${'a'.repeat(40)}!\n` })
    const threads: Worker[] = []
    const watch = (worker: Worker) => threads.push(worker)
    process.on('worker', watch)
    onTestFinished(() => void process.off('worker', watch))
    const controller = new AbortController()
    await search(folder, { query: 'x', regex: true }, controller.signal)
    await errorOf(
      callTool(searchFilesTool({ workspace: folder, regexTimeoutMs: 20 }), { query: '^(a+)+$', regex: true }, controller.signal),
    )
    expect(getEventListeners(controller.signal, 'abort')).toEqual([])
    const searching = errorOf(search(folder, { query: '^(a+)+$', regex: true }, controller.signal))
    while (threads.length < 3) await new Promise((resolve) => setImmediate(resolve))
    controller.abort(new Error('enough'))
    await searching
    // The answer of a thread that has ended.
    expect(threads.map(({ threadId }) => threadId)).toEqual([-1, -1, -1])
    expect(getEventListeners(controller.signal, 'abort')).toEqual([])
  })

  it('does not start if its signal is aborted', async () => {
    const folder = makeTree({ 'a.txt': 'x\n' })
    const reason = new Error('enough')
    expect(await errorOf(search(folder, { query: 'x', regex: true }, AbortSignal.abort(reason)))).toBe(reason)
    expect(await errorOf(search(folder, { query: 'x' }, AbortSignal.abort(reason)))).toBe(reason)
  })
})
