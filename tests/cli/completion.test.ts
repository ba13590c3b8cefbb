import { execFileSync } from 'node:child_process'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import { runCommand } from '../../src/cli/program.ts'
import { fakeIO } from './fake-io.ts'

const main = fileURLToPath(new URL('../../src/cli/main.ts', import.meta.url))

async function completion(...args: string[]) {
  const io = fakeIO({ env: { NO_COLOR: '1' } })
  const code = await runCommand(['completion', ...args], io)
  return { code, stdout: io.out(), stderr: io.err() }
}
const words = async (...line: string[]) =>
  (await completion('words', '--', ...line)).stdout
    .split('\n')
    .slice(0, -1)
    .map((one) => one.split('\t')[0])

function has(program: string): boolean {
  try {
    execFileSync('sh', ['-c', `command -v ${program}`])
    return true
  } catch {
    return false
  }
}

describe('toolloop completion', () => {
  it.each([
    [['ru'], ['run', 'runs']],
    [
      ['runs', ''],
      ['list', 'show', 'decide', 'resume', 'export', 'cancel'],
    ],
    [['-m', 'demo', 'runs', 'li'], ['list']],
    [['runs', 'list', '--sta'], ['--status']],
    [
      ['runs', 'list', '--status', ''],
      ['running', 'waiting', 'ended'],
    ],
    [['runs', 'list', '--status', 'w'], ['waiting']],
    [['run', '--record', ''], []],
    [['doctor', '--y'], []],
    [['--unknown', 'do'], ['doctor']],
  ])('completes %j', async (line, expected) => {
    expect(await words(...line)).toEqual(expected)
  })

  it('refuses an unknown shell', async () => {
    expect(await completion('tcsh')).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('Expected one of bash, zsh, fish, got `tcsh`'),
    })
  })

  it.skipIf(!has('bash'))(`completes in bash${has('bash') ? '' : ' — SKIPPED: no bash'}`, async () => {
    const { stdout } = await completion('bash')
    const script = `toolloop() { "${process.execPath}" --no-warnings "${main}" "$@"; }
${stdout}
COMP_WORDS=(toolloop runs list --sta); COMP_CWORD=3; _toolloop; printf '%s\\n' "\${COMPREPLY[@]}"
COMP_WORDS=(toolloop run --record a); COMP_CWORD=3; _toolloop; printf '%s\\n' "\${#COMPREPLY[@]}"`
    expect(execFileSync('bash', ['-c', script], { encoding: 'utf8' })).toBe('--status\n0\n')
  })

  it.each(['zsh', 'fish'])('prints a script that %s accepts, if it is installed', async (shell) => {
    const { code, stdout } = await completion(shell)
    expect({ code, stdout }).toMatchObject({ code: 0, stdout: expect.stringContaining('toolloop completion words --') })
    if (has(shell)) execFileSync(shell, ['-n', '-c', stdout], { cwd: join(main, '..') })
    else console.warn(`SKIPPED: no ${shell} to read the script`)
  })
})
