import { fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import type { MockReply } from '../src/testing/index.ts'
import { startStrictProvider } from './models/rules/strict-provider.ts'

const map = readFileSync(new URL('../src/README.md', import.meta.url), 'utf8')

/** The files that the map lists under a heading, in order. */
function toldUnder(heading: string): string[] {
  const section = map.split(`\n## ${heading}\n`)[1]?.split('\n## ')[0] ?? ''
  return [...section.matchAll(/^\d+\. `([^`]+)`/gm)].map(([, file = '']) => file)
}

const told = toldUnder('The path of a call')

/** The files whose functions are called from the answer to the second request to the body of the third; by then, everything is loaded. */
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

it('the path of a call in src/README.md is the real one', async () => {
  expect((await wayOfACall()).sort()).toEqual([...told].sort())
})

it('a call passes through few files, and none of a feature that its run does not use', () => {
  const ofAgent = told.filter((file) => !file.startsWith('models/'))
  expect(new Set(told).size).toBe(told.length)
  expect(ofAgent.length).toBeLessThanOrEqual(19)
  expect(told.length).toBeLessThanOrEqual(31)
  expect(told.filter((file) => /^agent\/(hooks|output|decisions|nested)\//.test(file))).toEqual([])
})

/** The files whose functions a second process calls for a call that was approved, until its tool's function runs. */
async function wayOfAnApproval(file: string): Promise<{ resumed: string[]; waited: string[] }> {
  const processOf = (command: string) => fork(new URL('./approval-path-process.ts', import.meta.url), [file, command], { execArgv: [] })
  expect(await once(processOf('ask'), 'exit')).toEqual([0, null])
  const child = processOf('decide')
  const ended = once(child, 'exit')
  const [called] = await once(child, 'message')
  expect(await ended).toEqual([0, null])
  return called
}

it('an approval over two processes passes few files: from the wait to the function of the tool, and with all that opens the run again', async () => {
  const cwd = mkdtempSync(join(tmpdir(), 'toolloop-path-'))
  onTestFinished(() => rmSync(cwd, { recursive: true, force: true }))
  const { resumed, waited } = await wayOfAnApproval(join(cwd, 'runs.sqlite'))
  expect(waited.sort()).toEqual(toldUnder('The path of an approved call').sort())
  expect(waited.length).toBeLessThanOrEqual(21)
  expect(resumed, 'the way is measured').toContain('agent/runner/start-run.ts')
  expect(resumed.length, resumed.sort().join('\n')).toBeLessThanOrEqual(51)
})

/** The files whose functions a service calls from a request for a run with one call to its result. */
async function wayOfARun(folder: string): Promise<string[]> {
  const adding: MockReply = { toolCalls: [{ name: 'add', arguments: { a: 2, b: 3 } }], usage: { inputTokens: 20, outputTokens: 10 } }
  await using provider = await startStrictProvider({ script: (_request, at) => (at % 2 === 0 ? adding : 'Five.') })
  const child = fork(new URL('./service-path-process.ts', import.meta.url), [provider.baseURL, folder], { execArgv: [] })
  const ended = once(child, 'exit')
  const [called] = await once(child, 'message')
  expect(await ended).toEqual([0, null])
  return called
}

// Runs in memory are in the same store, whose file is SQLite's `:memory:`.
it('a run of the service in a folder passes few files', async () => {
  const cwd = mkdtempSync(join(tmpdir(), 'toolloop-path-'))
  onTestFinished(() => rmSync(cwd, { recursive: true, force: true }))
  // The caretaker works by a timer, for all runs, and drops unseen ones.
  const isCaretaking = (file: string): boolean => /\/(?:caretaker|unseen-runs)\.ts$/.test(file)
  const called = (await wayOfARun(join(cwd, 'runs'))).filter((file) => !isCaretaking(file))
  const ofService = called.filter((file) => file.startsWith('service/'))
  expect(ofService, 'the way is measured').toContain('service/runs/run-store.ts')
  expect(ofService).toEqual(expect.arrayContaining(toldUnder('The path of a run through the service')))
  expect(ofService.length, ofService.sort().join('\n')).toBeLessThanOrEqual(34)
  expect(called.length, called.sort().join('\n')).toBeLessThanOrEqual(132)
})
