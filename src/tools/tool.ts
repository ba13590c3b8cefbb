import type { StandardSchemaV1 } from '@standard-schema/spec'
import { checkOptionNames, checkOtherNames, isPlainObject, type OptionNames } from '../core/check-options.ts'
import { InvalidOptionError, show, ToolloopError } from '../core/errors.ts'
import { type Content, type JsonObject, withoutUndefined } from '../core/messages.ts'
import type { ArgsOf, InputOf, ParametersSchema } from './schema/infer.ts'
import { isStandardSchema, type JsonSchema, parametersOf } from './schema/schema.ts'
import { jsonSchemaOf } from './schema/standard-schema.ts'
import { acceptSchema, checkWritten, type WrittenSchema } from './schema/written-schema.ts'
import type { ToolContext } from './tool-context.ts'

export { ask, askAll, isQuestion, type Question } from './question.ts'
export type { JsonSchema } from './schema/schema.ts'
export type { CallTrace, McpClient, ModelAnswer, ModelQuestion, RunScope, ToolContext, WritableContext } from './tool-context.ts'

/** The definition of a function in OpenAI's format. */
export interface ToolFunction {
  /** The name: `a-z A-Z 0-9 _ -`, at most 64 characters. */
  name: string
  description?: string
  /** The JSON Schema of the arguments. */
  parameters?: Record<string, unknown>
  /** Asks the provider to enforce the schema, if it can. */
  strict?: boolean
}

/** A tool's definition, as it is sent to a model, in OpenAI's format. */
export interface ToolDefinition {
  type: 'function'
  function: ToolFunction
}

/**
 * Tools that a model doesn't see but can find with a search. `searchedBy`: the names of the tools that search for and call these tools if
 * the provider has no tool search.
 */
export type SearchableTools = { tools: readonly ToolDefinition[]; searchedBy: readonly string[] }

/**
 * The side effects of a tool. They decide what happens to a call that was running when the process died. A `read` or `idempotent` call runs
 * again, with the same idempotency key. An `unsafe` call runs again only after a decision.
 */
export type ToolEffect = 'read' | 'idempotent' | 'unsafe'

/** Whether a call needs approval. `{ about }` means yes, and `about` is shown to the person who decides. */
export type NeedsApproval = boolean | { about: unknown }

/** The second argument of an `approval` function. */
export type ApprovalContext<Context = unknown> = Pick<ToolContext<Context>, 'context' | 'metadata'>

/**
 * A tool: its definition for the model (`name`, `description`, `parameters`), its implementation, and the handling of its results. Create a
 * tool with `defineTool`, with a subclass of `BaseTool`, or as a plain object with these fields.
 */
export interface Tool<Context = unknown> {
  /** The name: 1 to 64 of `a-z A-Z 0-9 _ -`. */
  readonly name: string
  /** Tells the model what the tool does and when to call it. */
  readonly description: string
  /**
   * The schema of the arguments: a JSON Schema of an object, or a Standard Schema (zod, valibot, arktype, …) that can produce one. Every
   * call is validated against the schema before any function of the tool runs. `execute` and `reconcile` receive the output of a Standard
   * Schema.
   */
  readonly parameters: ParametersSchema
  /** Asks the provider to enforce the schema, if it can. Default false. */
  readonly strict?: boolean
  /**
   * The side effects of the tool, which decide whether a call may run again: `'read'`, `'idempotent'` or `'unsafe'`. Default `'unsafe'`.
   *
   * @see [effects of calls](docs/effects.md)
   */
  readonly effect?: ToolEffect
  /**
   * Time limit of one attempt in milliseconds. When it has passed, `ctx.signal` is aborted, and a tool that ignores the signal is
   * abandoned. Default: the run's `toolTimeoutMs`.
   */
  readonly timeoutMs?: number
  /**
   * Maximum number of times that a failed or timed-out attempt is retried. A timed-out attempt of an `unsafe` tool is retried only if
   * `reconcile` returns `{ ran: false }`. Default 0.
   */
  readonly retries?: number
  /**
   * Whether a call needs approval before it runs: true, or a function of the validated arguments. It may return `{ about }` to show more
   * than the arguments: `{ before, after }`, two texts, is shown as a diff. Default false.
   *
   * Contract: the run awaits the function. If it throws, the call needs approval.
   *
   * @see [approvals](docs/approvals.md)
   */
  readonly approval?: boolean | ((args: JsonObject, ctx: ApprovalContext<Context>) => NeedsApproval | Promise<NeedsApproval>)
  /** Whether a call may run in parallel with other calls of its turn. If false, a call runs alone. Default true. */
  readonly parallel?: boolean
  /**
   * Whether the tool's result ends the run and becomes its output. The run does not end if another call of the same turn is pending.
   * Default false.
   */
  readonly final?: boolean
  /**
   * Names of arguments, at any depth, whose values are redacted in logs, in events and on pages, even if a result quotes them. Default:
   * none.
   *
   * @see [secrets](docs/secrets.md)
   */
  readonly secrets?: readonly string[]
  /**
   * JSON Schema of the returned value, which must be an object. If set, MCP clients receive the value as structured data in addition to the
   * text. Default: no structured data.
   */
  readonly outputSchema?: JsonSchema
  /** Validates arguments instead of the JSON Schema, and may transform them. Default: `parameters`, if it is a Standard Schema. */
  readonly schema?: StandardSchemaV1
  /**
   * Converts the returned value to the content that the model sees. Default: a stable text of the value.
   *
   * Contract: the function is synchronous. If it throws, the call has failed.
   */
  toContent?(value: never): Content
  /**
   * Runs the tool. If absent, the caller runs the tool: the run pauses with the call pending.
   *
   * Contract: the function may return or throw any value, synchronously or asynchronously. The run awaits it, up to the time limit. A
   * thrown value becomes a failed result that the model sees. If the function returns nothing, the model sees `(no result)`.
   *
   * @see [client-side tools](docs/approvals.md)
   */
  readonly execute?: (args: never, ctx: ToolContext<Context>) => unknown
  /**
   * Finds out whether a call took effect. Called after an attempt has timed out or was aborted, unless the tool only reads. Also called
   * before repeating an `unsafe` call that was running when its process died. If the call continues after a question, `ctx` contains the
   * question and its answer (`asked`, `answer`).
   *
   * Contract: the run awaits the result. The time limit is that of one attempt, at most 30 seconds, or one second once the run is over.
   * Return `undefined` or throw if the outcome is unknown.
   */
  readonly reconcile?: (args: never, ctx: ToolContext<Context>) => Reconciled | undefined | Promise<Reconciled | undefined>
  /**
   * Describes what a call would do, for a run with `effects: 'preview'`. The model receives the returned value as the result of the call.
   * The function must have no effects. It is not called for a `read` tool.
   *
   * Contract: the same as that of `execute`, with the same time limit but without retries. If the function returns nothing, the model gets
   * "noted, not done". If the function fails, the call has failed and is not part of the plan.
   *
   * @see [preview](docs/preview.md)
   */
  readonly preview?: (args: never, ctx: ToolContext<Context>) => unknown
}

/**
 * The return value of a tool's `reconcile`: whether the interrupted call took effect. With `ran: true`, the call took effect and returned
 * `value`. With `ran: false`, the call did not take effect and may run again.
 */
export type Reconciled = { ran: true; value: unknown } | { ran: false }

/** A tool with any argument and context types. The compiler does not check which context the tool needs. */
export interface AnyTool extends Omit<Tool, 'approval' | 'execute' | 'reconcile' | 'preview'> {
  readonly approval?: boolean | AnyMember['approval']
  // Declared as methods, because the compiler checks the parameters of methods bivariantly.
  execute?(args: never, ctx: ToolContext): unknown
  reconcile?(args: never, ctx: ToolContext): Reconciled | undefined | Promise<Reconciled | undefined>
  preview?(args: never, ctx: ToolContext): unknown
}

/** The members of a tool whose argument types the compiler does not check. */
interface AnyMember {
  approval(args: JsonObject, ctx: ApprovalContext): NeedsApproval | Promise<NeedsApproval>
}

/**
 * Base class for tools written as classes. Subclasses define the four abstract members and override others as needed. With a Standard
 * Schema as `parameters`, `Args` is its output.
 *
 * ```ts
 * const forecastArgs = z.object({ city: z.string(), days: z.int().default(3) })
 * class Forecast extends BaseTool<z.infer<typeof forecastArgs>> {
 *   readonly name = 'forecast'
 *   readonly description = 'The weather of the next days.'
 *   readonly parameters = forecastArgs
 *   override execute({ city, days }: z.infer<typeof forecastArgs>) { … }
 * }
 * ```
 */
export abstract class BaseTool<Args = JsonObject, Context = unknown> implements Tool<Context> {
  abstract readonly name: string
  abstract readonly description: string
  abstract readonly parameters: JsonSchema | StandardSchemaV1<unknown, Args>
  readonly schema?: StandardSchemaV1<unknown, Args>
  readonly effect?: ToolEffect
  readonly timeoutMs?: number
  readonly retries?: number
  readonly approval?: boolean | ((args: JsonObject, ctx: ApprovalContext<Context>) => NeedsApproval | Promise<NeedsApproval>)
  readonly parallel?: boolean
  readonly final?: boolean
  readonly secrets?: readonly string[]
  readonly strict?: boolean

  /** Runs the tool: see `Tool.execute`. `args` has been validated against `parameters`. */
  abstract execute(args: Args, ctx: ToolContext<Context>): unknown
}

/** The fields that a `Tool` and the options of `defineTool` have in common: `description`, `effect`, `timeoutMs` and others. */
type SharedOptions = Exclude<keyof Tool, 'parameters' | 'approval' | 'schema' | 'toContent' | 'execute' | 'reconcile' | 'preview'>

/** Options of `defineTool`: the fields of a `Tool`, with `execute` typed by `parameters`. */
export interface ToolOptions<S, Value, Context, Name extends string = string> extends Pick<Tool<Context>, SharedOptions> {
  name: Name
  /**
   * The schema of the arguments: a Standard Schema (zod, valibot, arktype, …) or a JSON Schema. The argument types are inferred from it.
   * Default: no arguments.
   */
  parameters?: S
  /** The JSON Schema that the model sees, for a Standard Schema that can't produce one. */
  jsonSchema?: JsonSchema
  /** See `Tool.approval`. */
  approval?: boolean | ((args: InputOf<S>, ctx: ApprovalContext<Context>) => NeedsApproval | Promise<NeedsApproval>)
  /** See `Tool.toContent`. */
  toContent?(value: Awaited<NoInfer<Value>>): Content
  /** See `Tool.execute`. */
  execute?(args: ArgsOf<S>, ctx: ToolContext<Context>): Value
  /** See `Tool.reconcile`. */
  reconcile?(args: ArgsOf<S>, ctx: ToolContext<Context>): Reconciled | undefined | Promise<Reconciled | undefined>
  /** See `Tool.preview`. */
  preview?(args: ArgsOf<S>, ctx: ToolContext<Context>): unknown
}

/** The result of `defineTool`. `Input`: the arguments as the model writes them, if a Standard Schema transforms them. */
export interface DefinedTool<Args, Value, Context, Name extends string = string, Input = Args> extends Tool<Context> {
  readonly name: Name
  readonly parameters: JsonSchema
  readonly schema?: StandardSchemaV1<Input, Args>
  readonly execute?: (args: Args, ctx: ToolContext<Context>) => Value
}

const toolNames: OptionNames<Tool> = {
  name: true,
  description: true,
  parameters: true,
  strict: true,
  effect: true,
  timeoutMs: true,
  retries: true,
  approval: true,
  parallel: true,
  final: true,
  secrets: true,
  outputSchema: true,
  schema: true,
  toContent: true,
  execute: true,
  reconcile: true,
  preview: true,
}

/** Includes the fields of a tool, because `defineTool` also accepts a tool. */
const definitionNames: OptionNames<Tool & ToolOptions<unknown, unknown, unknown>> = { ...toolNames, jsonSchema: true }

const emptyParameters: JsonSchema = { type: 'object', properties: {}, additionalProperties: false }

/**
 * Defines a tool. Throws `invalid_tool` for an invalid name or schema, and `invalid_option` for an option out of range. A JSON Schema is
 * compiled when the tool is registered. An invalid JSON Schema is refused at that time.
 *
 * ```ts
 * const add = defineTool({ name: 'add', description: 'Adds two numbers.', parameters: z.object({ a: z.number(), b: z.number() }),
 *   effect: 'read', execute: ({ a, b }) => a + b })
 * ```
 */
// `S` has no default. With a default, the compiler would check `parameters` against it if another option is mistyped.
export function defineTool<const S extends ParametersSchema, Value = unknown, Context = unknown, const Name extends string = string>(
  options: ToolOptions<S, Value, Context, Name> & { parameters?: NoInfer<WrittenSchema<S>> },
): DefinedTool<ArgsOf<S>, Value, Context, Name, InputOf<S>> {
  checkOptionNames(options, definitionNames, '`defineTool`')
  const { parameters, jsonSchema, ...rest } = options
  const standard = isStandardSchema(parameters) ? parameters : undefined
  const shown = jsonSchema ?? (standard ? acceptSchema(jsonSchemaOf(standard, options.name)) : (parameters ?? emptyParameters))
  const tool = { ...rest, parameters: shown, ...(standard ? { schema: standard } : {}) }
  checkTool(tool as AnyTool)
  checkWritten(shown as JsonSchema, tool.name)
  if (tool.outputSchema !== undefined) checkWritten(tool.outputSchema, `${tool.name}.outputSchema`)
  if (parameters === undefined && 'schema' in rest && rest.schema !== undefined) {
    throw new InvalidOptionError('schema', 'an option of `defineTool` with `parameters` beside it; did you mean `parameters`?')
  }
  return tool as DefinedTool<ArgsOf<S>, Value, Context, Name, InputOf<S>>
}

export const toolName: RegExp = /^[a-zA-Z0-9_-]{1,64}$/

function checkToolName(name: unknown): void {
  if (typeof name === 'string' && toolName.test(name)) return
  throw new ToolloopError('invalid_tool', `Expected a tool's \`name\` to be 1 to 64 characters of a-z A-Z 0-9 _ -, got \`${show(name)}\``)
}

export function throwDuplicateName(name: string): never {
  throw new ToolloopError('invalid_tool', `Expected tool names to be unique, got a second tool \`${name}\``)
}

/**
 * Checks that `tool` has a legal name, a description, an object schema and valid options. Throws `invalid_tool` or `invalid_option` if it
 * does not.
 */
export function checkTool(tool: AnyTool): void {
  if (typeof tool !== 'object' || tool === null) throw new ToolloopError('invalid_tool', `Expected a tool, got \`${show(tool)}\``)
  checkToolName(tool.name)
  // An instance of a class may have other members.
  if (isPlainObject(tool)) checkOtherNames(tool, toolNames, 'a tool', tool.name)
  const wrong = (what: string): never => {
    throw new ToolloopError('invalid_tool', `Expected tool \`${tool.name}\` to have ${what}`)
  }
  if (typeof tool.description !== 'string') wrong('a `description`')
  const parameters = parametersOf(tool)
  if (typeof parameters !== 'object' || parameters === null || Array.isArray(parameters)) {
    wrong('`parameters` that are a JSON Schema object or a Standard Schema')
  }
  if (parameters.type !== undefined && parameters.type !== 'object') {
    wrong(`\`parameters\` of type 'object', got \`${show(parameters.type)}\``)
  }
  if (tool.execute !== undefined && typeof tool.execute !== 'function') wrong('an `execute` that is a function')
  if (tool.preview !== undefined && typeof tool.preview !== 'function') wrong('a `preview` that is a function')
  if (tool.timeoutMs !== undefined && !(typeof tool.timeoutMs === 'number' && tool.timeoutMs > 0)) {
    throw new InvalidOptionError(`${tool.name}.timeoutMs`, 'a number of milliseconds > 0', tool.timeoutMs)
  }
  if (tool.retries !== undefined && !(Number.isInteger(tool.retries) && tool.retries >= 0)) {
    throw new InvalidOptionError(`${tool.name}.retries`, 'an integer ≥ 0', tool.retries)
  }
  if (tool.effect !== undefined && !['read', 'idempotent', 'unsafe'].includes(tool.effect)) {
    throw new InvalidOptionError(`${tool.name}.effect`, "'read', 'idempotent' or 'unsafe'", tool.effect)
  }
}

/** Returns a tool's definition in OpenAI's format, as it is sent to models. */
export function convertToOpenAITool(tool: Pick<AnyTool, 'name' | 'description' | 'parameters' | 'strict'>): ToolDefinition {
  const { name, description, strict } = tool
  return { type: 'function', function: { name, description, parameters: parametersOf(tool), ...withoutUndefined({ strict }) } }
}

/**
 * Converts a mixed list of tools and definitions to definitions. Returns the list itself if it contains only definitions. Throws
 * `invalid_tool`.
 */
export function definitionsOf(tools: readonly (AnyTool | ToolDefinition)[]): readonly ToolDefinition[] {
  return tools.every((tool) => definitionOf(tool) === tool) ? (tools as readonly ToolDefinition[]) : tools.map(definitionOf)
}

function definitionOf(tool: AnyTool | ToolDefinition): ToolDefinition {
  if (typeof tool !== 'object' || tool === null) throw new ToolloopError('invalid_tool', `Expected a tool, got \`${show(tool)}\``)
  if (!('function' in tool)) return convertToOpenAITool(tool)
  const { name, parameters } = tool.function
  return isStandardSchema(parameters) ? { ...tool, function: { ...tool.function, parameters: parametersOf({ name, parameters }) } } : tool
}

/** Works like `definitionsOf`, and also checks the names for a request. Throws `invalid_tool` if a name is invalid or occurs twice. */
export function checkedDefinitions(tools: readonly (AnyTool | ToolDefinition)[]): readonly ToolDefinition[] {
  const definitions = definitionsOf(tools)
  const names = new Set<string>()
  for (const {
    function: { name },
  } of definitions) {
    checkToolName(name)
    if (names.has(name)) throwDuplicateName(name)
    names.add(name)
  }
  return definitions
}
