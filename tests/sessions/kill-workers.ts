import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { textOf } from '../../src/core/messages.ts'
import { openSessions } from './open-sessions.ts'

const program = fileURLToPath(new URL('session-process.ts', import.meta.url))

export interface Chaos {
  where: string
  sessions: number
  runs: number
  workers: number
  kills: number
  /** Maximum time a worker lives after it has started, in milliseconds. */
  longestMs: number
}

/** Kills workers with SIGKILL until the given number are dead, lets one finish, and reports what is wrong with the sessions. */
export async function killWorkers({
  where,
  sessions,
  runs,
  workers,
  kills,
  longestMs,
}: Chaos): Promise<{ killed: number; wrong: string[] }> {
  let killed = 0
  const start = () => spawn(process.execPath, [program, where, String(sessions), String(runs)], { stdio: ['ignore', 'pipe', 'inherit'] })
  const live = async (): Promise<void> => {
    while (killed < kills) {
      const child = start()
      const exit = once(child, 'exit')
      await Promise.race([once(child.stdout, 'data'), exit])
      await Promise.race([exit, new Promise((resolve) => setTimeout(resolve, Math.random() * longestMs))])
      // Everything is done.
      if (child.exitCode !== null) return
      child.kill('SIGKILL')
      await exit
      killed++
    }
  }
  await Promise.all(Array.from({ length: workers }, live))
  const last = start()
  last.stdout.resume()
  const [code] = await once(last, 'exit')
  if (code !== 0) throw new Error(`Expected the last worker to finish, got exit code ${code}`)
  return { killed, wrong: await wrongSessions(where, sessions, runs) }
}

async function wrongSessions(where: string, sessions: number, runs: number): Promise<string[]> {
  const { sessions: kept, end } = await openSessions(where)
  const whole = Array.from({ length: runs }, (_, at) => [`user run ${at}`, 'assistant ', 'tool seen', 'assistant done']).flat()
  const wrong: string[] = []
  for (let at = 0; at < sessions; at++) {
    const messages = await kept.read(`session-${at}`)
    const texts = messages.map(({ role, content }) => `${role} ${textOf(content)}`)
    const { status } = (await kept.get(`session-${at}`)) ?? {}
    if (JSON.stringify(texts) !== JSON.stringify(whole) || status !== 'idle') wrong.push(`session-${at} ${status}: ${texts.join(', ')}`)
  }
  await end()
  return wrong
}
