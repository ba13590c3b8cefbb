import { expect, it } from 'vitest'
import { tryPlaces } from './callbacks.ts'
import { places } from './places.ts'

it('P3.8 H61 every callback, misbehaving in each of ninety ways', { timeout: 900_000 }, async () => {
  const found = await tryPlaces('all', Object.keys(places))
  expect([...found].filter(([, problems]) => problems.length > 0)).toEqual([])
  expect(found.size).toBe(Object.keys(places).length)
})
