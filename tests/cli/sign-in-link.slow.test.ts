import { expect, it } from 'vitest'
import { startCli } from './start-cli.ts'
import { tempFolder } from './temp-folder.ts'

it('a sign-in link is only printed on request if the output is collected, and works', async () => {
  const cwd = await tempFolder({})
  const start = async (...flags: string[]) => {
    const cli = startCli(['serve', '--port', '0', ...flags], { cwd, input: null })
    let out = ''
    cli.child.stdout.on('data', (piece) => {
      out += piece
    })
    await cli.prints('Token:')
    cli.child.kill('SIGTERM')
    return { out, ended: await cli.finished }
  }
  expect((await start()).out).not.toContain('sign-in')
  const { out, ended } = await start('--sign-in-link')
  expect(out).toMatch(/Sign in: {5}http:\/\/127\.0\.0\.1:\d+\/admin\/#\/sign-in\/[\w-]{43}\n/)
  expect(ended.stderr).not.toContain('#/sign-in/')
})
