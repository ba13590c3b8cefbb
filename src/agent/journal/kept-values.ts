import type { Json } from '../../core/messages.ts'
import type { SavedValue } from '../types/running-call.ts'
import type { Durable } from './journal.ts'

/** The id of a stored text. Equal texts have equal ids. A text that several calls return is therefore stored only once. */
export function keptId(text: string): string {
  const { createHash } = process.getBuiltinModule('node:crypto')
  return createHash('sha256').update(text).digest('hex').slice(0, 20)
}

/**
 * Stores the large results of a run, and texts that tools save by name. With a journal, the texts are stored in the journal. Without a
 * journal, they are kept in memory, and in the state of a paused run. A nested run stores its texts with the outer run.
 */
export class KeptResults {
  readonly #outer: KeptResults | undefined
  #journal: Durable | undefined
  #texts = new Map<string, string>()
  /** The text that was read last. A model that reads one part of a text usually reads another part next. */
  #lastRead: { id: string; text: string } | undefined

  constructor(outer: KeptResults | undefined) {
    this.#outer = outer
  }

  /** Begins an execution. From now on, results are kept in its journal, if it has one. */
  begin(durable: Durable): void {
    if (durable.survivesCrashes) this.#journal = durable
  }

  /** Stores a text and returns its id. Undefined if the run's texts would exceed `maxBytes` (UTF-8), or if its journal can't keep texts. */
  async keep(text: string, maxBytes: number): Promise<string | undefined> {
    const id = keptId(text)
    return (await this.put(id, text, maxBytes)) ? id : undefined
  }

  /**
   * Stores a text under a name, replacing an earlier text of that name. Resolves with false if the run's texts would exceed `maxBytes`, or
   * if its journal can't keep texts.
   */
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

  /** The text with this id. Undefined if this run doesn't keep it. */
  async read(id: string): Promise<string | undefined> {
    // Other names are refused, because the model may ask for any name and the journal stores other texts too.
    if (!/^[0-9a-f]{20}$/.test(id)) return undefined
    if (this.#outer !== undefined) return this.#outer.read(id)
    if (this.#lastRead?.id === id) return this.#lastRead.text
    const text = await this.get(id)
    this.#lastRead = text === undefined ? undefined : { id, text }
    return text
  }

  /** The texts in the state of a paused run. Undefined if no text is kept. */
  get texts(): { [id: string]: string } | undefined {
    return this.#texts.size === 0 ? undefined : Object.fromEntries(this.#texts)
  }

  recall(texts: { [id: string]: string } = {}): void {
    this.#texts = new Map(Object.entries(texts))
  }
}

/** Maximum number of bytes of JSON that one call can save. */
const mostBytes = 1_048_576

/** Reads and writes the value that a call saves. The value is kept until the run has ended. Undefined if the journal stores only steps. */
export function savedValueOf(durable: Pick<Durable, 'keep' | 'kept'>, key: string): SavedValue | undefined {
  if (durable.keep === undefined) return undefined
  const name = `saved/${key}`
  let last: Promise<unknown> = Promise.resolve()
  return {
    read: async () => {
      const text = await durable.kept?.(name)
      return text === undefined ? undefined : (JSON.parse(text) as Json)
    },
    write: async (value) => {
      const text = JSON.stringify(value)
      const bytes = Buffer.byteLength(text)
      if (bytes > mostBytes) throw new TypeError(`Expected a saved value of at most ${mostBytes} bytes, got ${bytes}`)
      // Writes are queued, because an earlier write may take longer than a later write.
      const written = last.then(() => durable.keep?.(name, text, Number.MAX_SAFE_INTEGER))
      last = written.catch(() => {})
      await written
    },
  }
}
