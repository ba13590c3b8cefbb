import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'

const program = fileURLToPath(new URL('stuck-process.ts', import.meta.url))

/** Starts these runs in a process of their own. Resolves when each is in a call that never ends. */
export async function stuckProcess(file: string, ...runIds: string[]): Promise<ChildProcess> {
  const child = spawn(process.execPath, [program, file, ...runIds], { stdio: ['ignore', 'pipe', 'inherit'] })
  const missing = new Set(runIds)
  for await (const line of createInterface({ input: child.stdout })) {
    missing.delete(line)
    if (missing.size === 0) return child
  }
  throw new Error(`Expected the process to start \`${[...missing].join('`, `')}\`, it ended`)
}

/** As a crash, or somebody who runs out of patience, ends it. */
export async function killHard(child: ChildProcess): Promise<void> {
  const exit = once(child, 'exit')
  child.kill('SIGKILL')
  await exit
}
