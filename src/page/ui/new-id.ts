import { useMemo } from 'preact/hooks'

let last = 0

/**
 * An id for an element, for labels and descriptions to refer to. Unlike those of `useId`, it is unique on the whole page, including
 * dialogs.
 */
export function useNewId(): string {
  return useMemo(() => `n${++last}`, [])
}
