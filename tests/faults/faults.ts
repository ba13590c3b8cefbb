import { setTimeout as pause } from 'node:timers/promises'
import type { Held } from './ledger.ts'
import type { Stage } from './scenario.ts'
import { leaseMs } from './stores.ts'

type Fault = (stage: Stage, held: Held) => Promise<void>

const dayMs = 86_400_000

/** A fault of the process that has just reported to the ledger and waits for the answer. */
const onWorker =
  (fault: (stage: Stage, found: NonNullable<ReturnType<Stage['workerOf']>>, held: Held) => Promise<void>): Fault =>
  async (stage, held) => {
    const found = stage.workerOf(held.entry.pid)
    if (found !== undefined) await fault(stage, found, held)
  }

/** Each fault resolves when there are as many workers as before. It may have effects afterwards. */
export const faults = {
  /** `kill -9` during a call or soon after it. Another process replaces it. */
  kill: onWorker(async (stage, { worker }, held) => {
    if (stage.random.chance(0.5)) {
      held.answer()
      await pause(stage.random.below(30))
    }
    await worker.kill()
    await stage.addWorker()
  }),
  /** The process is paused for longer than its lease, and continues. */
  stop: onWorker(async (_stage, { worker }, held) => {
    worker.isLeaving = true
    worker.signal('SIGSTOP')
    held.answer()
    await pause(leaseMs * 3)
    worker.signal('SIGCONT')
    worker.isLeaving = false
  }),
  /** A rolling deploy: a new process starts; the old one drains and releases its runs. */
  deploy: onWorker(async (stage, { worker }, held) => {
    const ended = stage.deploy(worker)
    held.answer()
    await Promise.all([ended, stage.addWorker()])
  }),
  /** A process whose clock is 40 days off, in either direction, works beside the others for a while. */
  clock: async (stage, held) => {
    const worker = await stage.addWorker({ clockMs: (stage.random.chance(0.5) ? 40 : -40) * dayMs })
    held.answer()
    worker.ask({ do: 'recover' }).catch(() => {})
    await pause(2_000)
    await stage.deploy(worker)
  },
  /** One more process; each resumes what it finds. Then one of them is ended. */
  owners: onWorker(async (stage, { worker }, held) => {
    held.answer()
    await stage.addWorker()
    stage.recoverAll()
    await stage.deploy(worker)
  }),
  /** Resets all connections of a process. */
  cut: onWorker(async (_stage, { proxy }) => proxy?.cut()),
  /** A process loses its database for longer than others wait before they take over its runs, and does not notice. */
  partition: onWorker(async (_stage, { proxy }, held) => {
    proxy?.stall()
    held.answer()
    await pause(6_000)
    proxy?.heal()
  }),
  /** PostgreSQL is restarted as by its service manager. */
  restart: async ({ place }) => place.postgres?.restart(),
  /** PostgreSQL dies with all its processes, and is started again. */
  crash: async ({ place }) => {
    await place.postgres?.kill()
    await place.postgres?.restart()
  },
  /** The disk is full for a while. */
  disk: async (stage, held) => {
    const free = stage.place.fillDisk?.()
    held.answer()
    await pause(1_000)
    free?.()
  },
} satisfies Record<string, Fault>

export type FaultName = keyof typeof faults

export const faultsOf: Readonly<Record<'sqlite' | 'dbos', readonly FaultName[]>> = {
  sqlite: ['kill', 'stop', 'deploy', 'owners', 'clock'],
  dbos: ['kill', 'stop', 'deploy', 'owners', 'clock', 'cut', 'partition', 'restart', 'crash'],
}
