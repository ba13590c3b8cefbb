import { expect, it } from 'vitest'
import { runCommand } from '../../src/cli/program.ts'
import { fakeIO } from '../cli/fake-io.ts'
import { runCli } from '../cli/start-cli.ts'
import { tempFolder } from '../cli/temp-folder.ts'
import { expectPinned } from './expect-pinned.ts'

/** What the sections of a help text list: the first column, without the descriptions. */
function listedIn(help: string, section: string): string[] {
  const [, text = ''] = new RegExp(`^${section}:?\\n((?: .*\\n)*)`, 'm').exec(help) ?? []
  return [...text.matchAll(/^ {2}(\S.*?)(?: {2,}|$)/gm)].map(([, term = '']) => term)
}

async function helpOf(command: string): Promise<string> {
  const io = fakeIO()
  expect(await runCommand([...command.split(' ').slice(1), '--help'], io)).toBe(0)
  return io.out()
}

async function linesOf(command: string, help: string): Promise<string[]> {
  const commands = listedIn(help, 'Commands').filter((name) => !name.startsWith('help'))
  const inner = commands.map((term) => `${command} ${term.split(' ')[0]}`)
  return [
    ...listedIn(help, 'Options').map((term) => `${command} ${term}`),
    ...commands.map((term) => `${command} ${term}`),
    ...(await Promise.all(inner.map(async (one) => linesOf(one, await helpOf(one))))).flat(),
  ]
}

it('the commands, flags, environment variables and exit codes of the command line', async () => {
  const { code, stdout } = await runCli(['help'], { cwd: await tempFolder() })
  expect(code).toBe(0)
  const [, codes = ''] = stdout.split('Exit codes\n')
  const exits = [...codes.matchAll(/^ +(\d+) +(.+)$/gm)].map(([, exit, meaning]) => `exit code ${exit}: ${meaning}`)
  const variables = listedIn(stdout, 'Environment').map((term) => `environment ${term}`)
  expectPinned('command-line.txt', [...(await linesOf('toolloop', stdout)), ...variables, ...exits])
})
