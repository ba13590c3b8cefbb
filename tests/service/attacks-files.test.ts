import { randomUUID } from 'node:crypto'
import { chmod, mkdir, readdir, stat, utimes, writeFile } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { createService } from '../../src/service/index.ts'
import { builtinTools } from '../../src/tools/builtin/index.ts'
import { configFile, json, reloads, startService } from './start-service.ts'

const times = { debounceMs: 5, pollMs: 3_600_000 }

const shipped = `
tools: { builtin: [list_files, read_file, search_files], workspace: . }
service: { keepRuns: { folder: kept/runs } }
`

const tokens = `service: { auth: { tokens: [{ name: ann, roles: [run], hash: 'sha256:${'0'.repeat(64)}' }] } }\n`

describe('the service’s own files', () => {
  it('are read by no tool, even if they are in its workspace', async () => {
    const { folder, file } = await configFile(shipped)
    const { post } = await startService({ configFile: file, cwd: folder, model: 'demo' })
    const first = await json(post('/v1/runs', { input: 'my word is xyzzy-plugh' }))
    const [stored] = (await readdir(join(folder, 'kept/runs'))).filter((name) => name === 'runs.sqlite')
    for (const call of [
      `read_file with {"path":"kept/runs/${stored}"}`,
      'read_file with {"path":"toolloop.yaml"}',
      'search_files with {"query":"xyzzy","path":"kept"}',
      'search_files with {"query":"keepRuns"}',
      'list_files with {"path":"kept/runs"}',
    ]) {
      const run = await json(post('/v1/runs', { input: `call ${call}` }))
      expect(JSON.stringify(run.result.toolCalls)).not.toMatch(/plugh|workspace: \./)
    }
    expect(first.status).toBe('ended')
  })

  it.each([
    ['scripts of Skills', 'skills: { paths: [], sandbox: { workspace: FOLDER } }\n', '/skills/sandbox/workspace'],
    ['scripts of Skills, too', 'skills: { paths: [], sandbox: { readable: [FOLDER] } }\n', '/skills/sandbox/readable'],
    ['scripts of Skills, below it', 'skills: { paths: [], sandbox: { readable: [FOLDER/runs/deep] } }\n', '/skills/sandbox/readable'],
    ['Skills', 'skills: { paths: [FOLDER] }\n', '/skills/paths'],
    ['Skills, below it', 'skills: { paths: [FOLDER/runs/deep] }\n', '/skills/paths'],
  ])('are in no folder that %s see', async (_, yaml, path) => {
    const { folder, file, write } = await configFile('')
    const skillFolder = yaml.includes('[FOLDER]') ? folder : join(folder, 'runs/deep')
    await mkdir(skillFolder, { recursive: true })
    await writeFile(join(skillFolder, 'SKILL.md'), `---\nname: ${basename(skillFolder).toLowerCase()}\ndescription: d\n---\nx`)
    await write(`${yaml.replace('FOLDER', folder)}service: { keepRuns: { folder: runs } }\n`)
    const service = createService({ configFile: file, cwd: folder, env: {} })
    await expect(service.ready).rejects.toThrow(`${path} must not contain the service's own files`)
  })

  it('are in no workspace of a program’s own file tools that don’t refuse them', async () => {
    const { folder, file } = await configFile('service: { keepRuns: { folder: kept } }\n')
    const start = (tools: ReturnType<typeof builtinTools>) => createService({ configFile: file, cwd: folder, env: {}, tools })
    await expect(start(builtinTools({ workspace: folder })).ready).rejects.toThrow('list_files, which can read')
    const copies = builtinTools({ workspace: folder }).map((tool) => ({ ...tool, approval: true as const }))
    await expect(start(copies).ready).rejects.toThrow('list_files, which can read')
    const service = start(builtinTools({ workspace: folder, refused: [file, join(folder, 'kept')] }))
    await service.ready
    await service.drain(0)
  })

  it('a wrong folder for runs is read again once it is corrected, and the one in use never', async () => {
    const { folder, file, write } = await configFile(shipped)
    await writeFile(join(folder, 'notes.txt'), 'xyzzy')
    const reloaded = reloads()
    const { post } = await startService({ configFile: file, cwd: folder, model: 'demo', times, onReload: reloaded.onReload })
    const read = async (path: string) => {
      const run = await json(post('/v1/runs', { input: `call read_file with {"path":"${path}"}` }))
      return run.result.toolCalls[0]?.outcome
    }
    expect(await read('notes.txt')).toBe('ok')
    await write(shipped.replace('kept/runs', '.'))
    await reloaded.next()
    const [stored] = (await readdir(join(folder, 'kept/runs'))).filter((name) => name === 'runs.sqlite')
    expect([await read('notes.txt'), await read(`kept/runs/${stored}`)]).toEqual(['failed', 'failed'])
    await write(`${shipped}\ninstructions: be kind\n`)
    expect((await reloaded.next()).lastError).toBeNull()
    expect([await read('notes.txt'), await read(`kept/runs/${stored}`)]).toEqual(['ok', 'failed'])
  })

  it('are not read as the remains of an interrupted change, nor as copies; remains are removed at the next start', async () => {
    const { folder, file } = await configFile(shipped)
    const [old, young] = [`.toolloop-${randomUUID()}.tmp`, `.toolloop-${randomUUID()}.tmp`]
    for (const name of [old, young, 'toolloop.yaml~', 'toolloop.yaml.bak']) await writeFile(join(folder, name), 'xyzzy-plugh')
    await utimes(join(folder, old), 1, 1)
    const { post } = await startService({ configFile: file, cwd: folder, model: 'demo' })
    for (const call of [
      `read_file with {"path":"${young}"}`,
      'read_file with {"path":"toolloop.yaml~"}',
      'search_files with {"query":"xyzzy"}',
    ]) {
      const run = await json(post('/v1/runs', { input: `call ${call}` }))
      expect(JSON.stringify(run.result.toolCalls)).toContain('"outcome"')
      expect(JSON.stringify(run.result.toolCalls)).not.toContain('plugh')
    }
    // A young one may be another process's, which is still writing it.
    expect((await readdir(folder)).filter((name) => name.endsWith('.tmp'))).toEqual([young])
  })

  it('are readable only by their owner, and so are their folders', async () => {
    const { folder, file } = await configFile('service: { keepRuns: { folder: kept/runs } }\n')
    await mkdir(join(folder, 'kept/runs'), { recursive: true })
    for (const path of [file, join(folder, 'kept/runs')]) await chmod(path, 0o755)
    const { post, ask } = await startService({ configFile: file, cwd: folder, model: 'demo' })
    await post('/v1/runs', { input: 'hello' })
    await post('/v1/responses', { model: 'toolloop', input: 'hello' })
    const put = { method: 'PUT', body: '{"config":{}}', headers: { 'content-type': 'application/json', 'if-match': '*' } }
    const saved = await ask('/admin/api/config', put)
    expect([saved.status, (await json(saved)).error.problems[0]?.path]).toEqual([422, '/service/keepRuns/folder'])
    const config = JSON.stringify({ config: { service: { keepRuns: { folder: 'kept/runs' } }, instructions: 'x' } })
    expect((await ask('/admin/api/config', { ...put, body: config })).status).toBe(200)
    const modeOf = async (path: string) => (await stat(path)).mode & 0o777
    expect(await modeOf(join(folder, 'kept/runs'))).toBe(0o700)
    const files = await readdir(join(folder, 'kept/runs'), { recursive: true })
    expect(files).toEqual(expect.arrayContaining(['runs.sqlite', 'responses.sqlite']))
    for (const path of [file, ...files.map((name) => join(folder, 'kept/runs', name))]) {
      const isFolder = (await stat(path)).isDirectory()
      expect([path, await modeOf(path)]).toEqual([path, isFolder ? 0o700 : 0o600])
    }
  })

  it.each([
    ['nothing for one that others can read, as a checkout has it', 0o644, '', ''],
    ['that others can change it', 0o664, '', 'other users can change the configuration file'],
    ['that others can read hashes of tokens', 0o640, tokens, 'other users can read the configuration file, and the hashes'],
    ['nothing for one of the owner’s own', 0o600, tokens, ''],
  ])('the log about a configuration at the start: %s', async (_, mode, text, warning) => {
    const { folder, file } = await configFile(`model: demo\n${text}`)
    await chmod(file, mode)
    const { log } = await startService({ configFile: file, cwd: folder })
    expect(log()).toContain(warning)
    if (warning === '') expect(log()).not.toContain('other users')
  })
})
