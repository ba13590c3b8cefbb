import { useEffect, useState } from 'preact/hooks'
import { ask, messageOf } from '../data/api.ts'
import type { Run, SessionSums } from '../types.ts'
import { useLive, useWhenConnected } from '../ui/live-context.ts'

/** How long changes are collected before the data is requested again, in milliseconds. */
const restMs = 1_500

export interface SessionPage {
  data: SessionSums[]
  nextOffset?: number
}

/** Data of the service that is kept up to date. `failure` says why the last request failed. */
interface Loaded<Value> {
  value: Value | undefined
  failure: string
  load(): Promise<void>
}

export function useSessions(query: Record<string, string>): Loaded<SessionPage> {
  return useLoaded(`v1/sessions?${new URLSearchParams(query)}`)
}

/** Returns the runs of a session. The newest run comes first. */
export function useRunsOf(session: string, owner: string): Loaded<{ data: Run[] }> {
  return useLoaded(`v1/runs?${new URLSearchParams({ limit: '100', session, ...(owner === '' ? {} : { owner }) })}`)
}

function useLoaded<Value>(path: string): Loaded<Value> {
  const live = useLive()
  const [state, setState] = useState<{ path: string; value?: Value; failure: string }>({ path, failure: '' })
  const load = async () => {
    try {
      const value = await ask(path)
      setState({ path, value, failure: '' })
    } catch (thrown) {
      setState((before) => ({ ...(before.path === path ? before : {}), path, failure: messageOf(thrown) }))
    }
  }
  useWhenConnected(load, path)
  useEffect(() => {
    let timer: number | undefined
    const unsubscribe = live.onRuns((ids) => {
      if (ids.length === 0) return
      timer ??= setTimeout(() => {
        timer = undefined
        void load()
      }, restMs)
    })
    return () => {
      clearTimeout(timer)
      unsubscribe()
    }
  }, [live, path])
  const isCurrent = state.path === path
  return { value: isCurrent ? state.value : undefined, failure: isCurrent ? state.failure : '', load }
}
