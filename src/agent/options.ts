import { checkMistypedNames, checkOptionNames, checkOptions, checkValues, type OtherOptions } from '../core/check-options.ts'
import { InvalidOptionError } from '../core/errors.ts'
import { isList } from '../core/json.ts'
import { defaultLogger, type Logger } from '../core/logger.ts'
import type { ChatModel } from '../models/chat-model.ts'
import { fallbackModel } from '../models/combined/fallback.ts'
import { openModel } from '../models/create-model.ts'
import { isToolSet, ToolRegistry, type ToolSet, ToolView } from '../tools/registry.ts'
import type { AnyTool } from '../tools/tool.ts'
import { checkCostIsKnown, iterationsOf } from './options/limits.ts'
import { resumeOptions, runOptions } from './options/run-options.ts'
import { runSettings } from './options/run-settings.ts'
import { onlyRunner, runnerOptions } from './options/runner-options.ts'
import { checksOf } from './options/setting-row.ts'
import { chooseCallForm } from './text-calls/mode.ts'
import type { AgentRules, RunnerOptions, RunOptions, RunSettings } from './types/options.ts'

const settingChecks = checksOf(runSettings)

/**
 * Opens the model, or several models as one fallback list. Throws `invalid_option` unless either `model` or `models` is given. Also throws
 * the errors of `createModel`.
 */
export function toModel({ model, models, fallbackOn }: Pick<RunnerOptions<never>, 'model' | 'models' | 'fallbackOn'>): ChatModel {
  if (model !== undefined && models !== undefined) throw new InvalidOptionError('models', 'absent when `model` is given', models)
  if (models !== undefined) return fallbackModel(models, fallbackOn && { fallbackOn })
  if (fallbackOn !== undefined) throw new InvalidOptionError('fallbackOn', 'absent unless `models` is given', fallbackOn)
  if (model === undefined) throw new InvalidOptionError('model', "a model, 'provider/model' or settings, unless `models` is given", model)
  return openModel(model)
}

/** Returns the options that an agent keeps when it takes over a conversation from another agent. */
export function rulesOf<Context>(options: RunSettings<Context>): AgentRules<Context> {
  const { hooks, plan, around, guardrails, limits, activeTools, stopWhen } = options
  const rules: AgentRules<Context> = {}
  assignGiven(rules, {
    hooks,
    plan,
    around,
    guardrails,
    limits,
    activeTools,
    stopWhen,
    maxIterations: iterationsOf(options as RunSettings<never>),
  } as typeof rules)
  return rules
}

export function toToolSet(tools: readonly AnyTool[] | ToolSet | undefined): ToolSet {
  if (tools === undefined) return new ToolRegistry()
  if (isList(tools)) return new ToolRegistry(tools)
  if (!isToolSet(tools)) throw new InvalidOptionError('tools', `an array of tools or a ToolRegistry${listHint(tools)}`, tools)
  return tools
}

/** Returns a hint for callers who passed a single tool, or an object of tools by name. */
function listHint(tools: object): string {
  if (tools === null || typeof tools !== 'object') return ''
  return 'name' in tools && 'description' in tools ? ' (did you mean `[tool]`?)' : ' (did you mean `Object.values(tools)`?)'
}

/** The tools that a model gets: all tools, or the tools that `activeTools` names. */
export function activeTools(tools: ToolSet, { activeTools: only }: RunSettings<never>, logger: Logger = defaultLogger): ToolSet {
  if (only === undefined) return tools
  const missing = only.filter((name) => tools.get(name) === undefined)
  if (missing.length > 0) logger.warn({ missing }, '`activeTools` names tools that do not exist')
  return new ToolView(tools, { only })
}

/** Merges the options of a run over the options of its runner. Limits are merged one by one. */
export function mergeOptions<Context>(runner: RunnerOptions<Context>, run: RunOptions<Context>): RunOptions<Context> {
  const own = iterationsOf(run)
  const rounds = own === undefined ? iterationsOf(runner) : own
  const merged: RunOptions<Context> = {}
  for (const [name, value] of Object.entries(runner)) if (!Object.hasOwn(onlyRunner, name)) Object.assign(merged, { [name]: value })
  assignGiven(merged, run)
  merged.maxIterations = rounds
  merged.maxToolRounds = undefined
  merged.limits = { ...runner.limits }
  assignGiven(merged.limits, run.limits ?? {})
  const compaction = runner.compaction ?? run.compaction
  if (compaction !== undefined) {
    merged.compaction = { ...compaction }
    assignGiven(merged.compaction, run.compaction ?? {})
  }
  return merged
}

/** Copies the options that are defined. An option that is present but undefined doesn't override the runner's option. */
function assignGiven<T extends object>(options: T, given: T): void {
  for (const [name, value] of Object.entries(given)) if (value !== undefined) Object.assign(options, { [name]: value })
}

/** Throws `invalid_option` for a setting that is invalid, or that this model does not allow. */
export function checkSettings(settings: RunSettings<never>, model: ChatModel): void {
  checkValues(settings, settingChecks)
  checkCostIsKnown('limits.costUsd', settings.limits?.costUsd, model)
  checkCostIsKnown('budget.costUsd', settings.budget?.limits.costUsd, model)
  chooseCallForm(settings, model)
}

/** Logs which settings of a model are deprecated. Called once for each agent. */
export function warnOfDeprecated(model: ChatModel, logger: Logger = defaultLogger): void {
  const { deprecated } = model.capabilities
  if (deprecated !== undefined) logger.warn({ provider: model.provider, model: model.model }, deprecated)
}

const ofRunner: OtherOptions = { names: runnerOptions, of: 'the runner' }
const ofRun: OtherOptions = { names: runOptions, of: '`run`' }

/** Throws `invalid_option` for an option that a runner does not have, or an invalid value. `isSubclass`: unknown options are allowed. */
export function checkRunnerOptions(options: object, of: string, isSubclass = false): void {
  if (isSubclass) checkMistypedNames(options, runnerOptions, of)
  else checkOptionNames(options, runnerOptions, of, undefined, ofRun)
  checkValues(options, runnerOptions)
}

/** Throws `invalid_option` for an option that a run does not have, or an invalid value. */
export function checkRunOptions(options: object, at?: string): void {
  checkOptions(options, runOptions, 'a run', at, ofRunner)
}

/** Throws `invalid_option` for an option that a resumed run does not have, or an invalid value. */
export function checkResumeOptions(options: object): void {
  checkOptions(options, resumeOptions, '`resume`', undefined, ofRunner)
}
