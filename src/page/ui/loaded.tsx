import type { ComponentType, FunctionComponent } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { messageOf } from '../data/api.ts'

/** A component whose script is loaded when it is first shown. Use it for what is rarely needed first. */
export function loaded<Props extends object>(load: () => Promise<ComponentType<Props>>): FunctionComponent<Props> {
  let known: { Shown: ComponentType<Props> } | undefined
  return function Loaded(props) {
    const [state, setState] = useState<{ Shown: ComponentType<Props> } | { failure: string } | undefined>(known)
    useEffect(() => {
      if (known !== undefined) return setState(known)
      load().then(
        (Shown) => {
          known ??= { Shown }
          setState(known)
        },
        (thrown: unknown) => setState({ failure: messageOf(thrown) }),
      )
    }, [])
    if (state === undefined) return null
    if ('failure' in state)
      return <p class="error-text" role="alert">{`This part of the page could not be loaded: ${state.failure}. Reload the page.`}</p>
    return <state.Shown {...props} />
  }
}
