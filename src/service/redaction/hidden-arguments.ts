import { isDeepStrictEqual } from 'node:util'
import { itemFinder } from '../../agent/calls/waiting/verdict.ts'
import { checkDecision, checkNamesItem, type Decision } from '../../agent/decisions/decisions.ts'
import type { PendingItem } from '../../agent/types/options.ts'
import { isJsonObject, type Json, type JsonObject } from '../../core/messages.ts'
import { REDACTED } from '../../core/redaction/spans.ts'
import { blamingRequest, HttpProblem, pointerTo } from '../http/problem.ts'

/** A decision sent over the API. */
export type GivenDecision = Decision & {
  /** Whether the decision may apply to hidden parts of the call. */
  acknowledgeHidden?: boolean
}

/** Maximum number of listed paths, separately for `args` and `about`. */
const maxPaths = 100
/**
 * Maximum length of a path, in characters. The limit is needed because a model chooses the keys. If a path is longer, the path of its
 * parent is used.
 */
const maxLength = 500
/** Maximum number of paths in an error message. */
const maxNamed = 5

/** Returns JSON Pointers to the hidden parts of a pending item, at most 100 each for `args` and `about`. */
export function hiddenParts(item: Pick<PendingItem, 'args' | 'about'>, shown: { args?: unknown; about?: unknown }): string[] {
  return [...firstOf(differences(item.args, shown.args, '/args')), ...firstOf(differences(item.about, shown.about, '/about'))]
}

function* firstOf(paths: Iterable<string>): Iterable<string> {
  let left = maxPaths
  for (const path of paths) {
    if (left-- === 0) return
    yield path
  }
}

/** Yields the paths at which `shown` differs from `value`. Entries of objects are compared by position, because keys may be redacted. */
function* differences(value: unknown, shown: unknown, path: string): Iterable<string> {
  if (Object.is(value, shown)) return
  const isLike = isHolder(value) && isHolder(shown) && Array.isArray(value) === Array.isArray(shown)
  const [entries, shownEntries] = isLike ? [Object.entries(value), Object.entries(shown)] : [[], []]
  if (!isLike || entries.length !== shownEntries.length) {
    yield path
    return
  }
  for (const [at, [key, entry]] of entries.entries()) {
    const [shownKey, shownEntry] = shownEntries[at] ?? ['']
    const inner = pointerTo(path, shownKey)
    const parts = key === shownKey ? differences(entry, shownEntry, inner) : [inner]
    if (inner.length <= maxLength) yield* parts
    else if (!isNone(parts)) {
      yield path
      return
    }
  }
}

function isNone(parts: Iterable<string>): boolean {
  for (const _ of parts) return false
  return true
}

function isHolder(value: unknown): value is object {
  return typeof value === 'object' && value !== null
}

/**
 * Converts decisions from the API to decisions on a run. Throws an `HttpProblem` 400 if a decision approves or answers an item with hidden
 * parts without `acknowledgeHidden`, or contains the placeholder of a hidden value.
 */
export function checkDecisions(given: readonly GivenDecision[], pending: readonly unknown[]): Decision[] {
  const itemOf = itemFinder(pending)
  return given.map((decision, at) => {
    const item = itemOf(decision)
    checkForm(decision, item as PendingItem | undefined, `decisions.${at}`)
    const hidden = isJsonObject(item) && Array.isArray(item.hidden) ? item.hidden.map(String) : []
    return withoutHidden(decision as JsonObject, item, { hidden, param: `decisions.${at}` }) as Decision
  })
}

/** Throws an `HttpProblem` 400 if a decision has unknown fields. The field `by` is not allowed, because the token identifies the caller. */
function checkForm({ acknowledgeHidden: _, ...given }: GivenDecision, item: PendingItem | undefined, param: string): void {
  if ('by' in given) {
    const problem = `Expected no \`by\` in \`${param}\`: who decided is known from the token`
    throw new HttpProblem(400, 'invalid_request', problem, { param: `${param}.by` })
  }
  // Clients may copy `hidden` and `runId` from the listed item.
  const { hidden: _hidden, runId: _runId, ...decision } = given as JsonObject
  blamingRequest(() => {
    checkNamesItem(decision, param)
    if (item !== undefined) checkDecision(decision, item, param)
  })
}

interface Seen {
  hidden: readonly string[]
  /** The path of the decision in the request. */
  param: string
}

function withoutHidden(
  { acknowledgeHidden, hidden: _hidden, runId: _runId, ...decision }: JsonObject,
  item: unknown,
  { hidden, param }: Seen,
): JsonObject {
  if (!isJsonObject(item) || hidden.length === 0) return decision
  const isAcknowledged = acknowledgeHidden === true
  if (item.kind === 'approval' && decision.approved === true) return checkApproval({ ...decision, isAcknowledged }, item, { hidden, param })
  if (decision.answer !== undefined && !isAcknowledged) throw unseen(hidden, param, ['question', 'answers', 'decline it'])
  return decision
}

function checkApproval({ isAcknowledged, ...decision }: JsonObject, item: JsonObject, { hidden, param }: Seen): JsonObject {
  const { args, ...approval } = decision
  if (args === undefined || isDeepStrictEqual(args, item.args)) {
    // Without `args`, the decision approves the call's real arguments, not the redacted arguments.
    if (isAcknowledged === true) return approval
    throw unseen(hidden, param, ['call', 'approves', 'give other `args`, reject the call'])
  }
  for (const one of hidden.filter((each) => each.startsWith('/args'))) {
    const [value, shown] = [args, item.args].map((whole) => JSON.stringify(valueAt(whole, one.slice('/args'.length))))
    if (value !== undefined && (value === shown || value.includes(REDACTED)))
      throw new HttpProblem(400, 'hidden_arguments', `Expected the actual value at ${one}, got the placeholder for a hidden value`, {
        param,
      })
  }
  return decision
}

function unseen(paths: readonly string[], param: string, [what, decides, wayOut]: readonly [string, string, string]): HttpProblem {
  const named = paths.slice(0, maxNamed).join(', ')
  const words = `Part of this ${what} is hidden (${named}), and was not seen by the person who ${decides} it: ${wayOut}, or say \`acknowledgeHidden: true\``
  return new HttpProblem(400, 'hidden_arguments', words, { param })
}

function valueAt(whole: Json | undefined, pointer: string): Json | undefined {
  const keys = pointer.split('/').slice(1)
  return keys.reduce<Json | undefined>((value, key) => {
    const name = key.replaceAll('~1', '/').replaceAll('~0', '~')
    if (Array.isArray(value)) return value[Number(name)]
    return isJsonObject(value) && Object.hasOwn(value, name) ? value[name] : undefined
  }, whole)
}
