import { InvalidOptionError } from '../errors.ts'
import { defaultLogger, type Logger } from '../log.ts'
import type { ChatMessage } from '../messages.ts'
import { createModel } from '../models/create-model.ts'
import type { ChatModel } from '../models/model.ts'
import { ToolRegistry } from '../tools/registry.ts'
import type { AnyTool } from '../tools/tool.ts'
import { checkCostIsKnown, iterationsOf } from './limits.ts'
import type { RunInput, RunnerOptions, RunOptions, RunSettings } from './run.ts'
import { chooseCallForm } from './text-calls.ts'

/** The model itself, or one made from what `createModel` takes. */
export function toModel(model: RunnerOptions['model']): ChatModel {
  if (typeof model === 'object' && model !== null && 'generate' in model) {
    if (typeof model.generate !== 'function') throw new InvalidOptionError('model.generate', 'a function', model.generate)
    return model
  }
  return createModel(model)
}

export function toRegistry(tools: readonly AnyTool[] | ToolRegistry | undefined): ToolRegistry {
  if (tools instanceof ToolRegistry) return tools
  if (tools !== undefined && !Array.isArray(tools)) throw new InvalidOptionError('tools', 'an array of tools or a ToolRegistry', tools)
  return new ToolRegistry(tools)
}

export function toMessages(input: RunInput): readonly ChatMessage[] {
  if (typeof input === 'string') return [{ role: 'user', content: input }]
  if (typeof input === 'object' && input !== null) return 'role' in input ? [input] : input
  throw new InvalidOptionError('input', 'a text, a message or an array of messages', input)
}

/** The run's options over the runner's; limits one by one. */
export function mergeOptions<Context>(runner: RunnerOptions<Context>, run: RunOptions<Context>): RunOptions<Context> {
  const own = iterationsOf(run)
  const rounds = own === undefined ? iterationsOf(runner) : own
  const { model: _model, tools: _tools, instructions: _instructions, bus: _bus, logger: _logger, journal: _journal, ...settings } = runner
  return {
    ...settings,
    ...given(run),
    maxIterations: rounds,
    maxToolRounds: undefined,
    limits: { ...runner.limits, ...given(run.limits ?? {}) },
  }
}

/** Without the options that are there but undefined: they leave the runner's as it is. */
function given<T extends object>(options: T): Partial<T> {
  return Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined)) as Partial<T>
}

/** Throws `invalid_option` for a setting that is not allowed, or not with this model. */
export function checkSettings(settings: RunSettings<never>, model: ChatModel): void {
  const { onLimit, enableToolActionParsing, fencedTags, approve, stopWhen } = settings
  checkCostIsKnown(settings.limits, model.capabilities)
  if (onLimit !== undefined && onLimit !== 'stop' && onLimit !== 'answer')
    throw new InvalidOptionError('onLimit', "'stop' or 'answer'", onLimit)
  chooseCallForm(settings, model)
  if (enableToolActionParsing !== undefined && typeof enableToolActionParsing !== 'boolean')
    throw new InvalidOptionError('enableToolActionParsing', 'true or false', enableToolActionParsing)
  if (fencedTags !== undefined && fencedTags !== 'text' && fencedTags !== 'run')
    throw new InvalidOptionError('fencedTags', "'text' or 'run'", fencedTags)
  if (approve !== undefined && typeof approve !== 'function') throw new InvalidOptionError('approve', 'a function', approve)
  if (stopWhen !== undefined && typeof stopWhen !== 'function') throw new InvalidOptionError('stopWhen', 'a function', stopWhen)
}

const told = new WeakMap<ChatModel, WeakSet<Logger>>()

/** Logs what of a model's settings is deprecated: once for an agent, which has one model and one logger. */
export function warnOfDeprecated(model: ChatModel, logger: Logger = defaultLogger): void {
  const { deprecated } = model.capabilities
  if (deprecated === undefined || told.get(model)?.has(logger)) return
  told.set(model, (told.get(model) ?? new WeakSet<Logger>()).add(logger))
  logger.warn({ provider: model.provider, model: model.model }, deprecated)
}
