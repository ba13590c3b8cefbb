import { AgentRunner } from '../../../src/agent/agent-runner.ts'
import type { Engine, Journal } from '../../../src/agent/journal/journal.ts'
import { Sessions } from '../../../src/agent/sessions/sessions.ts'
import { memorySessions } from '../../../src/sessions/memory.ts'
import { postgresSessions } from '../../../src/sessions/postgres/index.ts'
import { memoryJournal } from '../../../src/testing/index.ts'
import { scriptedModel } from '../../../src/testing/scripted-model.ts'
import type { Bad } from '../misbehave.ts'
import { endsWell, look, type Probe, quiet, settled, turns, within } from './probe.ts'
import { withMember } from './tools.ts'

const options = () => ({ model: scriptedModel(turns()), tools: [look], logger: quiet, toolTimeoutMs: 40 })

/** Uses a session in runs and otherwise. A store that never answers is awaited by its callers. */
async function session(name: string, bad: Bad): Promise<void> {
  const { store } = memorySessions()
  const sessions = new Sessions(withMember(store, name, bad))
  const work = async () => {
    const paying = { ...look, name: 'look', approval: true }
    await settled(new AgentRunner({ ...options(), sessions }).run('go', { session: 's', signal: AbortSignal.timeout(30) }))
    const waits = new AgentRunner({ ...options(), tools: [paying], sessions })
    await settled(waits.run('go', { session: 't' }))
    const unset = new AgentRunner({ ...options(), instructions: () => Promise.reject(new Error('no')), sessions })
    await settled(unset.run('go', { session: 'x' }))
    for (const ask of [
      () => sessions.get('s'),
      () => sessions.read('s'),
      () => sessions.list(),
      () => sessions.append('u', [{ role: 'user', content: 'x' }]),
      () => sessions.release('t'),
      () => sessions.fork('s', { to: 'v' } as never),
      () => sessions.prune({ olderThanMs: 1 } as never),
      () => sessions.delete('s'),
      () => sessions.close(),
    ])
      await settled((async () => ask())())
  }
  await within(60, work())
}

/** A journal's engine with one method replaced, and everything that a runner does with it. */
async function engine(name: keyof Engine, bad: Bad): Promise<void> {
  const inner = memoryJournal()
  const journal: Journal = { connect: (body) => withMember(inner.connect(body), name, bad), close: () => inner.close() }
  await within(60, recordedRuns(journal))
  await inner.close()
}

async function recordedRuns(journal: Journal): Promise<void> {
  const runner = new AgentRunner({ ...options(), journal })
  const waits = new AgentRunner({ ...options(), tools: [{ ...look, approval: true }], journal })
  await settled(runner.run('go', { runId: 'r', signal: AbortSignal.timeout(20) }))
  await settled(waits.run('go', { runId: 'w' }))
  for (const ask of [
    () => runner.runs.get('r'),
    () => runner.runs.list(),
    () => runner.runs.stream('r').result,
    () => runner.resume('r'),
    async () => {
      const { pending } = await waits.resume('w')
      await waits.resume('w', { decisions: pending.map((item) => ({ ...item, approved: true as const })) })
    },
    () => runner.recover(),
    () => runner.runs.cancel('w'),
    () => runner.runs.prune({ keep: 0 }),
    () => runner.close({ drainMs: 0 }),
  ])
    await settled((async () => ask())())
}

async function claimed(bad: Bad): Promise<void> {
  const waits = () => new AgentRunner({ ...options(), tools: [{ ...look, approval: true }] })
  const { state, pending } = await waits().run('go')
  const decisions = pending.map((item) => ({ ...item, approved: true as const }))
  await within(60, endsWell(waits().resume(state, { decisions, claim: bad })))
}

async function restored(bad: Bad): Promise<void> {
  const tools = [{ ...look, approval: true }]
  const { state, pending } = await new AgentRunner<{ user: string }>({
    ...options(),
    tools,
    restore: () => ({ context: { user: 'a' } }),
  }).run('go', {
    context: { user: 'a' },
  })
  const decisions = pending.map((item) => ({ ...item, approved: true as const }))
  await endsWell(new AgentRunner({ ...options(), tools, restore: bad }).resume(state, { decisions }))
}

/** A pool without rows, with a bad member. */
function pool(members: object, ofClient: object = {}): never {
  const client = { query: async () => ({ rows: [] }), release() {}, on: () => client, off: () => client, ...ofClient }
  return {
    query: async () => ({ rows: [] }),
    connect: (callback: (error: undefined, given: object) => void) => callback(undefined, client),
    ...members,
  } as never
}

async function postgres(members: object, ofClient: object = {}): Promise<void> {
  const sessions = postgresSessions({ pool: pool(members, ofClient) })
  const runner = new AgentRunner({ ...options(), sessions })
  const work = async () => {
    await settled(sessions.migrate())
    await settled(sessions.list())
    await settled(runner.run('go', { session: 's', signal: AbortSignal.timeout(20) }))
    await settled(sessions.close())
  }
  await within(60, work())
}

const storeMethods = [
  'append',
  'claim',
  'close',
  'commit',
  'delete',
  'get',
  'list',
  'pause',
  'prune',
  'read',
  'release',
  'unclaim',
] as const
const engineMethods = ['news', 'cancel', 'close', 'deliver', 'get', 'list', 'pending', 'prune', 'result', 'start'] as const

/** Callbacks of stores and journals. */
export const storeProbes: Record<string, Probe> = {
  ...Object.fromEntries(storeMethods.map((name) => [`SessionStore.${name}`, (bad: Bad) => session(name, bad)])),
  ...Object.fromEntries(engineMethods.map((name) => [`Engine.${name}`, (bad: Bad) => engine(name, bad)])),
  'Journal.connect': (bad) => within(60, (async () => recordedRuns({ connect: bad }))()),
  'Journal.close': (bad) => {
    const inner = memoryJournal()
    const withoutClose = {
      connect: (body: Parameters<Journal['connect']>[0]) => withMember(inner.connect(body), 'close', undefined),
      close: bad,
    }
    return within(60, recordedRuns(withoutClose))
  },
  'ResumeOptions.claim': claimed,
  'RunnerOptions.restore': restored,
  'PostgresPool.query': (bad) => postgres({ query: bad }),
  'PostgresPool.connect': (bad) => postgres({ connect: bad }),
  'PostgresPool.on': (bad) => postgres({ on: bad }),
  'PostgresClient.query': (bad) => postgres({}, { query: bad }),
  'PostgresClient.release': (bad) => postgres({}, { release: bad }),
  'PostgresClient.on': (bad) => postgres({}, { on: bad }),
  'PostgresClient.off': (bad) => postgres({}, { off: bad }),
}
