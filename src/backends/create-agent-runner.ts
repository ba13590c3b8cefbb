import { AgentRunner } from '../agent/agent-runner.ts'
import { runLoop } from '../agent/loop.ts'
import { runnerOptions } from '../agent/options/runner-options.ts'
import { type GivenToRunner, restorable } from '../agent/runner/run-arguments.ts'
import type { RunnerOptions } from '../agent/types/options.ts'
import type { AgentTools, Needed, ToolsFor } from '../agent/types/typed.ts'
import { checkOptionNames, type OptionNames } from '../core/check-options.ts'
import { InvalidOptionError } from '../core/errors.ts'
import { type Backend, backends, type LoopOpeners, openLoop } from './open-loop.ts'

export { type Backend, backends }

/** The options of a runner and the choice of its backend. */
export interface BackendOptions<Context = unknown, Tools extends AgentTools = ToolsFor<Context>> extends RunnerOptions<Context, Tools> {
  /** The backend that drives the runs. Default: `'native'`. */
  backend?: Backend
}

const backendOptionNames: OptionNames<BackendOptions> = { ...runnerOptions, backend: true }

/**
 * Creates a runner with the given `backend`. Tools, messages, events, limits and results are the same with both backends. To switch, change
 * the option: a run that was paused with one backend can be resumed with the other.
 *
 * | | `native` | `langchain` |
 * | --- | --- | --- |
 * | what drives a run | toolloop's own loop, `agent/loop.ts` | LangChain's `createAgent`, a LangGraph graph |
 * | packages | none | `langchain`, `@langchain/core`, `@langchain/langgraph`, loaded when the runner is created |
 * | LangChain's tracing (`LANGSMITH_…`) | sees nothing | sees every model turn and tool call |
 * | `journal` | recorded, and resumed after a crash | not supported: `invalid_option` |
 * | cost of a turn | see the benchmark | some milliseconds more; grows with the length of the conversation |
 *
 * If the chosen loop is unavailable (LangChain is not installed or is incompatible), the other loop is used and a warning is logged. If
 * LangChain's loop fails during a run, the run ends with stop reason `model_error` and error code `backend_failed`. Its result contains
 * everything that has happened so far.
 *
 * Rejects with any error that the constructor of `AgentRunner` throws, and with `invalid_option` for an unknown backend or an option that
 * the backend does not support.
 */
export async function createAgentRunner<Context = unknown, Tools extends AgentTools = AgentTools>(
  options: Pick<BackendOptions, 'backend'> & GivenToRunner<Context, Tools>,
): Promise<AgentRunner<Context, Tools>> {
  checkOptionNames(options, backendOptionNames, '`createAgentRunner`')
  const { backend = 'native', ...rest } = options
  if (!backends.includes(backend)) throw new InvalidOptionError('backend', backends.map((name) => `'${name}'`).join(' or '), backend)
  if (backend === 'langchain' && rest.journal !== undefined)
    throw new InvalidOptionError('journal', "absent with the backend 'langchain': only 'native' supports it", rest.journal)
  return new AgentRunner<Context, Tools>(restorable<Needed<Context, Tools>, typeof rest>(rest), await openLoop(backend, rest, loops))
}

const loops: LoopOpeners = {
  native: async () => runLoop,
  langchain: async () => (await import('./langchain/loop.ts')).openLangChainLoop(),
}
