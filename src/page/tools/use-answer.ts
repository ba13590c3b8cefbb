import { useComputed } from '@preact/signals'
import { useCallback, useEffect, useRef, useState } from 'preact/hooks'
import { ask, messageOf } from '../data/api.ts'
import { useLive, useWhenConnected } from '../ui/live-context.ts'

/** How long to wait after the end of a call before the tools are requested again, in milliseconds. */
const pauseMs = 2_000

/**
 * Returns the latest response of the service at a path. `load` requests it again. It is also requested again when this or another process
 * has reloaded the configuration.
 */
export function useAnswer<Answer>(path: string): { answer: Answer | undefined; failure: string; load: () => Promise<void> } {
  const live = useLive()
  const loadedAt = useComputed(() => live.state?.config.loadedAt)
  const [answer, setAnswer] = useState<Answer>()
  const [failure, setFailure] = useState('')
  const asking = useRef<AbortController | undefined>(undefined)
  const load = useCallback(async () => {
    asking.current?.abort()
    asking.current = new AbortController()
    const { signal } = asking.current
    try {
      const said = await ask(path, { signal })
      if (signal.aborted) return
      setAnswer(said)
      setFailure('')
    } catch (thrown) {
      if (!signal.aborted) setFailure(messageOf(thrown))
    }
  }, [path])
  useWhenConnected(load, `${path} ${loadedAt.value}`)
  return { answer, failure, load }
}

/** Calls `listener` shortly after a tool call has ended. If several calls end in quick succession, calls `listener` only once. */
export function useWhenCallsEnd(listener: () => unknown): void {
  const live = useLive()
  useEffect(() => {
    let timer: number | undefined
    const stop = live.onEvent(({ type }) => {
      if (type !== 'TOOL_CALL_END' && type !== 'TOOL_CALL_REJECTED') return
      timer ??= setTimeout(() => {
        timer = undefined
        listener()
      }, pauseMs)
    })
    return () => {
      clearTimeout(timer)
      stop()
    }
  }, [live])
}
