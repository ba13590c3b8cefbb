import { execFileSync } from 'node:child_process'
import { symlinkSync, truncateSync, utimesSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { type FileList, listFilesTool } from '../../../src/tools/builtin/list-files.ts'
import { callTool, errorOf, makePipe, makeTree } from './workbench.ts'

const list = (workspace: string, args: object = {}, signal?: AbortSignal) => callTool<FileList>(listFilesTool({ workspace }), args, signal)
const paths = async (workspace: string, args: object = {}) => (await list(workspace, args)).files.map(({ path }) => path)

describe('list_files', () => {
  it('returns path, size and time of the last change, and totals', async () => {
    const folder = makeTree({ 'src/a.ts': 'one\ntwo\n', 'b.md': 'text' })
    utimesSync(join(folder, 'b.md'), 1_700_000_000, 1_700_000_000)
    utimesSync(join(folder, 'src/a.ts'), 1_600_000_000, 1_600_000_000)
    expect(await list(folder)).toEqual({
      path: '.',
      count: 2,
      totalBytes: 12,
      files: [
        { path: 'b.md', bytes: 4, modified: '2023-11-14T22:13:20.000Z' },
        { path: 'src/a.ts', bytes: 8, modified: '2020-09-13T12:26:40.000Z' },
      ],
    })
  })

  it('returns paths relative to the workspace, and matches the pattern below `path`', async () => {
    const folder = makeTree({ 'src/a.ts': '', 'src/deep/b.ts': '', 'src/deep/c.js': '', 'd.ts': '' })
    expect(await paths(folder, { path: 'src', pattern: '*.ts' })).toEqual(['src/a.ts', 'src/deep/b.ts'])
    expect(await paths(folder, { path: 'src', pattern: 'deep/*' })).toEqual(['src/deep/b.ts', 'src/deep/c.js'])
    expect(await paths(folder, { path: 'src', recursive: false })).toEqual(['src/a.ts'])
    expect(await paths(folder, { path: 'src/deep/c.js' })).toEqual(['src/deep/c.js'])
    expect(await paths(folder, { pattern: 'nothing*' })).toEqual([])
  })

  it('lists folders', async () => {
    const folder = makeTree({ 'src/a.ts': '', 'src/deep/b.ts': '', 'docs/x.md': '' })
    const found = await list(folder, { folders: true, lines: true })
    expect(found.files.map(({ path, bytes }) => ({ path, bytes }))).toEqual([
      { path: 'docs', bytes: 0 },
      { path: 'src', bytes: 0 },
      { path: 'src/deep', bytes: 0 },
    ])
    expect(found).toMatchObject({ count: 3, totalBytes: 0 })
    expect(await paths(folder, { folders: true, recursive: false })).toEqual(['docs', 'src'])
    expect(await paths(folder, { folders: true, pattern: 'deep' })).toEqual(['src/deep'])
  })

  it('counts lines like `wc -l` plus an unterminated last one; skips binary files', async () => {
    const long = `${'x'.repeat(70_000)}\n`.repeat(3)
    const folder = makeTree({
      'empty.txt': '',
      'ended.txt': 'a\nb\n',
      'open.txt': 'a\nb',
      'crlf.txt': 'a\r\nb\r\n',
      'blank.txt': '\n\n\n',
      'long.txt': long,
      'image.png': Buffer.from([0x89, 0x50, 0, 10, 10, 10]),
    })
    const { files, totalLines } = await list(folder, { lines: true })
    expect(Object.fromEntries(files.map(({ path, lines }) => [path, lines]))).toEqual({
      'empty.txt': 0,
      'ended.txt': 2,
      'open.txt': 2,
      'crlf.txt': 2,
      'blank.txt': 3,
      'long.txt': 3,
      'image.png': undefined,
    })
    expect(totalLines).toBe(12)
    const wc = execFileSync('wc', ['-l', 'ended.txt', 'long.txt'], { cwd: folder, encoding: 'utf8' })
    expect(wc).toMatch(/2 ended\.txt\s+3 long\.txt/)
  })

  it('sorts by each key in both directions, and by name within ties', async () => {
    const folder = makeTree({ 'a.txt': '1\n2\n3\n', 'b.txt': '1', 'c.txt': '12', 'd.bin': Buffer.alloc(40) })
    const times: [string, number][] = [
      ['a.txt', 30],
      ['b.txt', 10],
      ['c.txt', 20],
      ['d.bin', 10],
    ]
    for (const [name, at] of times) utimesSync(join(folder, name), at, at)
    expect(await paths(folder, { order: 'desc' })).toEqual(['d.bin', 'c.txt', 'b.txt', 'a.txt'])
    expect(await paths(folder, { sort: 'size' })).toEqual(['b.txt', 'c.txt', 'a.txt', 'd.bin'])
    expect(await paths(folder, { sort: 'size', order: 'desc' })).toEqual(['d.bin', 'a.txt', 'c.txt', 'b.txt'])
    expect(await paths(folder, { sort: 'modified' })).toEqual(['b.txt', 'd.bin', 'c.txt', 'a.txt'])
    // Files without lines come last in both directions. Sorting by lines counts them.
    expect(await paths(folder, { sort: 'lines' })).toEqual(['b.txt', 'c.txt', 'a.txt', 'd.bin'])
    const longest = await list(folder, { sort: 'lines', order: 'desc', limit: 1 })
    expect(longest).toMatchObject({ count: 4, totalLines: 5, truncated: true, files: [{ path: 'a.txt', lines: 3 }] })
  })

  it('shows the first `limit` files in order, and counts all', async () => {
    const folder = makeTree(
      Object.fromEntries(Array.from({ length: 700 }, (_, index) => [`f${String(index).padStart(3, '0')}.txt`, 'x'.repeat(index)])),
    )
    const biggest = await list(folder, { sort: 'size', order: 'desc', limit: 3 })
    expect(biggest.files.map(({ bytes }) => bytes)).toEqual([699, 698, 697])
    expect(biggest).toMatchObject({ count: 700, totalBytes: (699 * 700) / 2, truncated: true })
    expect((await list(folder)).files).toHaveLength(100)
    expect(await list(folder, { limit: 1000 })).not.toHaveProperty('truncated')
    await expect(list(folder, { limit: 1001 })).rejects.toThrow('limit')
    await expect(list(folder, { limit: 0 })).rejects.toThrow('limit')
  })

  it('leaves out what git ignores, links and special files', async () => {
    const folder = makeTree({ '.gitignore': 'dist/\n', 'dist/a.js': '', 'src/a.ts': '', 'outside.txt': '' })
    makePipe(join(folder, 'src/pipe'))
    symlinkSync('/etc/passwd', join(folder, 'src/passwd'))
    symlinkSync('/', join(folder, 'src/root'))
    expect(await paths(folder, { path: 'src', lines: true })).toEqual(['src/a.ts'])
    expect(await paths(folder)).toEqual(['outside.txt', 'src/a.ts'])
  })

  it('counts the lines of a huge file without loading it', async () => {
    const folder = makeTree({ 'huge.bin': '' })
    truncateSync(join(folder, 'huge.bin'), 8 * 1024 ** 4)
    expect(await list(folder, { lines: true })).toMatchObject({ count: 1, totalBytes: 8 * 1024 ** 4, totalLines: 0 })
  })

  it('says if it stopped early', async () => {
    const folder = makeTree({ 'a.txt': '', 'b.txt': '', 'c.txt': '' })
    const found = await callTool<FileList>(listFilesTool({ workspace: folder, maxEntries: 2 }), {})
    expect(found).toMatchObject({ count: 2, truncated: true, note: expect.stringContaining('too many files') })
  })

  it('refuses a folder outside, a missing folder, and an invalid pattern', async () => {
    const folder = makeTree()
    expect((await errorOf(list(folder, { path: '..' }))).message).toContain('inside the workspace')
    expect((await errorOf(list(folder, { path: 'nothing' }))).message).toContain('does not exist')
    expect((await errorOf(list(folder, { pattern: '[a' }))).message).toContain('Expected `pattern`')
  })

  it('rejects with the reason of its signal', async () => {
    const folder = makeTree({ 'a.txt': '' })
    const reason = new Error('enough')
    expect(await errorOf(list(folder, {}, AbortSignal.abort(reason)))).toBe(reason)
  })
})
