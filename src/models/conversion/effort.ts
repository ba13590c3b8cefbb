import { isJsonObject, type Json, type JsonObject } from '../../core/messages.ts'
import type { Sampling } from '../chat-model.ts'
import { oneOf, type QuirkCheck } from '../quirk-checks.ts'

type Effort = NonNullable<Sampling['reasoningEffort']>

/** All efforts, from lowest to highest. */
const efforts: readonly string[] = ['none', 'minimal', 'low', 'medium', 'high', 'xhigh']

/** The efforts that a model accepts: all efforts by name (`true`), none (`false`), a list of names, or the body fields for each effort. */
export type KnownEfforts = boolean | string[] | { [effort: string]: JsonObject }

export const isKnownEfforts: QuirkCheck = {
  expected: `true, false, a list of ${efforts.join(', ')}, or an object of body fields for each of them`,
  passes: (value) =>
    typeof value === 'boolean' || (Array.isArray(value) ? value.every(isEffort) : isJsonObject(value) && isEffortMap.passes(value)),
}

export const isEffortMap: QuirkCheck = {
  expected: `an object of body fields for each of ${efforts.join(', ')}`,
  passes: (value) => isJsonObject(value) && Object.keys(value).every(isEffort) && Object.values(value).every(isJsonObject),
}

function isEffort(value: Json): boolean {
  return efforts.some((effort) => effort === value)
}

/**
 * Returns the body fields that request an effort. If the model doesn't accept the effort, uses the nearest effort and adds a warning. If
 * two efforts are equally near, uses the higher one. `inWords` returns the fields if `known` has only names. `model`: `provider/model`, for
 * the warning.
 */
export function effortFields(
  effort: Effort,
  known: KnownEfforts,
  model: string,
  warnings: Set<string>,
  inWords: (effort: string) => JsonObject = () => ({}),
): JsonObject {
  const names = known === true ? [effort] : known === false ? [] : Array.isArray(known) ? known : Object.keys(known)
  const [nearest] = names.toSorted((a, b) => distance(effort, a) - distance(effort, b))
  if (nearest === undefined) {
    warnings.add(`\`reasoningEffort: '${effort}'\` was left out: ${model} does not support it`)
    return {}
  }
  if (nearest !== effort) warnings.add(`\`reasoningEffort: '${effort}'\` was sent as '${nearest}', the nearest that ${model} takes`)
  return isJsonObject(known) ? (known[nearest] ?? {}) : inWords(nearest)
}

function distance(effort: Effort, other: string): number {
  // An effort outside the list, such as `max` from a JavaScript caller, counts as higher than all listed efforts.
  const asked = efforts.includes(effort) ? efforts.indexOf(effort) : efforts.length
  const steps = efforts.indexOf(other) - asked
  return steps < 0 ? 0.5 - steps : steps
}

/** The requests in which a model reasons. */
export type Reasons = 'never' | 'when-asked' | 'by-default' | 'always'

export const isReasons: QuirkCheck = oneOf('never', 'when-asked', 'by-default', 'always')

/** Whether a model reasons in a request with this effort. The effort `none` turns reasoning off in a model that reasons by default. */
export function isReasoning(reasons: Reasons, effort: Json | undefined): boolean {
  if (reasons === 'never' || reasons === 'always') return reasons === 'always'
  return effort === undefined || effort === null ? reasons === 'by-default' : effort !== 'none'
}
