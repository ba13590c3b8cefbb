import { useMemo } from 'preact/hooks'

let last = 0

/** A name for an element, for labels and descriptions to point to. Other than those of `useId` it is the only one in the page, dialogs included. */
export function useNewId(): string {
  return useMemo(() => `n${++last}`, [])
}
