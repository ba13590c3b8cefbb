import { randomUUID } from 'node:crypto'
import { isDeepStrictEqual } from 'node:util'
import { itemFinder } from '../../agent/calls/waiting/verdict.ts'
import type { Decision } from '../../agent/decisions/decisions.ts'
import type { ShownRuns } from '../../agent/journal/shown-runs.ts'
import type { PendingItem } from '../../agent/types/options.ts'
import { isJsonObject, type Json, type JsonObject } from '../../core/messages.ts'
import type { Caller } from '../http/auth.ts'
import type { EventRedactor } from '../redaction/event-redactor.ts'
import type { ServiceRun } from './service-run.ts'

/** Maximum size of a value that is stored completely, in characters of JSON. */
const longest = 65_536

export interface Decided {
  decisions: readonly Decision[]
  by: Caller
  /** The context of the resumed run. */
  context: unknown
}

interface Told {
  /** The name of the token that made the decision. */
  by: string
  redactor: EventRedactor
}

/** Adds the name of the caller's token to decisions. */
export function signed(decisions: readonly Decision[], { name }: Caller): Decision[] {
  return decisions.map((decision) => ({ ...decision, by: name }))
}

/**
 * Describes each decision as redacted JSON: the decided item, the decision, who made it, and when. Items of sub-agents are included.
 * `pending` contains the redacted items that the client saw.
 */
export function describeDecisions(decisions: readonly Decision[], pending: readonly unknown[], told: Told): string[] {
  const at = new Date().toISOString()
  const itemOf = itemFinder(pending.filter(isJsonObject))
  return decisions
    .flatMap((decision) => describe(decision as JsonObject, itemOf(decision), told))
    .map((one) => JSON.stringify({ at, ...one }))
}

function describe(decision: JsonObject, item: JsonObject | undefined, { by, redactor }: Told): object[] {
  if (item === undefined) return []
  const { about, path } = item as never as PendingItem
  const agents = path?.map(({ agent }) => agent) ?? []
  const tool = String(item.tool)
  const shown = (value: Json | undefined) => shortened(value === undefined ? value : redactor.redactArguments(tool, { value }).value)
  const asked = isJsonObject(item.args) ? item.args : {}
  const edited = isJsonObject(decision.args) ? redactor.redactArguments(tool, decision.args) : undefined
  const isEdited = edited !== undefined && !isDeepStrictEqual(edited, asked)
  return [
    {
      by,
      kind: item.kind,
      tool,
      toolCallId: item.toolCallId,
      verdict: verdictOf(decision, isEdited),
      args: shortened(asked),
      ...(agents.length === 0 ? {} : { agents }),
      about: about === undefined ? undefined : shortened(about),
      ...(isEdited ? { edited: shortened(edited) } : {}),
      ...(typeof decision.reason === 'string' ? { reason: redactor.redactText(decision.reason) } : {}),
      ...(typeof decision.note === 'string' ? { note: redactor.redactText(decision.note) } : {}),
      ...('answer' in decision ? { answer: shown(decision.answer) } : {}),
      ...('result' in decision ? { result: shown(decision.result) } : {}),
    },
  ]
}

function verdictOf(decision: JsonObject, isEdited: boolean): string {
  if ('answer' in decision) return 'answered'
  if ('result' in decision) return 'result'
  if (decision.approved !== true) return 'rejected'
  return isEdited ? 'edited' : 'approved'
}

/** Replaces a long value by the beginning of its JSON. */
function shortened(value: Json | undefined): Json | undefined {
  const text = JSON.stringify(value)
  return text === undefined || text.length <= longest ? value : `${text.slice(0, longest)}…`
}

/** Records decisions on a run before they are carried out, so that the record is complete even if this process dies. */
export class DecisionNote {
  readonly #id = randomUUID()
  readonly #run: ServiceRun
  readonly #before: readonly string[]
  readonly #shown: Pick<ShownRuns, 'noteDecisions' | 'withdrawDecisions'>

  constructor(run: ServiceRun, shown: Pick<ShownRuns, 'noteDecisions' | 'withdrawDecisions'>) {
    this.#run = run
    this.#before = run.decisions
    this.#shown = shown
  }

  async write(decisions: readonly string[]): Promise<void> {
    await this.#shown.noteDecisions(this.#run.id, this.#id, decisions)
    this.#run.decisions = [...this.#before, ...decisions]
  }

  /** Removes the record of a decision that could not be carried out. Never rejects. */
  async withdraw(): Promise<void> {
    this.#run.decisions = this.#before
    await this.#shown.withdrawDecisions(this.#run.id, this.#id).catch(() => {})
  }
}
