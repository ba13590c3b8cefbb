import type { Json } from '../../core/messages.ts'
import type { Durable } from '../journal/journal.ts'
import type { SavedValue } from '../types/running-call.ts'

/** The most bytes of JSON that one call can save. */
const mostBytes = 1_048_576

/** The value that this call has saved. Undefined if the journal stores only steps. Kept until the run has ended. */
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
      // Writes are queued, because an earlier one may take longer.
      const written = last.then(() => durable.keep?.(name, text, Number.MAX_SAFE_INTEGER))
      last = written.catch(() => {})
      await written
    },
  }
}
