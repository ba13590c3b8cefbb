import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'

const child = fileURLToPath(new URL('child.ts', import.meta.url))

/** The problems at each of these places, tried in their own process. If the process dies, the place is reported. */
export async function tryPlaces(howMany: 'all' | 'few', names: readonly string[]): Promise<Map<string, string[]>> {
  const tried = spawn(process.execPath, [child, howMany, ...names], { stdio: ['ignore', 'pipe', 'pipe'] })
  let [printed, complained] = ['', '']
  tried.stdout.setEncoding('utf8').on('data', (text: string) => {
    printed += text
  })
  tried.stderr.setEncoding('utf8').on('data', (text: string) => {
    complained += text
  })
  const [code, signal] = await once(tried, 'close')
  const found = new Map<string, string[]>()
  let at = 'nowhere'
  for (const line of printed.split('\n')) {
    if (!line.startsWith('{"')) continue
    const { trying, place, problems } = JSON.parse(line) as { trying?: string; place?: string; problems?: string[] }
    at = trying ?? at
    if (place !== undefined) found.set(place, problems ?? [])
  }
  if (code !== 0) found.set(at, [...(found.get(at) ?? []), `the process ended with ${code ?? signal}: ${complained.slice(-2_000)}`])
  return found
}
