import type { Json } from '../../core/messages.ts'
import type { Durable, RecordEntry } from './journal.ts'

/** A journal that stores records of calls. */
export type RecordKeeper = Durable & Pick<Required<Durable>, 'append' | 'entries'>

export function keepsRecords(durable: Durable | undefined): durable is RecordKeeper {
  return durable?.append !== undefined && durable.entries !== undefined
}

/** The record of a call, opened for one execution of the call. */
export class CallRecord {
  /** The entries of earlier executions. */
  readonly entries: readonly RecordEntry[]
  readonly #keeper: RecordKeeper
  readonly #name: string
  #position: number
  #hasLeft = false

  private constructor(keeper: RecordKeeper, name: string, entries: readonly RecordEntry[]) {
    this.#keeper = keeper
    this.#name = name
    this.entries = entries
    // Positions may be missing: entries that were being stored when a process died are lost.
    this.#position = (entries.at(-1)?.position ?? -1) + 1
  }

  static async open(keeper: RecordKeeper, name: string): Promise<CallRecord> {
    // The entries are copied, because the list in memory grows with the record.
    return new CallRecord(keeper, name, [...(await keeper.entries(name))])
  }

  /** Adds an entry at the end. Resolves when it is stored. */
  async add(fingerprint: string, value: Json): Promise<void> {
    if (!this.#hasLeft) await this.#keeper.append(this.#name, { position: this.#position++, fingerprint, value })
  }

  /** Stops adding entries. Called when another execution of the call has taken over the record. */
  leave(): void {
    this.#hasLeft = true
  }
}
