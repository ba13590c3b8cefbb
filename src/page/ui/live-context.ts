import { createContext } from 'preact'
import { useContext } from 'preact/hooks'
import type { Live } from '../data/live.ts'

export const LiveContext = createContext<Live | undefined>(undefined)

/** What goes on in the service. A component that reads of it is drawn anew when anything has changed. */
export function useLive(): Live {
  const live = useContext(LiveContext)
  if (live === undefined) throw new Error('There is no Live above this component')
  return live
}
