import { signal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import { type Place, places } from './places.ts'

/** The parameters after the `?` of an address. Empty parameters are left out. */
export type Query = Readonly<Record<string, string>>

/** A parsed address, such as `#/runs/ID?sort=-cost`. */
export interface Address {
  place: Place['name']
  param: string | undefined
  query: Query
}

/** Reads the current address. An unknown address shows the runs. */
function read(): Address {
  const { hash } = location
  const end = hash.indexOf('?')
  const [, wanted, id = ''] = (end < 0 ? hash : hash.slice(0, end)).split('/')
  const query = end < 0 ? {} : Object.fromEntries([...new URLSearchParams(hash.slice(end))].filter(([, value]) => value !== ''))
  const place = places.find(({ name }) => name === wanted)?.name
  if (place === undefined) return { place: 'runs', param: undefined, query: {} }
  return { place, param: id === '' ? undefined : decoded(id), query }
}

/** Decodes a part of an address. Returns an invalid part unchanged. */
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

/** Returns the `?…` of an address, or `''` if there are no parameters. */
export function searchOf(query: Query): string {
  const text = new URLSearchParams(Object.entries(query).filter(([, value]) => value !== '')).toString()
  return text === '' ? '' : `?${text}`
}

/** Changes parameters of the current address, without a new entry in the browser's history. The value `''` removes a parameter. */
export function changeQuery(change: Query): void {
  const [path] = location.hash.split('?')
  history.replaceState(null, '', `${path || '#/runs'}${searchOf({ ...address.value.query, ...change })}`)
  address.value = read()
}

/**
 * Removes the code of a sign-in link from the address, so that nobody can read the code there or go back to it. Returns the code, or
 * undefined if the address has no code.
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

/** Sets the window title while the current view is shown. */
export function useTitle(words: string): void {
  useEffect(() => {
    title.value = words
  }, [words])
}
