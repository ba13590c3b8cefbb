import type { Loop } from '../agent/types/execution.ts'
import type { RunnerOptions } from '../agent/types/options.ts'
import { messageOf } from '../core/errors.ts'
import { defaultLogger, redacting } from '../core/logger.ts'

/** The loop that drives the runs: toolloop's own, or LangChain's agent. */
export type Backend = 'native' | 'langchain'

/** The names of all backends. */
export const backends: readonly Backend[] = ['native', 'langchain']

/** For each backend, a function that loads its loop. It rejects if the backend is unavailable. */
export type LoopOpeners = Readonly<Record<Backend, () => Promise<Loop>>>

/** Loads the loop of `backend`. If this loop is unavailable, loads the other loop. */
export async function openLoop(
  backend: Backend,
  { logger, journal }: Pick<RunnerOptions<never>, 'logger' | 'journal'>,
  open: LoopOpeners,
): Promise<Loop> {
  const other = backend === 'native' ? 'langchain' : 'native'
  try {
    return await open[backend]()
  } catch (error) {
    // LangChain's loop can't record runs, so it can't replace the built-in loop if there is a journal.
    if (other === 'langchain' && journal !== undefined) throw error
    const loop = await open[other]().catch(() => {
      throw error
    })
    const log = logger === undefined ? defaultLogger : redacting(logger)
    const needs = backend === 'langchain' ? '; it needs langchain, @langchain/core and @langchain/langgraph' : ''
    log.warn({ backend, error: messageOf(error) }, `the backend \`${backend}\` could not be loaded, \`${other}\` is used instead${needs}`)
    return loop
  }
}
