import { isDeepStrictEqual } from 'node:util'
import type { Decision } from '../agent/decisions/decisions.ts'
import { REDACTED } from '../core/logger.ts'
import { isJsonObject, type Json, type JsonObject } from '../core/messages.ts'
import { HttpProblem, pointerTo } from './http/problem.ts'

/** A decision as it comes over the API. */
export type GivenDecision = Decision & {
  /** Approves what wasn't shown, too. */
  acknowledgeHidden?: boolean
}

const maxPaths = 100
/** Of one path, in characters. A model chooses the keys: of what has a longer path, what it is in is named. */
const maxLength = 500
/** In an error. */
const maxNamed = 5

/** What of a pending item is not shown, and of those of agents inside it: JSON Pointers into what is shown. At most 100. */
export function hiddenParts(item: object, shown: object): string[] {
  return [...partsOf(item, shown, '')].slice(0, maxPaths)
}

function* partsOf(item: unknown, shown: unknown, path: string): Iterable<string> {
  if (!isJsonObject(item) || !isJsonObject(shown)) return
  yield* differences(item.args, shown.args, `${path}/args`)
  const [inner, shownInner] = [pendingIn(item), pendingIn(shown)]
  if (inner.length === 0) yield* differences(item.about, shown.about, `${path}/about`)
  for (const [at, one] of inner.entries()) yield* partsOf(one, shownInner[at], `${path}/about/pending/${at}`)
}

/** Keys may be shown differently, but are in the same order. */
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

/** What an agent inside a call waits for. */
function pendingIn({ about }: JsonObject): readonly Json[] {
  return isJsonObject(about) && typeof about.agent === 'string' && Array.isArray(about.pending) ? about.pending : []
}

/**
 * Decisions as a run takes them. Throws an `HttpProblem` 400 for an approval of arguments of which a part was not shown, unless it says so, and
 * for arguments that have a stand-in where a value was hidden.
 */
export function checkDecisions(given: readonly GivenDecision[], pending: readonly unknown[]): Decision[] {
  return given.map((decision, at) => {
    const item = pending.find((one) => isAbout(decision as JsonObject, one))
    const hidden = isJsonObject(item) && Array.isArray(item.hidden) ? item.hidden.map(String) : []
    return checkDecision(decision as JsonObject, item, { hidden, path: '', param: `decisions.${at}` }) as Decision
  })
}

interface Seen {
  hidden: readonly string[]
  /** Of the item. */
  path: string
  /** Of the decision. */
  param: string
}

function checkDecision({ acknowledgeHidden, ...decision }: JsonObject, item: unknown, { hidden, path, param }: Seen): JsonObject {
  if (!isJsonObject(item)) return decision
  if (item.kind === 'approval' && decision.approved === true)
    return checkApproval({ ...decision, acknowledgeHidden: acknowledgeHidden === true }, item, { hidden, path, param })
  const { answer } = decision
  if (!isJsonObject(answer) || !Array.isArray(answer.decisions)) return decision
  const inner = pendingIn(item)
  const decisions = answer.decisions.map((one, at) => {
    const index = isJsonObject(one) ? inner.findIndex((each) => isAbout(one, each)) : -1
    const place = { hidden, path: `${path}/about/pending/${index}`, param: `${param}.answer.decisions.${at}` }
    return isJsonObject(one) ? checkDecision(one, inner[index], place) : one
  })
  return { ...decision, answer: { ...answer, decisions } }
}

function checkApproval({ acknowledgeHidden, ...decision }: JsonObject, item: JsonObject, { hidden, path, param }: Seen): JsonObject {
  const paths = hidden.filter((one) => one.startsWith(`${path}/`))
  if (paths.length === 0) return decision
  const { args, ...approval } = decision
  if (args === undefined || isDeepStrictEqual(args, item.args)) {
    // The call's own arguments are meant, not what stands for them.
    if (acknowledgeHidden === true) return approval
    const words =
      `Part of this call is hidden (${paths.slice(0, maxNamed).join(', ')}), and was not seen by whoever approves it: give other \`args\`, reject the call, ` +
      'or say `acknowledgeHidden: true`'
    throw new HttpProblem(400, 'hidden_arguments', words, { param })
  }
  for (const one of paths.filter((each) => each.startsWith(`${path}/args`))) {
    const [value, shown] = [args, item.args].map((whole) => JSON.stringify(valueAt(whole, one.slice(`${path}/args`.length))))
    if (value !== undefined && (value === shown || value.includes(REDACTED)))
      throw new HttpProblem(400, 'hidden_arguments', `Expected the actual value at ${one}, got the placeholder for a hidden value`, {
        param,
      })
  }
  return decision
}

function isAbout({ toolCallId, fingerprint }: JsonObject, item: unknown): boolean {
  return isJsonObject(item) && item.toolCallId === toolCallId && item.fingerprint === fingerprint
}

function valueAt(whole: Json | undefined, pointer: string): Json | undefined {
  const keys = pointer.split('/').slice(1)
  return keys.reduce<Json | undefined>((value, key) => {
    const name = key.replaceAll('~1', '/').replaceAll('~0', '~')
    if (Array.isArray(value)) return value[Number(name)]
    return isJsonObject(value) && Object.hasOwn(value, name) ? value[name] : undefined
  }, whole)
}
