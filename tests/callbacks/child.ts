import { inspect } from 'node:util'
import { fewMisbehaviours, type Misbehaviour, misbehaviours } from './misbehave.ts'
import { places } from './places.ts'

/**
 * Tries the named callbacks, after `all` or `few`: each place with each misbehaviour. Prints one line before each place, so that a death
 * names it, and one with its problems afterwards.
 */
const settleWithinMs = 60_000
const failures: unknown[] = []
/** The places whose callback was called. */
const reached = new Set<string>()
process.on('unhandledRejection', (reason) => failures.push(['unhandled rejection', reason]))
process.on('uncaughtException', (error) => failures.push(['uncaught exception', error]))

const say = (line: object) => process.stdout.write(`${JSON.stringify(line)}\n`)

async function tryOne(place: string, { name, call }: Misbehaviour): Promise<string[]> {
  const probe = places[place]
  if (typeof probe !== 'function') throw new Error(`Expected a probe for ${place}`)
  const before = failures.length
  const counted = (...given: never[]): never => {
    reached.add(place)
    return Reflect.apply(call, undefined, given) as never
  }
  let timer: NodeJS.Timeout | undefined
  const tooLong = new Promise<string>((resolve) => {
    timer = setTimeout(resolve, settleWithinMs, 'did not settle')
  })
  const outcome = await Promise.race([
    probe(counted).then(
      () => undefined,
      (error: unknown) => `failed: ${shown(error)}`,
    ),
    tooLong,
  ])
  clearTimeout(timer)
  // Unhandled rejections are reported after the microtasks, and a thenable may reject later.
  for (let turns = 0; turns < 3; turns++) await new Promise(setImmediate)
  const found = failures.slice(before).map((failure) => shown(failure))
  return [...(outcome === undefined ? [] : [outcome]), ...found].map((problem) => `${name}: ${problem}`)
}

function shown(value: unknown): string {
  try {
    return inspect(value, { depth: 2 }).slice(0, 600)
  } catch {
    return 'something that can’t be shown'
  }
}

const [howMany, ...names] = process.argv.slice(2)
for (const place of names) {
  say({ trying: place })
  const problems: string[] = []
  for (const misbehaviour of howMany === 'all' ? misbehaviours() : fewMisbehaviours()) problems.push(...(await tryOne(place, misbehaviour)))
  if (!reached.has(place)) problems.push('was never called')
  say({ place, problems })
}
process.exit(0)
