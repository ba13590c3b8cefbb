import { useMemo } from 'preact/hooks'

let last = 0

/**
 * Returns an id for an element, to which labels and descriptions can refer. Unlike ids of `useId`, it is unique on the whole page,
 * including dialogs.
 */
export function useNewId(): string {
  return useMemo(() => `n${++last}`, [])
}
