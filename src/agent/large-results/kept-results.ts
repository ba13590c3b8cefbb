import type { Durable } from '../journal/journal.ts'

/** The same id for the same text: if a repeated call has the same result, it is kept once. */
export function keptId(text: string): string {
  const { createHash } = process.getBuiltinModule('node:crypto')
  return createHash('sha256').update(text).digest('hex').slice(0, 20)
}

/**
 * The large results of a run, by hashes of their texts, and what its tools keep by name. They are kept beside the steps in its journal or,
 * without one, in memory and in the state of a paused run. Those of a nested run are kept with the outer run, because it is part of that
 * one's call.
 */
export class KeptResults {
  readonly #outer: KeptResults | undefined
  #journal: Durable | undefined
  #texts = new Map<string, string>()
  /** A model that reads a part of a text usually reads another part next. */
  #lastRead: { id: string; text: string } | undefined

  constructor(outer: KeptResults | undefined) {
    this.#outer = outer
  }

  /** Begins an execution. With a journal, results are kept there. */
  begin(durable: Durable): void {
    if (durable.survivesCrashes) this.#journal = durable
  }

  /**
   * Keeps a text and returns its id. Undefined if there is no room for it: a run keeps at most `maxBytes` (UTF-8), and nothing in a journal
   * that can't keep texts.
   */
  async keep(text: string, maxBytes: number): Promise<string | undefined> {
    const id = keptId(text)
    return (await this.put(id, text, maxBytes)) ? id : undefined
  }

  /** Keeps a text by its name, and replaces the earlier one. Resolves with false if there is no room for it. */
  async put(name: string, text: string, maxBytes: number = Number.MAX_SAFE_INTEGER): Promise<boolean> {
    if (this.#outer !== undefined) return this.#outer.put(name, text, maxBytes)
    if (this.#journal !== undefined) return (await this.#journal.keep?.(name, text, maxBytes)) === true
    let bytes = Buffer.byteLength(text)
    for (const [other, kept] of this.#texts) if (other !== name) bytes += Buffer.byteLength(kept)
    if (bytes > maxBytes) return false
    this.#texts.set(name, text)
    return true
  }

  async get(name: string): Promise<string | undefined> {
    if (this.#outer !== undefined) return this.#outer.get(name)
    return this.#journal === undefined ? this.#texts.get(name) : this.#journal.kept?.(name)
  }

  /** Undefined for a text that this run doesn't keep. */
  async read(id: string): Promise<string | undefined> {
    // Other texts are kept beside them, and a model may ask for any name.
    if (!/^[0-9a-f]{20}$/.test(id)) return undefined
    if (this.#outer !== undefined) return this.#outer.read(id)
    if (this.#lastRead?.id === id) return this.#lastRead.text
    const text = await this.get(id)
    this.#lastRead = text === undefined ? undefined : { id, text }
    return text
  }

  /** The texts in the state of a paused run. Undefined if there are none. */
  get texts(): { [id: string]: string } | undefined {
    return this.#texts.size === 0 ? undefined : Object.fromEntries(this.#texts)
  }

  recall(texts: { [id: string]: string } = {}): void {
    this.#texts = new Map(Object.entries(texts))
  }
}
