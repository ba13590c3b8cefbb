import type { Loop } from '../agent/execution.ts'
import { runnerOptionNames } from '../agent/option-names.ts'
import type { RunnerOptions } from '../agent/run.ts'
import { AgentRunner, runLoop } from '../agent/runner.ts'
import { InvalidOptionError, messageOf } from '../errors.ts'
import { defaultLogger, redacting } from '../log.ts'
import { checkOptionNames, type OptionNames } from '../option-names.ts'

/** Which loop drives the runs: ours, or LangChain's agent. */
export type Backend = 'native' | 'langchain'

/** The names of the backends. */
export const backends: readonly Backend[] = ['native', 'langchain']

/** The options of a runner, and which loop drives it. */
export interface BackendOptions<Context = unknown> extends RunnerOptions<Context> {
  /** Default `'native'`. */
  backend?: Backend
}

const backendOptionNames: OptionNames<BackendOptions> = { ...runnerOptionNames, backend: true }

/**
 * A runner on the loop that `backend` names. Tools, messages, events, bounds and results are the same on both: changing the flag is all it
 * takes to change over, or back, and a run that was paused on one is resumed on the other.
 *
 * | | `native` | `langchain` |
 * | --- | --- | --- |
 * | what decides when the model is asked and which calls run | ours, in `agent/runner.ts` | LangChain's `createAgent`, a LangGraph graph |
 * | packages | none | `langchain`, `@langchain/core`, `@langchain/langgraph`, loaded when the runner is made |
 * | LangChain's tracing (`LANGSMITH_…`) | sees nothing | sees every model turn and tool call |
 * | `journal` | recorded, and taken up again after a crash | not there: `invalid_option` |
 * | cost of a turn | see the benchmark | some milliseconds more, and more the longer the conversation is |
 *
 * When the chosen loop can't be had (LangChain is not installed, or lacks what is used of it), the other takes over with one `warn`. Should
 * LangChain's loop break down in the middle of a run, that run ends with `model_error`, code `backend_failed`, and what had happened until then.
 *
 * Rejects with what the constructor of `AgentRunner` throws, and with `invalid_option` for a backend that is none, or an option the
 * backend does not have. `open`: in place of the loops there are.
 */
export async function createAgentRunner<Context = unknown>(
  options: BackendOptions<Context>,
  open: LoopOpeners = loops,
): Promise<AgentRunner<Context>> {
  checkOptionNames(options, backendOptionNames, '`createAgentRunner`')
  const { backend = 'native', ...rest } = options
  if (!backends.includes(backend)) throw new InvalidOptionError('backend', backends.map((name) => `'${name}'`).join(' or '), backend)
  if (backend === 'langchain' && rest.journal !== undefined)
    throw new InvalidOptionError('journal', "absent with the backend 'langchain': only 'native' has it", rest.journal)
  return new AgentRunner(rest, await openLoop(backend, rest, open))
}

/** How each backend's loop is had; rejects where it can't be. */
export type LoopOpeners = Readonly<Record<Backend, () => Promise<Loop>>>

const loops: LoopOpeners = {
  native: async () => runLoop,
  langchain: async () => (await import('./langchain/loop.ts')).openLangChainLoop(),
}

/** The loop of `backend`, or where that can't be had, of the other. */
async function openLoop(
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
