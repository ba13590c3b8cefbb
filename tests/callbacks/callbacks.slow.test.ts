import { beforeAll, describe, expect, it } from 'vitest'
import { tryPlaces } from './callbacks.ts'
import { hasContract } from './contracts.ts'
import { notTried, places } from './places.ts'
import { publicCallbacks } from './public-callbacks.ts'

describe('callbacks of the public API', () => {
  const all = publicCallbacks()

  it('P3.8 H61 every function that a program can pass in is tried, or listed with the reason why not', () => {
    expect(all.length).toBeGreaterThan(200)
    const isListed = (name: string) => notTried.some(({ names }) => names.test(name))
    expect(all.filter((name) => !(name in places) && !isListed(name))).toEqual([])
    expect(Object.keys(places).filter((name) => !all.includes(name))).toEqual([])
    expect(notTried.filter(({ names }) => !all.some((name) => names.test(name)))).toEqual([])
  })

  it('each has a contract: whether it may throw, whether it is awaited, and what returning nothing means', () => {
    const isListed = (name: string) => notTried.some(({ names }) => names.test(name))
    expect(all.filter((name) => !isListed(name) && !hasContract(name))).toEqual([])
    expect(hasContract('ModelResponse.text')).toBe(false)
  })

  it('the walk finds options, members, parameters, overridden methods and return values of callbacks', () => {
    expect(all).toEqual(
      expect.arrayContaining([
        'ControlSettings.approve',
        'Tool.execute',
        'EventBus(onFailure)',
        'CustomAgent.prepareTurn',
        'ToolCallEnvironment.whenOver()',
      ]),
    )
  })
})

describe('a callback that throws, rejects, never settles or returns nonsense', () => {
  const names = Object.keys(places)
  let tried: Map<string, string[]>
  beforeAll(async () => {
    tried = await tryPlaces('few', names)
  }, 300_000)

  it.each(names)('P3.8 H61 %s: the process survives, and the operation settles', (name) => {
    expect(tried.get(name) ?? ['was not tried']).toEqual([])
  })
})
