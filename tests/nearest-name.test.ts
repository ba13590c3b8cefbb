import { describe, expect, it } from 'vitest'
import { nearestName } from '../src/core/nearest-name.ts'

describe('nearestName', () => {
  const options = ['model', 'maxIterations', 'toolTimeoutMs', 'deadlineMs', 'baseURL', 'tools', 'description']

  it.each([
    ['maxIteration', 'maxIterations', 'a letter left out'],
    ['modell', 'model', 'a letter added'],
    ['modle', 'model', 'two letters swapped'],
    ['descriptoin', 'description', 'two letters swapped near the end'],
    ['toolTimeoutMa', 'toolTimeoutMs', 'a letter replaced'],
    ['base_url', 'baseURL', 'another way to write it'],
    ['MODEL', 'model', 'another case'],
    ['deadline', 'deadlineMs', 'without its unit'],
    ['tool', 'tools', 'the singular'],
  ])('%s → %s: %s', (given, meant) => {
    expect(nearestName(given, options)).toBe(meant)
  })

  it.each([['temperature'], ['me'], ['x'], [''], ['__proto__'], ['-'], ['m'.repeat(1_000_000)]])('suggests nothing for %.20s', (given) => {
    expect(nearestName(given, options)).toBeUndefined()
  })

  it('suggests nothing without a common letter', () => {
    expect(nearestName('a', ['b', '', 'c'])).toBeUndefined()
    expect(nearestName('ab', ['cd', 'ef'])).toBeUndefined()
  })

  it('suggests the nearest, and the first of equally near names', () => {
    expect(nearestName('chaat', ['cheat', 'chat', 'chart'])).toBe('cheat')
    expect(nearestName('chatt', ['chart', 'chat'])).toBe('chart')
    expect(nearestName('serve', ['server', 'serve'])).toBe('serve')
    expect(nearestName('serve', new Set(['server']))).toBe('server')
  })

  it('suggests nothing without names', () => {
    expect(nearestName('model', [])).toBeUndefined()
  })
})
