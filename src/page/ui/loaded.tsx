import type { ComponentChildren, ComponentType, FunctionComponent } from 'preact'
import { useEffect, useReducer, useState } from 'preact/hooks'
import { messageOf } from '../data/api.ts'

/** How long to wait before a script is requested again, in milliseconds. The wait doubles with each failure. */
const firstWaitMs = 1_000
const longestWaitMs = 10_000

/**
 * Creates a component whose script is loaded when the component is first shown. Use it for parts that are rarely needed at the start. A
 * script that could not be loaded is requested again after a delay, when the browser is back online, or when the user presses a button.
 */
export function loaded<Props extends object>(load: () => Promise<ComponentType<Props>>): FunctionComponent<Props> {
  let known: { Shown: ComponentType<Props> } | undefined
  return function Loaded(props) {
    const [state, setState] = useState<{ Shown: ComponentType<Props> } | { failure: string } | undefined>(known)
    const [attempts, again] = useReducer((count: number, _: unknown) => count + 1, 0)
    useEffect(() => {
      if (known !== undefined) return setState(known)
      let timer: number | undefined
      let isOver = false
      load().then(
        (Shown) => {
          known ??= { Shown }
          if (!isOver) setState(known)
        },
        (thrown: unknown) => {
          if (isOver) return
          setState({ failure: messageOf(thrown) })
          timer = setTimeout(() => again(undefined), Math.min(firstWaitMs * 2 ** attempts, longestWaitMs))
          addEventListener('online', again)
        },
      )
      return () => {
        isOver = true
        clearTimeout(timer)
        removeEventListener('online', again)
      }
    }, [attempts])
    if (state === undefined) return <Loading />
    if ('Shown' in state) return <state.Shown {...props} />
    return (
      <Loading failure={`This part of the page could not be loaded: ${state.failure}`} retry={again}>
        {/* This link reloads the page, because some browsers don't request a script again after they were unable to load it. */}
        <button type="button" class="link-button" onClick={() => location.reload()}>
          Reload the page
        </button>
      </Loading>
    )
  }
}

interface LoadingProps {
  /** The reason why the content could not be loaded. `''` while it is loading. */
  failure?: string
  retry?: (event: Event) => unknown
  children?: ComponentChildren
}

/** Shows a placeholder for content that is loading. If loading has failed, shows the reason. */
export function Loading({ failure = '', retry, children }: LoadingProps) {
  if (failure === '')
    return (
      <div class="skeleton" role="status">
        <span class="visually-hidden">Loading…</span>
        <i />
        <i />
        <i />
      </div>
    )
  return (
    <p class="error-text failed-load" role="alert">
      <span>{failure}</span>
      {retry !== undefined && (
        <button type="button" class="link-button" onClick={retry}>
          Try again
        </button>
      )}
      {children}
    </p>
  )
}
