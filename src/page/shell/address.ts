import { signal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import { decoded } from './access.ts'
import { type Place, places } from './places.ts'

/** What the address names: a view, and what it is to show; `#/runs/ID`. */
export interface Address {
  place: Place['name']
  param: string | undefined
}

function read(): Address {
  const [, wanted, id = ''] = location.hash.split('/')
  const place = places.find(({ name }) => name === wanted)?.name ?? 'runs'
  return { place, param: id === '' ? undefined : decoded(id) }
}

export const address = signal(read())
addEventListener('hashchange', () => {
  address.value = read()
})

/** Of the view that is shown: what the window is called. */
export const title = signal('')

/** Says what the window is called while this view is shown. */
export function useTitle(words: string): void {
  useEffect(() => {
    title.value = words
  }, [words])
}
