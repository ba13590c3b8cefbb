import type { FunctionComponent } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { messageOf } from '../data/api.ts'
import { address } from './address.ts'

/** Gives the focus to the heading of what the address names, so that keyboard and screen reader go on from there. */
export function focusHeading(): void {
  const heading = document.querySelector(address.value.param === undefined ? '#main h1' : '#main h2')
  if (heading instanceof HTMLElement) heading.focus({ preventScroll: true })
}

const loads: (() => Promise<unknown>)[] = []

/** A part of the page that its first list does not wait for: loaded when it is gone to, or when there is time. */
export function loaded<Props extends object>(load: () => Promise<FunctionComponent<Props>>): FunctionComponent<Props> {
  let known: FunctionComponent<Props> | undefined
  const loadOnce = async () => {
    known ??= await load()
    return known
  }
  loads.push(loadOnce)
  return function Loaded(props) {
    const [part, setPart] = useState(() => ({ Part: known, failure: '' }))
    useEffect(() => {
      if (part.Part !== undefined) return
      loadOnce().then(
        (Part) => setPart({ Part, failure: '' }),
        (thrown: unknown) => setPart({ Part: undefined, failure: messageOf(thrown) }),
      )
    }, [part.Part])
    useEffect(() => {
      if (part.Part !== undefined) focusHeading()
    }, [part.Part])
    if (part.Part !== undefined) return <part.Part {...props} />
    if (part.failure === '') return null
    return <p class="error-text" role="alert">{`This view could not be loaded: ${part.failure}. Reload the page.`}</p>
  }
}

/** Loads all that is still to come. What fails is tried again, and told of, when it is gone to. */
export function loadTheRest(): void {
  for (const load of loads) load().catch(() => {})
}
