import type { Loop } from '../agent/types/execution.ts'
import type { RunnerOptions } from '../agent/types/options.ts'
import { messageOf } from '../core/errors.ts'
import { defaultLogger, redacting } from '../core/logger.ts'

/** Which loop drives the runs: ours, or LangChain's agent. */
export type Backend = 'native' | 'langchain'

/** The names of the backends. */
export const backends: readonly Backend[] = ['native', 'langchain']

/** How each backend's loop is had; rejects where it can't be. */
export type LoopOpeners = Readonly<Record<Backend, () => Promise<Loop>>>

/** The loop of `backend`, or where that can't be had, of the other. */
export async function openLoop(
  backend: Backend,
  { logger, journal }: Pick<RunnerOptions<never>, 'logger' | 'journal'>,
  open: LoopOpeners,
): Promise<Loop> {
  const other = backend === 'native' ? 'langchain' : 'native'
  try {
    return await open[backend]()
  } catch (error) {
    // It would be run without being recorded.
    if (other === 'langchain' && journal !== undefined) throw error
    const loop = await open[other]().catch(() => {
      throw error
    })
    const log = logger === undefined ? defaultLogger : redacting(logger)
    const needs = backend === 'langchain' ? '; it needs langchain, @langchain/core and @langchain/langgraph' : ''
    log.warn({ backend, error: messageOf(error) }, `the backend \`${backend}\` could not be initialised, \`${other}\` takes over${needs}`)
    return loop
  }
}
