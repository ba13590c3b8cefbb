import { expect, it } from 'vitest'
import { recordingFromText } from '../../src/recording/file/recording-file.ts'
import { describeDifference, replayRun } from '../../src/recording/index.ts'
import { approvals, type KilledService, sharedFolder } from './killed-service.ts'
import { type Answer, allFrames, json } from './start-service.ts'

/** `KILLS=100` for more. */
const kills = Number(process.env.KILLS ?? 20)
const words = ['pay', 'put', 'approve']

it('kills at any moment lose no run, carry none out twice, and leave none running', { timeout: 3_600_000 }, async () => {
  const keepRuns = 'keepRuns: { folder: kept, count: 100000, recordingMegabytes: 1000 }'
  const { start, world } = await sharedFolder(`${keepRuns}, waitingRuns: 100000, requestsPerMinute: 1000000`)
  let seed = Number(process.env.SEED ?? 7)
  const random = () => {
    seed = (seed * 1_103_515_245 + 12_345) % 2 ** 31
    return seed / 2 ** 31
  }
  const accepted = new Set<string>()
  const decided = new Map<string, number>()

  /** Starts runs and decides on them, until the process dies. */
  const work = async ({ post, ask }: KilledService): Promise<void> => {
    for (;;) {
      const input = Array.from({ length: 1 + Math.floor(random() * 3) }, () => words[Math.floor(random() * words.length)]).join(' ')
      const run = await json(post('/v1/runs', { input, background: true }))
      accepted.add(run.id)
      const { data } = await json(ask('/v1/runs?status=waiting&limit=3'))
      await Promise.all(data.map((waiting) => decide(waiting, post)))
    }
  }
  const decide = async (run: Answer, post: KilledService['post']): Promise<void> => {
    const answer = await post(`/v1/runs/${run.id}/decisions`, { decisions: approvals(run) })
    await answer.text()
    if (answer.status === 200) decided.set(run.id, (decided.get(run.id) ?? 0) + 1)
    else expect([409, 503]).toContain(answer.status)
  }
  const startWork = async () => {
    const service = await start()
    // Rejects as soon as the process is dead.
    return { service, working: Promise.allSettled(Array.from({ length: 8 }, () => work(service))) }
  }
  const services = [await startWork()]
  for (let killed = 0; killed < kills; killed++) {
    // From here on there are two: each resumes the other’s abandoned runs.
    if (killed === kills / 2) services.push(await startWork())
    await new Promise((resolve) => setTimeout(resolve, random() * 1_500))
    const [{ service, working }] = services.splice(Math.floor(random() * services.length), 1) as [(typeof services)[0]]
    await service.kill()
    await working
    services.push(await startWork())
  }
  for (const { service, working } of services) {
    await service.kill()
    await working
  }
  const last = await start()
  const settled = async () => {
    const { data } = await json(last.ask('/v1/runs?status=waiting&limit=1000'))
    await Promise.all(data.map((run) => decide(run, last.post)))
    return (await json(last.ask('/v1/runs?status=running&limit=1000'))).data.length + data.length
  }
  await expect.poll(settled, { timeout: 120_000, interval: 500 }).toBe(0)

  const listed = new Map<string, Answer>()
  for (let cursor = ''; ; ) {
    const page = (await json(last.ask(`/v1/runs?limit=500${cursor}`))) as Answer & { next?: string }
    for (const run of page.data) listed.set(run.id, run)
    if (page.next === undefined) break
    cursor = `&cursor=${page.next}`
  }
  expect([...accepted].filter((id) => !listed.has(id))).toEqual([])
  const others = [...listed.values()].filter(({ status, output }) => status !== 'ended' || output !== 'done [redacted]')
  expect(others).toEqual([])
  const starts = world().filter((line) => line.startsWith('start '))
  const unsafe = starts.filter((line) => !line.startsWith('start put'))
  expect(unsafe.filter((line, at) => unsafe.indexOf(line) !== at)).toEqual([])
  // Each event follows the previous one by number. Adjacent pieces of a text arrive as one event, with the number of the last.
  let events = 0
  for (const id of [...listed.keys()].slice(0, 300)) {
    const frames = await allFrames(await last.ask(`/v1/runs/${id}/events`))
    let number = 0
    for (const { id: given, event } of frames.slice(0, -1)) {
      number = event?.endsWith('_DELTA') ? Math.max(number + 1, Number(given)) : number + 1
      expect([id, event, given]).toEqual([id, event, String(number)])
    }
    events += number
  }
  // Whatever was killed, and when: what is recorded of a run plays as it went.
  const differing: string[] = []
  for (const id of [...listed.keys()].slice(-300)) {
    const { difference, result } = await replayRun(recordingFromText(await (await last.ask(`/v1/runs/${id}/recording`)).text()))
    if (difference !== undefined) differing.push(`${id}: ${describeDifference(difference)}`)
    else expect(result.text).toBe('done [redacted]')
  }
  expect(differing).toEqual([])
  console.log({ kills, runs: listed.size, accepted: accepted.size, starts: starts.length, decided: decided.size, events })
})
