import { isJsonObject, type Json, type JsonObject } from '../../core/messages.ts'
import type { Sampling } from '../chat-model.ts'
import { oneOf, type QuirkCheck } from '../quirk-checks.ts'

type Effort = NonNullable<Sampling['reasoningEffort']>

/** All efforts, the lowest first. */
const efforts: readonly string[] = ['none', 'minimal', 'low', 'medium', 'high', 'xhigh']

/** The efforts a model knows: any in our words (`true`), none, those of a list in our words, or those with body fields of their own. */
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
 * The body fields that ask for an effort. A warning names the effort that was sent in place of one that the model doesn't know: the nearest,
 * of two equally near the higher. `inWords`: how an effort is asked for in our words. `model`: its name with its provider's.
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
    warnings.add(`\`reasoningEffort: '${effort}'\` was left out: ${model} does not take it`)
    return {}
  }
  if (nearest !== effort) warnings.add(`\`reasoningEffort: '${effort}'\` was sent as '${nearest}', the nearest that ${model} takes`)
  return isJsonObject(known) ? (known[nearest] ?? {}) : inWords(nearest)
}

function distance(effort: Effort, other: string): number {
  // What JavaScript callers ask for besides is more than all of them, as `max` is.
  const asked = efforts.includes(effort) ? efforts.indexOf(effort) : efforts.length
  const steps = efforts.indexOf(other) - asked
  return steps < 0 ? 0.5 - steps : steps
}

/** When a model reasons. */
export type Reasons = 'never' | 'when-asked' | 'by-default' | 'always'

export const isReasons: QuirkCheck = oneOf('never', 'when-asked', 'by-default', 'always')

/** Whether it reasons in a request with that effort. An effort of `none` switches it off if it can be switched off. */
export function isReasoning(reasons: Reasons, effort: Json | undefined): boolean {
  if (reasons === 'never' || reasons === 'always') return reasons === 'always'
  return effort === undefined || effort === null ? reasons === 'by-default' : effort !== 'none'
}
