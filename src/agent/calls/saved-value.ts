import type { Json } from '../../core/messages.ts'
import type { Durable } from '../durable/journal.ts'
import type { SavedValue } from './running-call.ts'

/** Of one call, in bytes of JSON. */
const mostBytes = 1_048_576

/** What the call of this step saves; undefined where its journal keeps nothing but steps. Kept until the run has ended. */
export function savedValueOf(durable: Durable, key: string): SavedValue | undefined {
  if (durable.keep === undefined) return undefined
  const name = `saved/${key}`
  return {
    read: async () => {
      const text = await durable.kept?.(name)
      return text === undefined ? undefined : (JSON.parse(text) as Json)
    },
    write: async (value) => {
      const text = JSON.stringify(value)
      if (Buffer.byteLength(text) > mostBytes)
        throw new TypeError(`Expected a saved value of at most ${mostBytes} bytes, got ${text.length}`)
      await durable.keep?.(name, text, Number.MAX_SAFE_INTEGER)
    },
  }
}
