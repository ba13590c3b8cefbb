import { signal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import { type Place, places } from './places.ts'

/** The view in an address, and what it should show: `#/runs/ID`. */
export interface Address {
  place: Place['name']
  param: string | undefined
}

/** Unknown addresses show the runs. */
function read(): Address {
  const [, wanted, id = ''] = location.hash.split('/')
  const place = places.find(({ name }) => name === wanted)?.name
  if (place === undefined) return { place: 'runs', param: undefined }
  return { place, param: id === '' ? undefined : decoded(id) }
}

/** Decodes a part of an address, which may be invalid. */
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
 * Removes the code of a sign-in link from the address, so that nobody reads it there or goes back to it. Returns the code; undefined if
 * there is none.
 */
export function takeLinkCode(): string | undefined {
  const [, code] = /^#\/sign-in\/(.+)$/.exec(location.hash) ?? []
  if (code === undefined) return undefined
  history.replaceState(null, '', '#/runs')
  address.value = read()
  return decoded(code)
}

/** The window title of the current view. */
export const title = signal('')

/** Sets the window title while this view is shown. */
export function useTitle(words: string): void {
  useEffect(() => {
    title.value = words
  }, [words])
}
