import { signal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import { type Place, places } from './places.ts'

/** What the address names: a view, and what it is to show; `#/runs/ID`. */
export interface Address {
  place: Place['name']
  param: string | undefined
}

/** What is at no place of the page leads to the runs. */
function read(): Address {
  const [, wanted, id = ''] = location.hash.split('/')
  const place = places.find(({ name }) => name === wanted)?.name
  if (place === undefined) return { place: 'runs', param: undefined }
  return { place, param: id === '' ? undefined : decoded(id) }
}

/** A part of an address, which anybody may have written. */
function decoded(part: string): string {
  try {
    return decodeURIComponent(part)
  } catch {
    return part
  }
}

export const address = signal(read())
addEventListener('hashchange', () => {
  address.value = read()
})

/**
 * Takes the code of a sign-in link out of the address, so that nobody reads it there or goes back to it, and returns it; undefined: there is
 * none.
 */
export function takeLinkCode(): string | undefined {
  const [, code] = /^#\/sign-in\/(.+)$/.exec(location.hash) ?? []
  if (code === undefined) return undefined
  history.replaceState(null, '', '#/runs')
  address.value = read()
  return decoded(code)
}

/** Of the view that is shown: what the window is called. */
export const title = signal('')

/** Says what the window is called while this view is shown. */
export function useTitle(words: string): void {
  useEffect(() => {
    title.value = words
  }, [words])
}
