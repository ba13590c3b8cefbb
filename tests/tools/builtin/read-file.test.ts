import { symlinkSync } from 'node:fs'
import { join } from 'node:path'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { type FileText, readFileTool } from '../../../src/tools/builtin/read-file.ts'
import { addFiles, callTool, errorOf, makePipe, makeTree } from './workbench.ts'

const read = (workspace: string, args: object, signal?: AbortSignal) => callTool<FileText>(readFileTool({ workspace }), args, signal)

describe('read_file', () => {
  it('returns a file unchanged', async () => {
    const folder = makeTree({ 'src/a.txt': 'one\r\nzwei ü\n\nlast' })
    expect(await read(folder, { path: 'src/a.txt' })).toEqual({
      path: 'src/a.txt',
      from: 1,
      to: 4,
      totalLines: 4,
      bytes: 18,
      text: 'one\r\nzwei ü\n\nlast',
    })
    expect(await read(folder, { path: './src/../src/a.txt', from: 2, to: 3 })).toMatchObject({
      path: 'src/a.txt',
      from: 2,
      to: 3,
      text: 'zwei ü\n\n',
    })
    expect(await read(folder, { path: 'src/a.txt', from: 4, to: 99 })).toMatchObject({ from: 4, to: 4, totalLines: 4, text: 'last' })
  })

  it('reads an empty file', async () => {
    const folder = makeTree({ 'a.txt': '' })
    expect(await read(folder, { path: 'a.txt' })).toEqual({ path: 'a.txt', from: 1, to: 0, totalLines: 0, bytes: 0, text: '' })
  })

  it('leaves out the byte order mark', async () => {
    const folder = makeTree({ 'a.txt': '\ufeffhello\n' })
    expect((await read(folder, { path: 'a.txt' })).text).toBe('hello\n')
  })

  it('cuts a long file after a whole line, so that the next call can continue', async () => {
    const folder = makeTree({ 'a.txt': '1234\n'.repeat(10) })
    const first = await read(folder, { path: 'a.txt', maxBytes: 12 })
    expect(first).toEqual({ path: 'a.txt', from: 1, to: 2, totalLines: 10, bytes: 50, text: '1234\n1234\n', truncated: true })
    expect(await read(folder, { path: 'a.txt', from: first.to + 1, maxBytes: 40 })).toMatchObject({
      from: 3,
      to: 10,
      text: '1234\n'.repeat(8),
    })
  })

  it('cuts a long line between characters', async () => {
    const folder = makeTree({ 'a.txt': `${'ü'.repeat(10)}\nnext\n` })
    expect(await read(folder, { path: 'a.txt', maxBytes: 7 })).toMatchObject({
      from: 1,
      to: 1,
      totalLines: 2,
      text: 'üüü',
      truncated: true,
    })
  })

  it('returns any text completely, however it is split into calls', async () => {
    const folder = makeTree()
    const lines = fc.array(fc.oneof(fc.string(), fc.constant('x'.repeat(70_000))), { maxLength: 6 })
    const texts = fc
      .tuple(lines, fc.boolean())
      .map(([all, ended]) => all.map((line) => line.replaceAll(/[\0\n\ufeff]/g, '')).join('\n') + (ended ? '\n' : ''))
    let file = 0
    await fc.assert(
      fc.asyncProperty(texts, fc.integer({ min: 1, max: 4 }), fc.integer({ min: 0, max: 3 }), async (text, from, more) => {
        const path = `${file++}.txt`
        addFiles(folder, { [path]: text })
        const expected = text.split(/(?<=\n)/).filter((line) => line !== '')
        const whole = await read(folder, { path, maxBytes: 1_048_576 })
        expect(whole).toMatchObject({ totalLines: expected.length, to: expected.length, text })
        if (from > Math.max(1, expected.length)) return
        const part = await read(folder, { path, from, to: from + more, maxBytes: 1_048_576 })
        expect(part.text).toBe(expected.slice(from - 1, from + more).join(''))
      }),
      { numRuns: 20 },
    )
  })

  it('refuses binary files, folders, pipes, and paths outside', async () => {
    const folder = makeTree({ 'a.bin': Buffer.from([1, 2, 0, 3]), 'sub/b.txt': '' })
    makePipe(join(folder, 'pipe'))
    symlinkSync('/etc/passwd', join(folder, 'link'))
    expect((await errorOf(read(folder, { path: 'a.bin' }))).message).toBe('Expected a text file, got "a.bin", a binary file of 4 bytes')
    expect((await errorOf(read(folder, { path: 'sub' }))).message).toBe('Expected a file, got the folder "sub"')
    expect((await errorOf(read(folder, { path: 'pipe' }))).message).toContain('which is a pipe')
    for (const path of ['link', '../x', '/etc/passwd', '/proc/self/environ']) {
      expect(await errorOf(read(folder, { path }))).toMatchObject({ code: 'tool_denied' })
    }
  })

  it('says how many lines the file has', async () => {
    const folder = makeTree({ 'a.txt': 'a\nb\n' })
    expect((await errorOf(read(folder, { path: 'a.txt', from: 5 }))).message).toBe(
      'Expected `from` to be at most 2, the number of lines of "a.txt", got `5`',
    )
    expect((await errorOf(read(folder, { path: 'a.txt', from: 2, to: 1 }))).message).toBe(
      'Expected `to` to be at least `from` (2), got `1`',
    )
    await expect(read(folder, { path: 'a.txt', from: 0 })).rejects.toThrow('from')
    await expect(read(folder, { path: 'a.txt', maxBytes: 2_000_000 })).rejects.toThrow('maxBytes')
  })

  it('rejects with the reason of its signal', async () => {
    const folder = makeTree({ 'a.txt': 'x\n'.repeat(5_000_000) })
    const reason = new Error('enough')
    expect(await errorOf(read(folder, { path: 'a.txt' }, AbortSignal.abort(reason)))).toBe(reason)
    const controller = new AbortController()
    const reading = errorOf(read(folder, { path: 'a.txt' }, controller.signal))
    setImmediate(() => controller.abort(reason))
    expect(await reading).toBe(reason)
  })
})
