import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { promisify } from 'node:util'
import { root } from './packed-project.ts'

/** How a project starts what it has installed. */
export interface Commands {
  folder: string
  /** Starts Node.js, or Bun, with a program. */
  node: readonly string[]
  /** Starts the command line. */
  toolloop: readonly string[]
  env: NodeJS.ProcessEnv
}

/** The first example of the README. */
function exampleOf(readme: string): string {
  const [, code] = /^## Embed it\n[\s\S]*?```ts\n([\s\S]*?)```/m.exec(readme) ?? []
  if (code === undefined) throw new Error('Expected README.md to have an example under "Embed it"')
  return code
}

/**
 * Uses the package of a project as its users do: the first example of the README, threads, a journal, the sandbox and the page, and the
 * command line. Throws if something prints anything but what it should. Needs no key and no network.
 */
export async function exercise({ folder, node, toolloop, env }: Commands): Promise<void> {
  const { version }: { version: string } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
  const run = async ([command = '', ...args]: readonly string[], ...more: string[]): Promise<string> => {
    const { stdout } = await promisify(execFile)(command, [...args, ...more], { cwd: folder, env, timeout: 180_000 })
    return stdout
  }
  const expectIn = (what: string, printed: string, expected: RegExp): void => {
    if (!expected.test(printed)) throw new Error(`Expected ${what} to print ${expected}, got:\n${printed}`)
  }

  writeFileSync(join(folder, 'example.ts'), exampleOf(readFileSync(join(root, 'README.md'), 'utf8')))
  expectIn('the example of the README', await run(node, 'example.ts'), /^weather: \{"city":"Oslo",.+\}\nanswered .*Oslo/)
  writeFileSync(join(folder, 'threads.ts'), readFileSync(join(root, 'tests/platforms/project/threads.ts')))
  const threads = await run(node, 'threads.ts')
  expectIn(
    'threads.ts',
    threads,
    /^\{"output":"Found\.","search":\{.*"count":1\b.*"sandbox":42,"page":"<!doctype html>.*"models":200\}\n$/is,
  )

  expectIn('toolloop --version', await run(toolloop, '--version'), new RegExp(`^${version.replaceAll('.', '\\.')}\\n$`))
  expectIn('toolloop run', await run(toolloop, '--model', 'demo', 'How much is 6 * 7?'), /6 × 7 = 42/)
  await serve([...toolloop, 'serve', '--port', '0'], { folder, env })
}

/** Starts the service, asks whether it is well, and ends it. */
async function serve([command = '', ...args]: readonly string[], { folder, env }: Pick<Commands, 'folder' | 'env'>): Promise<void> {
  // A group of its own: package managers may start it as a child.
  const child = spawn(command, args, { cwd: folder, env, detached: true, stdio: ['ignore', 'pipe', 'inherit'] })
  const ended = once(child, 'close')
  try {
    for await (const line of createInterface(child.stdout)) {
      const address = /^Listening on (\S+)/.exec(line)?.[1]
      if (address === undefined) continue
      const { status } = await fetch(`${address}/healthz`)
      if (status !== 200) throw new Error(`Expected /healthz of the service to be 200, got ${status}`)
      return
    }
    throw new Error('Expected the service to say where it listens')
  } finally {
    if (child.pid !== undefined && child.exitCode === null) process.kill(-child.pid, 'SIGTERM')
    await ended
  }
}

/** Checks that a project compiles with a version of TypeScript, including the types of every entry. */
export async function typecheck(folder: string, typescript: string, entries: readonly string[]): Promise<void> {
  const types = entries.map(
    (entry, at) => `import type * as entry${at} from '${entry}'\nexport type Names${at} = keyof typeof entry${at}\n`,
  )
  writeFileSync(join(folder, 'entries.ts'), types.join(''))
  const compiler = join(folder, 'node_modules', typescript, 'bin/tsc')
  const options = ['--noEmit', '--strict', '--target', 'es2022', '--module', 'nodenext', '--skipLibCheck', '--types', 'node']
  await promisify(execFile)(process.execPath, [compiler, ...options, 'entries.ts', 'example.ts'], { cwd: folder }).catch(({ stdout }) => {
    throw new Error(`Expected the types to fit ${typescript}, got:\n${stdout}`)
  })
}
