import { InvalidOptionError } from '../core/errors.ts'
import { isList } from '../core/json.ts'
import { defaultLogger, type Logger } from '../core/logger.ts'
import { isJsonObject } from '../core/messages.ts'
import type { ChatModel } from '../models/chat-model.ts'
import { openModel } from '../models/create-model.ts'
import { fallbackModel } from '../models/middleware/fallback.ts'
import { ToolRegistry, type ToolSet, ToolView } from '../tools/registry.ts'
import type { AnyTool } from '../tools/tool.ts'
import { checkGuardrails } from './hooks/guardrails.ts'
import { checkHooks } from './hooks/hooks.ts'
import { Budget } from './limits/budget.ts'
import { checkCostIsKnown, iterationsOf } from './limits/limits.ts'
import { checkEntries } from './middleware/check-entries.ts'
import { chooseCallForm } from './text-calls/mode.ts'
import type { AgentRules, CompactionOptions, RunnerOptions, RunOptions, RunSettings } from './types.ts'

/** The one model, or several as one. Throws `invalid_option` unless there is either, or what `createModel` throws. */
export function toModel({ model, models, fallbackOn }: Pick<RunnerOptions<never>, 'model' | 'models' | 'fallbackOn'>): ChatModel {
  if (model !== undefined && models !== undefined) throw new InvalidOptionError('models', 'absent when `model` is given', models)
  if (models !== undefined) return fallbackModel(models, fallbackOn && { fallbackOn })
  if (fallbackOn !== undefined) throw new InvalidOptionError('fallbackOn', 'absent unless `models` is given', fallbackOn)
  if (model === undefined) throw new InvalidOptionError('model', "a model, 'provider/model' or settings, unless `models` is given", model)
  return openModel(model)
}

/** What of an agent's options holds also in the run of another agent that has handed over to it. */
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

/** Elsewhere tools are an object, by their names. */
function listHint(tools: object): string {
  if (tools === null || typeof tools !== 'object') return ''
  return 'name' in tools && 'description' in tools ? ' (did you mean `[tool]`?)' : ' (did you mean `Object.values(tools)`?)'
}

export function isToolSet(tools: unknown): tools is ToolSet {
  if (typeof tools !== 'object' || tools === null) return false
  const { get, names, list, getAllSpecs }: Partial<ToolSet> = tools
  return [get, names, list, getAllSpecs].every((member) => typeof member === 'function') && 'size' in tools
}

/** The tools a model is told of: all, or those that `activeTools` names. */
export function activeTools(tools: ToolSet, { activeTools: only }: RunSettings<never>, logger: Logger = defaultLogger): ToolSet {
  if (only === undefined) return tools
  const missing = only.filter((name) => tools.get(name) === undefined)
  if (missing.length > 0) logger.warn({ missing }, '`activeTools` names tools that are not there')
  return new ToolView(tools, { only })
}

/** The run's options over the runner's; limits one by one. */
export function mergeOptions<Context>(runner: RunnerOptions<Context>, run: RunOptions<Context>): RunOptions<Context> {
  const own = iterationsOf(run)
  const rounds = own === undefined ? iterationsOf(runner) : own
  const {
    model: _model,
    models: _models,
    fallbackOn: _fallbackOn,
    tools: _tools,
    instructions: _instructions,
    bus: _bus,
    logger: _logger,
    journal: _journal,
    restore: _restore,
    sessions: _sessions,
    history: _history,
    ...settings
  } = runner
  const merged: RunOptions<Context> = { ...settings }
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

/** Options that are there but undefined leave the runner's as they are. */
function assignGiven<T extends object>(options: T, given: T): void {
  for (const [name, value] of Object.entries(given)) if (value !== undefined) Object.assign(options, { [name]: value })
}

const eitherOr = [
  ['onBudget', 'stop', 'pause'],
  ['onLimit', 'stop', 'answer'],
  ['onTruncated', 'stop', 'continue'],
  ['onCut', 'end', 'restart'],
  ['fencedTags', 'text', 'run'],
] as const

/** Throws `invalid_option` for a setting that is not allowed, or not with this model. */
export function checkSettings(settings: RunSettings<never>, model: ChatModel): void {
  const {
    enableToolActionParsing,
    approve,
    stopWhen,
    compaction,
    decisionTimeoutMs,
    hooks,
    metadata,
    guardrails,
    activeTools,
    outputRetries,
    throwOnError,
    budget,
    cacheKey,
    name,
    telemetry,
  } = settings
  checkCostIsKnown('limits.costUsd', settings.limits?.costUsd, model)
  if (budget !== undefined && !(budget instanceof Budget)) throw new InvalidOptionError('budget', 'a Budget', budget)
  checkCostIsKnown('budget.costUsd', budget?.limits.costUsd, model)
  for (const [option, one, other] of eitherOr) {
    const chosen = settings[option]
    if (chosen !== undefined && chosen !== one && chosen !== other) throw new InvalidOptionError(option, `'${one}' or '${other}'`, chosen)
  }
  chooseCallForm(settings, model)
  if (enableToolActionParsing !== undefined && typeof enableToolActionParsing !== 'boolean')
    throw new InvalidOptionError('enableToolActionParsing', 'true or false', enableToolActionParsing)
  if (decisionTimeoutMs !== undefined && !(decisionTimeoutMs > 0))
    throw new InvalidOptionError('decisionTimeoutMs', 'a number of milliseconds > 0', decisionTimeoutMs)
  checkCompaction(compaction)
  checkHooks(hooks)
  checkEntries('plan', settings.plan)
  checkEntries('around', settings.around)
  checkMetadata(metadata)
  checkGuardrails(guardrails)
  if (activeTools !== undefined && !isListOf(activeTools, (name) => typeof name === 'string'))
    throw new InvalidOptionError('activeTools', 'an array of names', activeTools)
  if (outputRetries !== undefined && !(Number.isInteger(outputRetries) && outputRetries >= 0))
    throw new InvalidOptionError('outputRetries', 'an integer ≥ 0', outputRetries)
  if (throwOnError !== undefined && typeof throwOnError !== 'boolean')
    throw new InvalidOptionError('throwOnError', 'true or false', throwOnError)
  if (approve !== undefined && typeof approve !== 'function') throw new InvalidOptionError('approve', 'a function', approve)
  if (name !== undefined && (typeof name !== 'string' || name === '')) throw new InvalidOptionError('name', 'a string, not empty', name)
  if (telemetry !== undefined && typeof telemetry?.openRun !== 'function')
    throw new InvalidOptionError('telemetry', 'what `telemetry()` of `toolloop/telemetry` gives', telemetry)
  if (cacheKey !== undefined && cacheKey !== false && (typeof cacheKey !== 'string' || cacheKey === ''))
    throw new InvalidOptionError('cacheKey', 'a string, not empty, or false', cacheKey)
  if (stopWhen !== undefined && typeof stopWhen !== 'function')
    throw new InvalidOptionError('stopWhen', `a function${Array.isArray(stopWhen) ? ' (did you mean `maxIterations`?)' : ''}`, stopWhen)
}

function isListOf(value: unknown, isItem: (item: unknown) => boolean): boolean {
  return Array.isArray(value) && value.every(isItem)
}

const mostMetadata = 16_384

function checkMetadata(metadata: unknown): void {
  if (metadata === undefined) return
  const expected = `a JSON object of at most ${mostMetadata} characters`
  if (!isJsonObject(metadata)) throw new InvalidOptionError('metadata', expected, metadata)
  const length = jsonLength(metadata)
  if (length === undefined) throw new InvalidOptionError('metadata', expected)
  if (length > mostMetadata) throw new InvalidOptionError('metadata', expected, `${length} characters`)
}

/** Undefined for what is no JSON, such as an object that holds itself. */
function jsonLength(value: object): number | undefined {
  try {
    return JSON.stringify(value).length
  } catch {
    return undefined
  }
}

function checkCompaction(compaction: CompactionOptions | undefined): void {
  if (compaction === undefined) return
  if (typeof compaction !== 'object' || compaction === null) throw new InvalidOptionError('compaction', 'options', compaction)
  const { maxTokens, estimate, summarise } = compaction
  if (maxTokens !== undefined && !(maxTokens > 0)) throw new InvalidOptionError('compaction.maxTokens', 'a number > 0', maxTokens)
  if (estimate !== undefined && typeof estimate !== 'function') throw new InvalidOptionError('compaction.estimate', 'a function', estimate)
  if (summarise !== undefined && typeof summarise !== 'function')
    throw new InvalidOptionError('compaction.summarise', 'a function', summarise)
}

/** Logs what of a model's settings is deprecated. Called once for each agent. */
export function warnOfDeprecated(model: ChatModel, logger: Logger = defaultLogger): void {
  const { deprecated } = model.capabilities
  if (deprecated !== undefined) logger.warn({ provider: model.provider, model: model.model }, deprecated)
}
