import type { OutputSchema } from '../output/output.ts'
import type { OutputOptions, ResumeOptions, RunnerOptions, RunOptions } from '../types/options.ts'
import type { AgentTools, FittingTools, Needed, RunArguments, WithRestore } from '../types/typed.ts'

/** The argument of a runner's constructor. `Context`: the agent's own context type, in addition to the context type of its tools. */
export type GivenToRunner<Context, Tools extends AgentTools> = RunnerOptions<Needed<Context, Tools>, Tools> &
  FittingTools<NoInfer<Needed<Context, Tools>>> &
  WithRestore<Needed<Context, Tools>>

/** The arguments of `run` after the input, for an agent with this context. `Schema`: the schema of the answer. */
export type GivenToRun<Context, Tools extends AgentTools, Schema extends OutputSchema> = RunArguments<
  Context,
  RunOptions<Context, Tools> & FittingTools<Context> & Partial<OutputOptions<Schema>>
>

/** The arguments of `resume` after the state. */
export type GivenToResume<Context, Tools extends AgentTools, Schema extends OutputSchema> = RunArguments<
  Context,
  ResumeOptions<Context, Tools> & FittingTools<Context> & Partial<OutputOptions<Schema>>
>

/** Options of a run of an agent with these tools. */
export type RunOptionsOf<Context, Tools extends AgentTools> = RunOptions<Needed<Context, Tools>>
export type ResumeOptionsOf<Context, Tools extends AgentTools> = ResumeOptions<Needed<Context, Tools>>

/** Casts options that a constructor has already accepted, so they include a required `restore`. */
export function restorable<Context, Options>(options: Options): Options & WithRestore<Context> {
  return options as Options & WithRestore<Context>
}

/** Casts options that `run` or `resume` has already accepted, so they include a required context. */
export function checkedArguments<Context, Options>(options: Options): RunArguments<Context, Options> {
  return [options] as RunArguments<Context, Options>
}
