import { AgentRunner } from '../agent/agent-runner.ts'
import { runLoop } from '../agent/loop.ts'
import { runnerOptions } from '../agent/options/runner-options.ts'
import { type GivenToRunner, restorable } from '../agent/runner/run-arguments.ts'
import type { RunnerOptions } from '../agent/types/options.ts'
import type { AgentTools, Needed, ToolsFor } from '../agent/types/typed.ts'
import { InvalidOptionError } from '../core/errors.ts'
import { checkOptionNames, type OptionNames } from '../core/option-names.ts'
import { type Backend, backends, type LoopOpeners, openLoop } from './open-loop.ts'

export { type Backend, backends }

/** The options of a runner, and which loop drives it. */
export interface BackendOptions<Context = unknown, Tools extends AgentTools = ToolsFor<Context>> extends RunnerOptions<Context, Tools> {
  /** Default `'native'`. */
  backend?: Backend
}

const backendOptionNames: OptionNames<BackendOptions> = { ...runnerOptions, backend: true }

/**
 * A runner on the loop that `backend` names. Tools, messages, events, bounds and results are the same on both: changing the flag is all it
 * takes to change over, or back, and a run that was paused on one is resumed on the other.
 *
 * | | `native` | `langchain` |
 * | --- | --- | --- |
 * | what decides when the model is asked and which calls run | ours, in `agent/loop.ts` | LangChain's `createAgent`, a LangGraph graph |
 * | packages | none | `langchain`, `@langchain/core`, `@langchain/langgraph`, loaded when the runner is made |
 * | LangChain's tracing (`LANGSMITH_…`) | sees nothing | sees every model turn and tool call |
 * | `journal` | recorded, and taken up again after a crash | not there: `invalid_option` |
 * | cost of a turn | see the benchmark | some milliseconds more, and more the longer the conversation is |
 *
 * When the chosen loop can't be had (LangChain is not installed, or lacks what is used of it), the other takes over with one `warn`. Should
 * LangChain's loop break down in the middle of a run, that run ends with `model_error`, code `backend_failed`, and what had happened until then.
 *
 * Rejects with what the constructor of `AgentRunner` throws, and with `invalid_option` for a backend that is none, or an option the
 * backend does not have.
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
