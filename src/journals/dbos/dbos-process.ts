import { AsyncLocalStorage } from 'node:async_hooks'
import type { Pool } from 'pg'
import type { ExecutionOutcome, NamedValue } from '../../agent/journal/store.ts'
import { InvalidOptionError, messageOf, ToolloopError } from '../../core/errors.ts'
import type { Logger } from '../../core/logger.ts'
import type { Dbos } from './load-dbos.ts'

type InContext = ReturnType<typeof AsyncLocalStorage.snapshot>

/** One execution of a run in this process. A DBOS workflow executes its `work`. */
class Execution {
  readonly work: () => Promise<ExecutionOutcome>
  /** Calls a function in the async context of this workflow. Undefined until the workflow has started. */
  inWorkflow?: InContext
  /** The reason why nothing more may be recorded. Undefined while recording is allowed. */
  #left: ToolloopError | undefined
  readonly #waiting = new Set<(problem: ToolloopError) => void>()

  constructor(work: () => Promise<ExecutionOutcome>) {
    this.work = work
  }

  get hasLeft(): boolean {
    return this.#left !== undefined
  }

  leave(problem: ToolloopError): void {
    this.#left = problem
    for (const reject of this.#waiting) reject(problem)
  }

  /** Resolves with the result of `work`, or rejects as soon as the execution is abandoned. */
  orLeft<T>(work: Promise<T>): Promise<T> {
    if (this.#left !== undefined) {
      // Errors of `work` are ignored once the execution is abandoned.
      work.catch(() => {})
      return Promise.reject(this.#left)
    }
    const { promise, resolve, reject } = Promise.withResolvers<T>()
    this.#waiting.add(reject)
    work.then(resolve, reject).finally(() => this.#waiting.delete(reject))
    return promise
  }
}

/** Executions by workflow id. */
const executions = new Map<string, Execution>()
/** Executions that have ended, but whose end DBOS has not recorded yet. */
const ending = new Map<string, Promise<unknown>>()
/** Calls a function outside any workflow, so that DBOS does not record its calls as steps of a workflow. */
const outside = AsyncLocalStorage.snapshot()
/** Launches and shutdowns run one at a time, because DBOS has only one instance in each process. */
let turn: Promise<unknown> = Promise.resolve()
let launched: { url: string; pool: Pool; users: number } | undefined
let workflow: ((runId: string) => Promise<string>) | undefined

/** How long a shutdown waits for DBOS to record interrupted executions, in milliseconds. */
const drainMs = 2_000
/**
 * The DBOS error codes that mean that another executor has the workflow:
 * https://github.com/dbos-inc/dbos-transact-ts/blob/main/src/error.ts
 */
const takenOverCodes = new Set([5, 24, 26])

export interface LaunchOptions {
  url: string
  /**
   * Opens the pool that DBOS uses. A pool opened by DBOS itself would have no error listeners on new connections, so a connection error
   * would end the process.
   */
  openPool(): Pool
  logger: Logger
}

/** The instance of DBOS in this process. */
export class DbosProcess {
  readonly #dbos: Dbos['DBOS']
  readonly #problem: (error: unknown) => ToolloopError

  /**
   * `problem` converts errors of DBOS to errors of this package. The constructor throws `invalid_option` if DBOS was launched before the
   * first journal was created.
   */
  constructor({ DBOS }: Dbos, problem: (error: unknown) => ToolloopError) {
    this.#dbos = DBOS
    this.#problem = problem
    try {
      // `maxRecoveryAttempts` is so high that it never applies, because the journal limits how often a run is resumed.
      workflow ??= DBOS.registerWorkflow(executeHere, { name: 'toolloop', maxRecoveryAttempts: 1_000_000 })
    } catch (error) {
      throw new InvalidOptionError('launch', `\`dbosJournal\` to be called before \`DBOS.launch\` (${messageOf(error)})`, undefined)
    }
  }

  /**
   * Launches DBOS, unless another journal has launched it. Rejects with `invalid_option` if another journal launched DBOS with other
   * options.
   */
  launch({ url, openPool, logger }: LaunchOptions): Promise<void> {
    return inTurn(async () => {
      if (launched === undefined && this.#dbos.isInitialized()) {
        throw new InvalidOptionError('launch', '`false` where the application launches DBOS', true)
      }
      if (launched !== undefined && launched.url !== url) {
        throw new InvalidOptionError('url', 'the same for all journals of a process, which has one DBOS', 'another')
      }
      if (launched === undefined) {
        const pool = openPool()
        this.#dbos.setConfig({
          name: 'toolloop',
          systemDatabaseUrl: url,
          systemDatabasePool: pool,
          // A random id keeps DBOS from resuming workflows itself. With a fixed id, DBOS would resume the workflows of any executor that
          // has the same id and application version, even if that executor is alive.
          executorID: crypto.randomUUID(),
          applicationVersion: 'toolloop',
          useListenNotify: false,
          logger: loggerOf(logger),
        })
        try {
          await outside(() => this.#dbos.launch())
        } catch (error) {
          // Shuts DBOS down, so that it can be launched again. Errors of the shutdown are ignored: the error of the launch is thrown.
          await this.#dbos.shutdown().catch(() => {})
          await pool.end()
          throw error
        }
        launched = { url, pool, users: 0 }
      }
      launched.users++
    })
  }

  /** Shuts DBOS down when the last journal that uses it is closed. */
  leave(): Promise<void> {
    return inTurn(async () => {
      if (launched === undefined || --launched.users > 0) return
      const { pool } = launched
      launched = undefined
      try {
        await this.#dbos.shutdown({ workflowCompletionTimeoutMS: drainMs })
      } finally {
        await pool.end()
      }
    })
  }

  async execute<T extends ExecutionOutcome>(id: string, work: () => Promise<T>): Promise<T> {
    const started = workflow
    if (started === undefined || !this.#dbos.isInitialized()) {
      throw new ToolloopError('journal_failed', 'Expected DBOS to be launched by the application before the first run')
    }
    const { promise, resolve, reject } = Promise.withResolvers<T>()
    const inCaller = AsyncLocalStorage.snapshot()
    const execution: Execution = new Execution(async () => {
      try {
        // `inCaller` leaves the context of the workflow. Without it, DBOS would record calls that a tool makes to DBOS as steps of this
        // workflow.
        const outcome = await execution.orLeft(inCaller(work))
        resolve(outcome)
        return outcome
      } catch (error) {
        reject(error)
        throw error
      }
    })
    executions.set(id, execution)
    // Without this handler, a rejection before the `await` below would be unhandled.
    promise.catch(() => {})
    try {
      const start = this.#dbos.startWorkflow(started, { workflowID: id, workflowIDReusePolicy: 'reject' })
      const handle = await this.#worded(outside(() => start(id)))
      const written = outside(() => handle.getResult()).catch(() => {})
      ending.set(
        id,
        written.finally(() => ending.delete(id)),
      )
      return await promise
    } finally {
      executions.delete(id)
    }
  }

  /** Runs `work` as a step. Rejects with `run_taken_over` if the workflow was cancelled, or if another process executes it. */
  async step(id: string, name: string, work: () => Promise<string>): Promise<string> {
    const execution = executions.get(id)
    const { inWorkflow } = execution ?? {}
    if (execution === undefined || inWorkflow === undefined) throw takenOver(id)
    const inCaller = AsyncLocalStorage.snapshot()
    let thrown: { error: unknown } | undefined
    const step = async (): Promise<string> => {
      try {
        const value = await inCaller(work)
        // DBOS must not record the step of an abandoned execution, so the step never ends.
        return execution.hasLeft ? await new Promise<never>(() => {}) : value
      } catch (error) {
        thrown = { error }
        throw error
      }
    }
    try {
      return await execution.orLeft(inWorkflow(() => this.#dbos.runStep(step, { name })))
    } catch (error) {
      if (thrown !== undefined) throw thrown.error
      throw isTakenOver(error) ? takenOver(id) : this.#problem(error)
    }
  }

  /** Abandons the workflows for which `isLeft` returns true. DBOS records no further steps of these workflows. */
  abandon(isLeft: (id: string) => boolean, problem: ToolloopError): void {
    for (const [id, execution] of executions) if (isLeft(id)) execution.leave(problem)
  }

  /** Returns the recorded steps of a workflow, in order. */
  async steps(id: string): Promise<NamedValue[]> {
    return (await this.stepsFrom(id, 0)).flatMap(({ name, value }) => (value === undefined ? [] : [{ name, value }]))
  }

  /** Returns the recorded steps from number `offset`. A failed step has no value. */
  async stepsFrom(id: string, offset: number): Promise<{ n: number; name: string; value: string | undefined }[]> {
    const steps = (await this.#worded(outside(() => this.#dbos.listWorkflowSteps(id, { offset })))) ?? []
    return steps.map(({ functionID: n, name, output, error }) => {
      return { n, name, value: error === null && typeof output === 'string' ? output : undefined }
    })
  }

  /** Cancels workflows, so that no more of their steps can start. Has no effect on workflows that have ended. */
  async cancel(ids: readonly string[]): Promise<void> {
    if (ids.length > 0) await this.#worded(outside(() => this.#dbos.cancelWorkflows([...ids])))
  }

  async delete(ids: readonly string[]): Promise<void> {
    await Promise.all(ids.map((id) => ending.get(id)))
    if (ids.length > 0) await this.#worded(outside(() => this.#dbos.deleteWorkflows([...ids])))
  }

  async #worded<T>(asked: Promise<T>): Promise<T> {
    try {
      return await asked
    } catch (error) {
      throw this.#problem(error)
    }
  }
}

/**
 * The function of every workflow. Does nothing if DBOS calls it to recover a workflow, because the journal decides which process executes a
 * run.
 */
async function executeHere(id: string): Promise<string> {
  const execution = executions.get(id)
  if (execution === undefined || execution.inWorkflow !== undefined) return 'resumed as another workflow'
  execution.inWorkflow = AsyncLocalStorage.snapshot()
  return (await execution.work()).stopReason
}

function inTurn<T>(work: () => Promise<T>): Promise<T> {
  const done = turn.then(work)
  turn = done.catch(() => {})
  return done
}

function isTakenOver(error: unknown): boolean {
  return error instanceof Error && 'dbosErrorCode' in error && takenOverCodes.has(Number(error.dbosErrorCode))
}

function takenOver(id: string): ToolloopError {
  return new ToolloopError(
    'run_taken_over',
    `DBOS has cancelled the workflow \`${id}\`, or it is executed elsewhere: nothing more is recorded here`,
  )
}

/** Returns a logger for DBOS that drops its progress messages. */
function loggerOf({ debug, warn, error }: Logger): NonNullable<Parameters<Dbos['DBOS']['setConfig']>[0]['logger']> {
  const at = (log: (fields: object, message: string) => void) => (entry: unknown) => log({}, `DBOS: ${messageOf(entry)}`)
  return { debug: at(debug), info: at(debug), warn: at(warn), error: at(error) }
}
