import { execFileSync } from 'node:child_process'
import { getEventListeners } from 'node:events'
import { mkdirSync, rmSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import type { Worker } from 'node:worker_threads'
import { describe, expect, it, onTestFinished } from 'vitest'
import { Walk } from '../../../src/tools/builtin/files/walk.ts'
import { Workspace } from '../../../src/tools/builtin/files/workspace.ts'
import { turnsWhile } from '../../event-loop.ts'
import { walkThrough } from './walk-through.ts'
import { errorOf, makePipe, makeTree } from './workbench.ts'

describe('Walk', () => {
  it('walks top down, files of a folder first, with names in order', async () => {
    const folder = makeTree({ 'b.txt': '', 'a/z.txt': '', 'a/b/c.txt': '', 'c/x.txt': '', 'a.txt': '' })
    expect(await walkThrough(folder)).toEqual(['a.txt', 'b.txt', 'a/z.txt', 'a/b/c.txt', 'c/x.txt'])
    expect(await walkThrough(folder, { kind: 'folders' })).toEqual(['a', 'c', 'a/b'])
    expect(await walkThrough(folder, { recursive: false })).toEqual(['a.txt', 'b.txt'])
    expect(await walkThrough(folder, { path: 'a' })).toEqual(['a/z.txt', 'a/b/c.txt'])
    expect(await walkThrough(folder, { path: 'a', pattern: 'b/*' })).toEqual(['a/b/c.txt'])
    expect(await walkThrough(folder, { path: 'a/z.txt' })).toEqual(['a/z.txt'])
  })

  it('leaves out hidden names that the pattern does not contain, and always .git and node_modules', async () => {
    const folder = makeTree({
      '.editorconfig': '',
      '.github/ci.yml': '',
      '.git/config': '',
      'node_modules/x/index.js': '',
      'sub/node_modules/y.js': '',
      'a.js': '',
    })
    expect(await walkThrough(folder)).toEqual(['a.js'])
    expect(await walkThrough(folder, { pattern: '.editorconfig' })).toEqual(['.editorconfig'])
    expect(await walkThrough(folder, { pattern: '.github/**' })).toEqual(['.github/ci.yml'])
    expect(await walkThrough(folder, { pattern: '.git/**' })).toEqual([])
    expect(await walkThrough(folder, { pattern: '**/*.js' })).toEqual(['a.js'])
  })

  it('leaves out what .gitignore files and info/exclude name; deeper files take precedence', async () => {
    const folder = makeTree({
      '.gitignore': '*.log\n/build/\n!keep.log\ndocs/*.tmp\n',
      '.git/info/exclude': 'private.txt\n',
      'a.log': '',
      'keep.log': '',
      'build/out.js': '',
      'src/build/in.js': '',
      'docs/a.tmp': '',
      'docs/deep/a.tmp': '',
      'private.txt': '',
      'sub/.gitignore': '!a.log\nkeep.log\n',
      'sub/a.log': '',
      'sub/keep.log': '',
    })
    expect(await walkThrough(folder)).toEqual(['keep.log', 'docs/deep/a.tmp', 'src/build/in.js', 'sub/a.log'])
  })

  it('applies rules above the start, up to the repository, even above the workspace', async () => {
    const folder = makeTree({
      '.gitignore': '*.log\n',
      'packages/app/a.log': '',
      'packages/app/a.js': '',
      'packages/.gitignore': 'b.js',
      'packages/app/b.js': '',
    })
    expect(await walkThrough(folder, { path: 'packages/app' })).toEqual(['packages/app/a.js'])
    // Without a repository, there is no reason to look above the workspace.
    expect(await walkThrough(join(folder, 'packages/app'))).toEqual(['a.js', 'a.log', 'b.js'])
    mkdirSync(join(folder, '.git'))
    expect(await walkThrough(join(folder, 'packages/app'))).toEqual(['a.js'])
  })

  it('lists an ignored folder if it is the start', async () => {
    const folder = makeTree({ '.gitignore': 'dist/\n', 'dist/a.js': '', 'dist/sub/b.js': '', 'dist/.gitignore': 'c.js', 'dist/c.js': '' })
    expect(await walkThrough(folder)).toEqual([])
    expect(await walkThrough(folder, { path: 'dist' })).toEqual(['dist/a.js', 'dist/sub/b.js'])
    expect(await walkThrough(folder, { path: 'dist/sub' })).toEqual(['dist/sub/b.js'])
  })

  it('does not apply the rules of a repository inside a nested one', async () => {
    const folder = makeTree({
      '.gitignore': '*.log\n',
      'a.log': '',
      'inner/.git/info/exclude': 'x.txt\n',
      'inner/a.log': '',
      'inner/x.txt': '',
    })
    expect(await walkThrough(folder)).toEqual(['inner/a.log'])
  })

  it('does not follow links or read rules through one', async () => {
    const folder = makeTree({ 'in/a.txt': '', 'out/secret.txt': '', 'out/rules': '*' })
    symlinkSync(join(folder, 'out'), join(folder, 'in/folder'))
    symlinkSync(join(folder, 'out/secret.txt'), join(folder, 'in/file'))
    symlinkSync('.', join(folder, 'in/round'))
    symlinkSync(join(folder, 'out/rules'), join(folder, 'in/.gitignore'))
    expect(await walkThrough(join(folder, 'in'))).toEqual(['a.txt'])
    // Nor does it wait for a pipe in place of a rules file.
    rmSync(join(folder, 'in/.gitignore'))
    makePipe(join(folder, 'in/.gitignore'))
    expect(await walkThrough(join(folder, 'in'))).toEqual(['a.txt'])
  })

  it('does not enter a folder that was replaced by a link', async () => {
    const folder = makeTree({ 'in/a.txt': '', 'in/sub/b.txt': '', 'out/secret.txt': '' })
    const workspace = new Workspace(join(folder, 'in'))
    const walk = new Walk(workspace, await workspace.locate('.'), { signal: new AbortController().signal })
    const paths: string[] = []
    for await (const batch of walk) {
      paths.push(...batch.map((entry) => entry.path))
      rmSync(join(folder, 'in/sub'), { recursive: true, force: true })
      symlinkSync(join(folder, 'out'), join(folder, 'in/sub'))
    }
    expect(paths).toEqual(['a.txt'])
  })

  it('stops at `maxEntries` and says so', async () => {
    const folder = makeTree(Object.fromEntries(Array.from({ length: 20 }, (_, index) => [`f${index}.txt`, ''])))
    const workspace = new Workspace(folder)
    const walk = new Walk(workspace, await workspace.locate('.'), { maxEntries: 7, signal: new AbortController().signal })
    let seen = 0
    for await (const batch of walk) seen += batch.length
    expect(seen).toBe(7)
    expect(walk.truncated).toBe(true)
    expect(walk.gaps(2)).toBe('Stopped early: there are too many files here; give a narrower `path`. 2 file(s) could not be read.')
  })

  it('rejects with the reason of its signal', async () => {
    const folder = makeTree({ 'a/1': '', 'b/2': '', 'c/3': '' })
    const controller = new AbortController()
    const workspace = new Workspace(folder)
    const walk = new Walk(workspace, await workspace.locate('.'), { signal: controller.signal })
    const reason = new Error('enough')
    const paths: string[] = []
    const error = await errorOf(
      (async () => {
        for await (const batch of walk) {
          paths.push(...batch.map((entry) => entry.path))
          controller.abort(reason)
        }
      })(),
    )
    expect(error).toBe(reason)
    expect(paths).toEqual(['a/1'])
  })

  it('yields to the event loop while it reads many rules, and applies the last one', async () => {
    const rules = Array.from({ length: 10_000 }, (_, n) => `*a*${n}`)
    const folder = makeTree({ '.gitignore': [...rules, '*.log'].join('\n'), 'aaaa.txt': '', 'b.txt': '', 'c.log': '', 'd.txt': '' })
    const { value, turns } = await turnsWhile(() => walkThrough(folder, { matchTimeoutMs: 60_000 }))
    expect(value).toEqual(['aaaa.txt', 'b.txt', 'd.txt'])
    expect(turns).toBeGreaterThan(2)
  })

  it('ignores a rule that is longer than any path', async () => {
    const folder = makeTree({ '.gitignore': `${'*a'.repeat(3_000)}\n*.log`, [`${'a'.repeat(200)}`]: '', 'c.log': '' })
    expect(await walkThrough(folder)).toEqual(['a'.repeat(200)])
  })

  it('reports a rules file that is too large', async () => {
    const folder = makeTree({ '.gitignore': '*.txt\n'.repeat(30_000), 'a.txt': '' })
    const workspace = new Workspace(folder)
    const walk = new Walk(workspace, await workspace.locate('.'), { signal: new AbortController().signal })
    for await (const batch of walk) expect(batch.map(({ path }) => path)).toEqual(['a.txt'])
    expect(walk.gaps(0)).toBe('1 `.gitignore` file(s) larger than 128 KiB were not applied.')
  })

  it('stops an endless glob without blocking others', async () => {
    const folder = makeTree({ ['a'.repeat(200)]: '', 'b.txt': '' })
    const walking = errorOf(walkThrough(folder, { pattern: `${'*a'.repeat(40)}b`, matchTimeoutMs: 300 }))
    expect(await walkThrough(folder, { pattern: '*.txt', matchTimeoutMs: 60_000 })).toEqual(['b.txt'])
    const error = await walking
    expect(error).toMatchObject({ code: 'invalid_arguments' })
    expect(error.message).toMatch(/^Expected `pattern` to be a simpler glob that takes less than 300 ms on the names of a folder, got "\*a/)
  })

  it('stops endless ignore rules', async () => {
    const folder = makeTree({ '.gitignore': `${'**/a/'.repeat(40)}b`, [`${'a/'.repeat(200)}c`]: '' })
    const error = await errorOf(walkThrough(folder, { matchTimeoutMs: 500 }))
    expect(error).toMatchObject({ code: 'tool_failed' })
    expect(error.message).toMatch(/^The rules in `\.gitignore` take longer than 500 ms on the names in "a\//)
  })

  it('runs at most 16 threads at once', async () => {
    const folder = makeTree({ 'a.txt': '', 'b.md': '' })
    let threads = 0
    let most = 0
    const watch = (worker: Worker) => {
      most = Math.max(most, ++threads)
      worker.once('exit', () => threads--)
    }
    process.on('worker', watch)
    onTestFinished(() => void process.off('worker', watch))
    const found = await Promise.all(Array.from({ length: 20 }, () => walkThrough(folder, { pattern: '*.txt', matchTimeoutMs: 60_000 })))
    expect(found).toEqual(Array.from({ length: 20 }, () => ['a.txt']))
    expect(most).toBe(16)
  })

  it('fails instead of hanging in a process that may not start threads', () => {
    const folder = makeTree({ 'a.txt': '' })
    const program = `
      const { listFilesTool } = await import(process.argv[1])
      const tool = listFilesTool({ workspace: process.argv[2] })
      for (let calls = 0; calls < 17; calls++) {
        await tool.execute({ pattern: '*' }, { signal: new AbortController().signal }).catch(({ message }) => console.log(message))
      }`
    const tools = new URL('../../../src/tools/builtin/list-files.ts', import.meta.url).href
    const options = ['--permission', '--allow-fs-read=*', '--input-type=module', '--eval', program, tools, folder]
    const lines = execFileSync(process.execPath, options, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] })
      .trim()
      .split('\n')
    expect(lines).toEqual(Array.from({ length: 17 }, () => 'The files could not be searched: no thread could be started'))
  })

  it('leaves the queue for a thread when its signal is aborted', async () => {
    const folder = makeTree({ ['a'.repeat(200)]: '' })
    const slow = Array.from({ length: 16 }, () => errorOf(walkThrough(folder, { pattern: `${'*a'.repeat(40)}b`, matchTimeoutMs: 100 })))
    const controller = new AbortController()
    const queued = errorOf(walkThrough(folder, { pattern: '*', signal: controller.signal }))
    await new Promise((resolve) => setImmediate(resolve))
    const reason = new Error('enough')
    controller.abort(reason)
    expect(await Promise.race([queued, ...slow])).toBe(reason)
    await Promise.all(slow)
  })

  it('leaves no thread behind if its consumer stops', async () => {
    const folder = makeTree({ '.gitignore': 'x', 'a.txt': '', 'b/c.txt': '' })
    const threads: Worker[] = []
    const watch = (worker: Worker) => threads.push(worker)
    process.on('worker', watch)
    onTestFinished(() => void process.off('worker', watch))
    const workspace = new Workspace(folder)
    const { signal } = new AbortController()
    for await (const batch of new Walk(workspace, await workspace.locate('.'), { signal })) if (batch.length > 0) break
    expect(threads.map(({ threadId }) => threadId)).toEqual([-1])
    expect(getEventListeners(signal, 'abort')).toEqual([])
  })
})
