import { globSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { expect, it } from 'vitest'

const root = fileURLToPath(new URL('../../', import.meta.url))
/** Examples show the package as it is; the others are about the mock provider itself. */
const exempt = /^(callbacks|clients|examples|testing|models\/rules)\/|^option-names\.test\.ts$/

it('every suite starts providers with the real rules: `startStrictProvider`, not `startMockProvider`', () => {
  const files = globSync('**/*.ts', { cwd: root }).map((file) => file.replaceAll('\\', '/'))
  expect(files).toContain('models/fallback.test.ts')
  const lenient = files.filter((file) => !exempt.test(file) && readFileSync(`${root}${file}`, 'utf8').includes('startMockProvider'))
  expect(lenient).toEqual([])
})

it('every contract suite uses the rules', () => {
  for (const file of globSync('models/*-contract.test.ts', { cwd: root }))
    expect(readFileSync(`${root}${file}`, 'utf8')).toContain('refuse: refuseIllegal')
})
