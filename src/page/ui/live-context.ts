import { useComputed } from '@preact/signals'
import { createContext } from 'preact'
import { useContext, useEffect, useRef } from 'preact/hooks'
import type { Live } from '../data/live.ts'

export const LiveContext = createContext<Live | undefined>(undefined)

/** Returns the state of the service. A component that reads from it re-renders after any change. */
export function useLive(): Live {
  const live = useContext(LiveContext)
  if (live === undefined) throw new Error('There is no Live above this component')
  return live
}

/** Calls `load` when the component is first shown, when `key` changes, and whenever the connection to the service is restored. */
export function useWhenConnected(load: () => unknown, key?: string): void {
  const live = useLive()
  const isLost = useComputed(() => live.connection === 'lost').value
  const isFirst = useRef(true)
  useEffect(() => {
    if (isFirst.current || !isLost) void load()
    isFirst.current = false
  }, [isLost, key])
}
