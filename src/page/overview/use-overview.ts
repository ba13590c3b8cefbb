import { useEffect, useRef, useState } from 'preact/hooks'
import { ask, messageOf } from '../data/api.ts'
import type { Live } from '../data/live.ts'
import type { Overview } from '../types.ts'
import { useWhenConnected } from '../ui/live-context.ts'

/** Minimum pause between requests, in milliseconds. Without it, the end of each run would cause a request. */
const pauseMs = 2_500
const lookMs = 15_000

export type WindowName = 'hour' | 'day'

export const timeOfDay: Intl.DateTimeFormat = new Intl.DateTimeFormat(undefined, { hour: '2-digit', minute: '2-digit', hourCycle: 'h23' })

/** Formats the start time of a step. */
export function timeOfStep({ from, stepMs }: Overview, step: number): string {
  return timeOfDay.format(new Date(Date.parse(from) + step * stepMs))
}

/**
 * Returns the latest overview of a time window, and updates it as runs end. Until the overview arrives, returns that of the previous
 * window. `failure` says why the latest request failed; `load` sends a request immediately.
 */
export function useOverview(
  live: Live,
  name: WindowName,
): { loaded?: { name: WindowName; overview: Overview }; failure: string; load: () => void } {
  const [loaded, setLoaded] = useState<{ name: WindowName; overview: Overview }>()
  const [failure, setFailure] = useState('')
  const current = useRef(() => {})
  const load = () => current.current()
  useEffect(() => {
    let timer: number | undefined
    /** A counter that increases with every request, so that only the response to the latest request is shown. */
    let turn = 0
    const load = async () => {
      clearTimeout(timer)
      timer = undefined
      const asked = ++turn
      try {
        const overview = await ask(`admin/api/overview?window=${name}`)
        if (asked !== turn) return
        setLoaded({ name, overview })
        setFailure('')
      } catch (thrown) {
        if (asked === turn) setFailure(messageOf(thrown))
      }
    }
    const looking = setInterval(() => {
      if (!document.hidden) void load()
    }, lookMs)
    const unsubscribe = live.onRuns((ids) => {
      if (ids.length > 0) timer ??= setTimeout(load, pauseMs)
    })
    current.current = () => void load()
    return () => {
      turn++
      clearTimeout(timer)
      clearInterval(looking)
      unsubscribe()
    }
  }, [live, name])
  useWhenConnected(load, name)
  return { loaded, failure, load }
}
