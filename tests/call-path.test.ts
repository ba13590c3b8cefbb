import { fork } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { expect, it } from 'vitest'
import type { MockReply } from '../src/testing/index.ts'
import { startStrictProvider } from './models/rules/strict-provider.ts'

const map = readFileSync(new URL('../src/README.md', import.meta.url), 'utf8')

/** The files that the map names as the way of a call, in its order. */
const told = [...(map.split('\n## The way of a call\n')[1]?.split('\n## ')[0] ?? '').matchAll(/^\d+\. `([^`]+)`/gm)].map(([, file]) => file)

/** The files whose functions are called from the answer to the second request to the body of the third: by then, all is loaded. */
async function wayOfACall(): Promise<string[]> {
  let called: string[] = []
  const takeCalled = async (): Promise<void> => {
    child.send('take')
    called = (await once(child, 'message'))[0]
  }
  const usage = { inputTokens: 20, outputTokens: 10 }
  const adding = (a: number): MockReply => ({ toolCalls: [{ name: 'add', arguments: { a, b: 3 } }], usage })
  const replies = [adding(1), adding(2), 'Five.']
  await using provider = await startStrictProvider({
    script: async (_request, at) => {
      if (at > 0) await takeCalled()
      return replies[at] ?? ''
    },
  })
  const child = fork(new URL('./call-path-process.ts', import.meta.url), [provider.baseURL], { execArgv: [] })
  expect(await once(child, 'exit')).toEqual([0, null])
  return called
}

it('the way of a call in src/README.md is the one it takes', async () => {
  expect((await wayOfACall()).sort()).toEqual([...told].sort())
})

it('a call passes few files, and none of a feature that its run does not use', () => {
  const ofAgent = told.filter((file) => !file?.startsWith('models/'))
  expect(new Set(told).size).toBe(told.length)
  expect(ofAgent.length).toBeLessThanOrEqual(21)
  expect(told.length).toBeLessThanOrEqual(36)
  expect(told.filter((file) => /^agent\/(hooks|output|decisions|nested)\//.test(file ?? ''))).toEqual([])
})
