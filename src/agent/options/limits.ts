import { checkValues } from '../../core/check-options.ts'
import { InvalidOptionError } from '../../core/errors.ts'
import type { ChatModel } from '../../models/chat-model.ts'
import { knowsCost } from '../../models/usage.ts'
import type { Budget } from '../limits/budget.ts'
import type { LimitName, ResolvedLimits } from '../types/resolved-limits.ts'
import { type LargeResultOptions, type LimitSettings, limitSettings, type RunLimits, runLimits } from './limit-settings.ts'
import type { RunSettings } from './run-settings.ts'
import { checksOf, type SettingRow } from './setting-row.ts'

/** Checks every limit and fills in the defaults. Throws `invalid_option`. */
export function resolveLimits(settings: RunSettings<never>): ResolvedLimits {
  const { limits = {}, maxIterations, maxToolRounds, largeResults: asked } = settings
  const given = { ...settings, maxIterations: maxIterations ?? maxToolRounds }
  checkValues(settings, limitChecks)
  iterationsOf(settings)
  const known = withDefaults<Required<Pick<LimitSettings, LimitName>>>(given, defaultLimits)
  const largeResults = largeResultsOf(asked, known.maxResultBytes)
  const takenResultBytes = largeResults === undefined ? known.maxResultBytes : Number.POSITIVE_INFINITY
  return { ...known, ...withDefaults<Required<RunLimits>>(limits, defaultRunLimits), takenResultBytes, largeResults }
}

const limitChecks = checksOf(limitSettings)

const defaultLimits = defaultsOf(limitSettings)
const defaultRunLimits = defaultsOf(runLimits)

function defaultsOf(rows: Readonly<Record<string, Pick<SettingRow, 'default'>>>): [name: string, value: unknown][] {
  return Object.entries(rows).flatMap(([name, row]): [string, unknown][] => (row.default === undefined ? [] : [[name, row.default]]))
}

function withDefaults<Known>(given: object, defaults: [name: string, value: unknown][]): Known {
  return Object.fromEntries(defaults.map(([name, value]) => [name, Reflect.get(given, name) ?? value])) as Known
}

function largeResultsOf(given: RunSettings['largeResults'], maxResultBytes: number): ResolvedLimits['largeResults'] {
  if (given === undefined || given === false) return undefined
  const options: LargeResultOptions = given === true ? {} : given
  const { overBytes = maxResultBytes, keptBytes = 32 * 1024 * 1024 } = options
  // `read_result` must be able to return at least one character, which has up to 4 bytes.
  if (overBytes < 4) throw new InvalidOptionError('largeResults.overBytes', 'an integer ≥ 4', overBytes)
  if (overBytes > maxResultBytes)
    throw new InvalidOptionError('largeResults.overBytes', `at most \`maxResultBytes\` (${maxResultBytes})`, overBytes)
  const { shownBytes = Math.min(8_192, overBytes) } = options
  if (shownBytes > overBytes) throw new InvalidOptionError('largeResults.shownBytes', `at most \`overBytes\` (${overBytes})`, shownBytes)
  return { overBytes, shownBytes, keptBytes }
}

/** The value of `maxIterations` or, under its older name, `maxToolRounds`. Throws `invalid_option` if both are set and differ. */
export function iterationsOf({ maxIterations, maxToolRounds }: RunSettings<never>): number | undefined {
  if (maxIterations !== undefined && maxToolRounds !== undefined && maxIterations !== maxToolRounds) {
    throw new InvalidOptionError('maxToolRounds', `the same as \`maxIterations\` (${maxIterations}) when both are given`, maxToolRounds)
  }
  return maxIterations === undefined ? maxToolRounds : maxIterations
}

/** Throws `invalid_option` if a cost is limited and the model's cost is not known, because the limit would have no effect. */
export function checkCostIsKnown(
  option: string,
  costUsd: number | undefined,
  model: Pick<ChatModel, 'provider' | 'model' | 'capabilities'>,
): void {
  if (costUsd === undefined || costUsd === Number.POSITIVE_INFINITY || knowsCost(model.capabilities)) return
  throw new InvalidOptionError(option, `absent for a model whose price is not known (${howToPrice(model)})`, costUsd)
}

interface Limited {
  limits: Pick<ResolvedLimits, 'costUsd'>
  settings: { readonly budget?: Pick<Budget, 'limits'> }
  /** The run in which this run is nested. */
  outer: Limited | undefined
}

/** The option that limits the cost of a run, and the value of this option. The option may belong to the run or to an outer run. */
function costLimitOf({ limits, settings: { budget }, outer }: Limited): [option: string, costUsd: number] {
  if (Number.isFinite(limits.costUsd)) return ['limits.costUsd', limits.costUsd]
  if (budget !== undefined && Number.isFinite(budget.limits.costUsd)) return ['budget.costUsd', budget.limits.costUsd]
  return outer === undefined ? ['limits.costUsd', Number.POSITIVE_INFINITY] : costLimitOf(outer)
}

/** Throws `invalid_option` if the cost of the run or of its current agent is limited, but the model's cost is not known. */
export function checkModelCost(run: Limited, own: RunLimits | undefined, model: ChatModel): void {
  const [option, costUsd] = costLimitOf(run)
  checkCostIsKnown(option, costUsd, model)
  checkCostIsKnown('limits.costUsd', own?.costUsd, model)
}

/** Says how to make a model's cost known. */
function howToPrice({ provider, model }: Pick<ChatModel, 'provider' | 'model'>): string {
  return `give \`${provider}/${model}\`, and any model that may take its place, a \`price\` in US dollars for a million tokens: \
createModel({ provider: '${provider}', model: '${model}', price: { input: 2, output: 8 } })`
}
