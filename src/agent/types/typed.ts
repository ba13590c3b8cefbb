import type { StandardSchemaV1 } from '@standard-schema/spec'
import type { JsonObject } from '../../core/messages.ts'
import type { ToolSet } from '../../tools/registry.ts'
import type { AnyTool, Question, Tool, ToolContext } from '../../tools/tool.ts'
import type { ToolCallOutcome, ToolCallRecord } from './result.ts'

/** The tools of an agent: a list whose tools the compiler knows, or any set of tools. */
export type AgentTools = readonly AnyTool[] | ToolSet

/** Tools that need only this context. */
export type ToolsFor<Context> = ToolSet | readonly Tool<Context>[]

/** The context that all tools need together. One tool may need only a part of the context. */
type ContextOf<Tools extends AgentTools> = Tools extends readonly Tool<infer Context>[] ? Context : unknown

/** The context that an agent needs: the context of its own type, and the context of its tools. */
export type Needed<Context, Tools extends AgentTools> = Context & ContextOf<Tools>

/** Options with tools that need only this context. */
export interface FittingTools<Context> {
  tools?: ToolsFor<Context>
}

/** Options that give a run its context: the context itself, or the tool call in which the run is nested. */
type WithContext<Context> = { context: Context } | { parent: ToolContext<Context> }

/** Whether a run needs no context: the type of the context is unknown or includes `undefined`. */
type IsOptional<Context> = undefined extends Context ? true : [Context] extends [never] ? true : false

/** Requires `context`, unless it is optional. */
export type RequiredContext<Context> = IsOptional<Context> extends true ? unknown : { context: Context }

/** Options of a runner. `restore` is required if the runs are recorded and need a context. */
export type WithRestore<Context> = IsOptional<Context> extends true ? unknown : { journal?: undefined } | { restore: object }

/** The options of a run. They are required if the run needs a context. */
export type RunArguments<Context, Options> =
  IsOptional<Context> extends true ? [options?: Options] : [options: WithContext<Context> & Options]

/** A call of one of `Tools`. */
export type ToolCallOf<Tools extends AgentTools> = Tools extends readonly AnyTool[] ? CallOf<Tools[number]> : ToolCallRecord

/** A call, narrowed by `tool` and `outcome` if the compiler knows the names of the tools. */
type CallOf<T extends AnyTool> = string extends T['name'] ? ToolCallRecord : SucceededCallOf<T> | BuiltInCall | UnsuccessfulCall

type SucceededCallOf<T extends AnyTool> = T extends AnyTool
  ? string extends T['name']
    ? ToolCallRecord
    : SucceededCall<T['name'], JsonArguments<WrittenArguments<T>>, ValueOf<T>>
  : never

/** A call whose tool has returned. */
export interface SucceededCall<Name extends string, Args, Value> extends Omit<ToolCallRecord, 'tool' | 'args' | 'outcome' | 'value'> {
  tool: Name
  outcome: 'ok'
  /** The arguments as the model wrote them. They fit the tool's schema. */
  args: Args
  /**
   * The return value of `execute`, or the value with which a hook replaced it. The value is kept only in memory, and only if the model got
   * the complete value.
   */
  value?: Value
}

/** A call whose `outcome` is not `'ok'`. It has no `value`. Its tool may not exist, and its arguments may be wrong. */
export interface UnsuccessfulCall extends ToolCallRecord {
  outcome: Exclude<ToolCallOutcome, 'ok'>
  value?: undefined
}

/** A call of a tool that the run adds to the agent's own tools, such as `read_result`. */
export interface BuiltInCall extends ToolCallRecord {
  tool: 'read_result' | `final_answer${string}`
}

type Parameters<T> = T extends { readonly execute?: (args: infer Args, ...rest: never) => unknown } ? Args : JsonObject

/** Arguments before a Standard Schema has transformed them. */
type WrittenArguments<T extends AnyTool> =
  T['parameters'] extends StandardSchemaV1<infer Input, unknown>
    ? Input
    : T extends { readonly schema?: StandardSchemaV1<infer Input, unknown> }
      ? unknown extends Input
        ? Parameters<T>
        : Input
      : Parameters<T>

type JsonArguments<Args> = Args extends JsonObject ? Args : Args & JsonObject

type ValueOf<T extends AnyTool> = T extends { readonly execute?: (...args: never) => infer Value }
  ? Exclude<Awaited<Value>, Question>
  : unknown
