import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it, vi } from 'vitest'
import { runCommand } from '../../src/cli/program.ts'
import { fakeIO } from './fake-io.ts'
import { startCli } from './start-cli.ts'
import { tempFolder } from './temp-folder.ts'

const field = (text: string, name: string) => new RegExp(`${name}: +(\\S+)`).exec(text)?.[1] ?? ''

describe('toolloop serve', () => {
  it('prints its address and token, answers without key and network, and exits with 0 on SIGTERM', async () => {
    const cwd = await tempFolder({ 'toolloop.yaml': 'logging: { level: info }\n' })
    const cli = startCli(['serve', '--port', '0'], { cwd, input: null })
    let out = ''
    cli.child.stdout.on('data', (piece) => {
      out += piece
    })
    let logged = ''
    cli.child.stderr.on('data', (piece) => {
      logged += piece
    })
    await cli.prints('Token:')
    const [, url = ''] = /Listening on (\S+)/.exec(out) ?? []
    const headers = { authorization: `Bearer ${field(out, 'Token')}`, 'content-type': 'application/json' }
    const body = JSON.stringify({ model: 'toolloop', messages: [{ role: 'user', content: 'What is 17 * 23?' }] })
    const response = await fetch(`${url}/v1/chat/completions`, { method: 'POST', headers, body })
    const completion = (await response.json()) as { choices: { message: { content: string } }[] }
    expect(completion.choices[0]?.message.content).toContain('391')
    expect((await fetch(field(out, 'Admin page'))).status).toBe(200)
    // The log level changes with the configuration.
    await writeFile(join(cwd, 'toolloop.yaml'), 'logging: { level: debug }\n')
    const isLogged = async () => (await fetch(`${url}/healthz`)).status === 200 && logged.includes('"route":"/healthz"')
    await vi.waitUntil(isLogged, { timeout: 20_000 })
    cli.child.kill('SIGTERM')
    const { code, stderr } = await cli.finished
    expect(code).toBe(0)
    expect(stderr).toContain('shutting down')
    expect(stderr).toMatch(/"route":"\/healthz","status":200/)
    expect(stderr).not.toContain(field(out, 'Token'))
  })

  it('keeps a run that waits for approval across kill -9', async () => {
    const yaml = 'tools: { builtin: [current_time], approval: [current_time] }\nservice: { keepRuns: { folder: runs } }\n'
    const cwd = await tempFolder({ 'toolloop.yaml': yaml })
    const serve = async () => {
      const cli = startCli(['serve', '--port', '0'], { cwd, input: null, env: { TOOLLOOP_TOKEN: 'test-token-operator' } })
      let out = ''
      cli.child.stdout.on('data', (piece) => {
        out += piece
      })
      await cli.prints('Admin page:')
      const [, url = ''] = /Listening on (\S+)/.exec(out) ?? []
      const headers = { authorization: 'Bearer test-token-operator', 'content-type': 'application/json' }
      const post = async (path: string, body: unknown) =>
        (await (await fetch(url + path, { method: 'POST', headers, body: JSON.stringify(body) })).json()) as {
          id: string
          status: string
          output: string
          pending: object[]
        }
      return { cli, post }
    }
    const first = await serve()
    const { id, status, pending } = await first.post('/v1/runs', { input: 'What time is it in Tokyo?' })
    expect(status).toBe('waiting')
    first.cli.child.kill('SIGKILL')
    await first.cli.finished
    const second = await serve()
    const ended = await second.post(`/v1/runs/${id}/decisions`, { decisions: pending.map((item) => ({ ...item, approved: true })) })
    expect(ended).toMatchObject({ id, status: 'ended', output: expect.stringContaining('Tokyo') })
    second.cli.child.kill('SIGTERM')
    expect((await second.cli.finished).code).toBe(0)
  })

  it('refuses invalid options and files before it serves anything', async () => {
    const bad = fakeIO({ cwd: await tempFolder({ 'toolloop.yaml': 'limits: { maxIterations: none }\n' }) })
    expect([await runCommand(['serve', '--port', '0'], bad), bad.out()]).toEqual([2, ''])
    expect(bad.err()).toContain('/limits/maxIterations must be of type integer')
    const open = fakeIO({ cwd: await tempFolder({ 'toolloop.yaml': 'model: demo\n' }) })
    expect(await runCommand(['serve', '--port', '0', '--host', '0.0.0.0'], open)).toBe(2)
    expect(open.err()).toContain('TOOLLOOP_TOKEN')
    const gone = fakeIO({ cwd: await tempFolder({ 'toolloop.yaml': 'model: demo\n' }) })
    expect([await runCommand(['serve', '--port', '0', '--config', 'nope.yaml'], gone), gone.out()]).toEqual([2, ''])
    expect(gone.err()).toMatch(/^error: Expected `--config` to name a file, found none at .*nope\.yaml\n$/)
    const port = fakeIO({})
    expect(await runCommand(['serve', '--port', '70000'], port)).toBe(2)
    expect(port.err()).toContain('Expected a port from 0 to 65535')
  })
})
