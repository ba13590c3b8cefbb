import { mkdirSync, renameSync, symlinkSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { Workspace } from '../../../src/tools/builtin/files/workspace.ts'
import { errorOf, makePipe, makeTree } from './workbench.ts'

/** A workspace next to a folder that must stay inaccessible. */
function makeNeighbours(): { root: string; inside: string; outside: string; workspace: Workspace } {
  const root = makeTree({ 'inside/a.txt': 'a', 'inside/sub/b.txt': 'b', 'outside/secret.txt': 'secret', 'inside-too/c.txt': 'c' })
  const inside = join(root, 'inside')
  return { root, inside, outside: join(root, 'outside'), workspace: new Workspace(inside) }
}

async function readThrough(workspace: Workspace, path: string): Promise<string> {
  const { handle } = await workspace.open(await workspace.locate(path))
  try {
    return await handle.readFile('utf8')
  } finally {
    await handle.close()
  }
}

describe('Workspace', () => {
  it.each([
    ['a.txt', 'a.txt'],
    ['./sub//b.txt', 'sub/b.txt'],
    ['sub/../a.txt', 'a.txt'],
    ['.', '.'],
    ['', '.'],
    ['sub', 'sub'],
  ])('finds %j', async (path, expected) => {
    const { workspace } = makeNeighbours()
    expect((await workspace.locate(path)).path).toBe(expected)
  })

  it('accepts absolute paths inside it, including those through a link to it', async () => {
    const { root, inside } = makeNeighbours()
    symlinkSync(inside, join(root, 'link'))
    const workspace = new Workspace(join(root, 'link'))
    expect((await workspace.locate(join(inside, 'a.txt'))).path).toBe('a.txt')
    expect((await workspace.locate(join(root, 'link', 'sub/b.txt'))).path).toBe('sub/b.txt')
    expect(await errorOf(workspace.locate(join(root, 'outside/secret.txt')))).toMatchObject({ code: 'tool_denied' })
  })

  it.each([
    '../outside/secret.txt',
    '..',
    'sub/../../outside/secret.txt',
    '../inside-too/c.txt',
    '/etc/passwd',
    '/',
    '/proc/self/environ',
    '../outside/is-not-there.txt',
  ])('refuses %j, which is outside, without revealing what exists there', async (path) => {
    const { workspace } = makeNeighbours()
    const error = await errorOf(workspace.locate(path))
    expect(error).toMatchObject({ code: 'tool_denied' })
    expect(error.message).toBe(`Expected a path inside the workspace, got ${JSON.stringify(path)}, which is outside it`)
  })

  it('reports a link to the outside the same way whether or not its target exists', async () => {
    const { inside, outside, workspace } = makeNeighbours()
    symlinkSync(join(outside, 'secret.txt'), join(inside, 'there'))
    symlinkSync(join(outside, 'none.txt'), join(inside, 'gone'))
    symlinkSync('../../outside', join(inside, 'sub/up'))
    symlinkSync('sub/up', join(inside, 'hop'))
    for (const path of ['there', 'gone', 'sub/up/secret.txt', 'sub/up/none.txt', 'hop/none.txt', 'hop/secret.txt/none']) {
      const error = await errorOf(workspace.locate(path))
      expect(error.message).toBe(`Expected a path inside the workspace, got ${JSON.stringify(path)}, which is outside it`)
    }
    symlinkSync('none.txt', join(inside, 'dangling'))
    symlinkSync(join(inside, 'sub/none.txt'), join(inside, 'dangling-absolute'))
    for (const path of ['dangling', 'dangling-absolute', 'none', 'sub/none'])
      expect((await errorOf(workspace.locate(path))).message).toContain('does not exist in the workspace')
  })

  it('refuses symbolic links to the outside: to files, to folders and through folders', async () => {
    const { inside, outside, workspace } = makeNeighbours()
    symlinkSync(join(outside, 'secret.txt'), join(inside, 'file-link'))
    symlinkSync(outside, join(inside, 'folder-link'))
    symlinkSync('../../outside', join(inside, 'sub/relative-link'))
    symlinkSync('/proc/self', join(inside, 'proc'))
    for (const path of ['file-link', 'folder-link', 'folder-link/secret.txt', 'sub/relative-link/secret.txt', 'proc/environ']) {
      expect(await errorOf(workspace.locate(path)), path).toMatchObject({ code: 'tool_denied' })
    }
  })

  it('follows symbolic links that stay inside', async () => {
    const { inside, workspace } = makeNeighbours()
    symlinkSync('sub/b.txt', join(inside, 'link'))
    expect((await workspace.locate('link')).path).toBe('sub/b.txt')
    expect(await readThrough(workspace, 'link')).toBe('b')
  })

  it('refuses a link that replaces a file after it was found', async () => {
    const { inside, outside, workspace } = makeNeighbours()
    const place = await workspace.locate('a.txt')
    renameSync(join(inside, 'a.txt'), join(inside, 'old.txt'))
    symlinkSync(join(outside, 'secret.txt'), join(inside, 'a.txt'))
    expect((await errorOf(workspace.open(place))).message).toContain('"a.txt"')
  })

  it('refuses a link that replaces a folder above a file after it was found', async () => {
    const { inside, outside, workspace } = makeNeighbours()
    writeFileSync(join(outside, 'b.txt'), 'secret')
    const place = await workspace.locate('sub/b.txt')
    renameSync(join(inside, 'sub'), join(inside, 'old'))
    symlinkSync(outside, join(inside, 'sub'))
    expect(await errorOf(workspace.open(place))).toMatchObject({ code: 'tool_denied' })
  })

  it('refuses pipes and sockets without waiting for them', async () => {
    const { inside, workspace } = makeNeighbours()
    makePipe(join(inside, 'pipe'))
    const server = createServer()
    await new Promise<void>((resolve) => server.listen(join(inside, 'socket'), resolve))
    try {
      expect((await errorOf(workspace.locate('pipe'))).message).toBe('Expected a regular file or a folder, got "pipe", which is a pipe')
      expect((await errorOf(workspace.locate('socket'))).message).toContain('which is a socket')
      // Even if it was a file a moment ago.
      await errorOf(workspace.open({ path: 'pipe', real: join(inside, 'pipe') }))
      await errorOf(workspace.open({ path: 'socket', real: join(inside, 'socket') }))
    } finally {
      server.close()
    }
  })

  it('refuses devices', async () => {
    const workspace = new Workspace('/dev')
    expect(await errorOf(workspace.locate('zero'))).toMatchObject({ code: 'tool_denied' })
  })

  it('refuses NUL characters and backslashes', async () => {
    const { workspace } = makeNeighbours()
    expect((await errorOf(workspace.locate('a.txt\0.png'))).message).toContain('without NUL characters')
    expect((await errorOf(workspace.locate('sub\\b.txt'))).message).toBe('Expected `path` with `/` between folders, got "sub\\\\b.txt"')
    await errorOf(workspace.locate('..\\outside\\secret.txt'))
  })

  it('words path errors itself, without the folders of this machine', async () => {
    const { inside, root, workspace } = makeNeighbours()
    mkdirSync(join(inside, 'deep'))
    symlinkSync('loop', join(inside, 'loop'))
    const messages = await Promise.all(
      ['nothing.txt', 'a.txt/b', 'loop', 'x'.repeat(300)].map(async (path) => (await errorOf(workspace.locate(path))).message),
    )
    expect(messages[0]).toBe('"nothing.txt" does not exist in the workspace; `list_files` shows what does')
    expect(messages[1]).toContain('leads through a file')
    expect(messages[2]).toContain('leads back to itself')
    expect(messages[3]).toContain('is longer than a path can be')
    for (const message of messages) expect(message).not.toContain(root)
    expect((await errorOf(workspace.open(await workspace.locate('deep')))).message).toContain('Expected a file, got the folder "deep"')
  })

  it('throws if the workspace is not a folder', () => {
    const root = makeTree({ 'file.txt': '' })
    expect(() => new Workspace(join(root, 'nothing'))).toThrow('Expected `workspace` to be a folder that exists')
    expect(() => new Workspace(join(root, 'file.txt'))).toThrow('Expected `workspace` to be a folder')
  })
})
