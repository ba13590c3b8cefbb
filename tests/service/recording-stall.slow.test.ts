import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { AgentRunner } from '../../src/agent/agent-runner.ts'
import { recordingText } from '../../src/recording/file/recording-text.ts'
import { requestsOf } from '../../src/recording/format.ts'
import { readRecording, recordRun } from '../../src/recording/index.ts'
import { RecordingSecrets } from '../../src/recording/secrets.ts'
import { recordingOfParts } from '../../src/service/recordings/recording-parts.ts'
import { StoredRecording } from '../../src/service/recordings/stored-recording.ts'
import { scriptedModel } from '../../src/testing/index.ts'
import { defineTool } from '../../src/tools/tool.ts'
import { recordingLogger } from '../hazards/recording-logger.ts'
import { longestStall } from '../tools/sandbox/longest-stall.ts'
import { maxStallMs } from './measured-service.ts'

const list = <T>(length: number, item: (at: number) => T): T[] => Array.from({ length }, (_, at) => item(at))
/** `unit` again and again, until it is nearly so many characters of JSON. */
const fill = (unit: string, characters: number) => unit.repeat(Math.floor(characters / (JSON.stringify(unit).length - 2)))
const call = (args: object) => ({ toolCalls: [{ name: 'note', arguments: { ...args } }] })

/** Texts that take long to look through, each in its own way. */
const units = {
  'one letter': 'x',
  'secrets in JSON': '{"id":12,"password":"hello","note":"a"},',
  'names of secrets': '"password":',
  'secrets in JSON in JSON': '{\\"id\\":12,\\"password\\":\\"hello\\"},',
  'secrets in JSON that does not end': '"a":{"token":[',
  quotes: '"',
  escapes: '\\u0041"',
  'characters that JSON escapes': '\u0000',
  'beginnings of keys': 'sk-',
  keys: 'sk-aaaaaaaaaaaaaaaaaaaa,',
  addresses: '://a:bbbbbbbbbbb@',
  'what is known to be secret': 'kept-secret-1 ',
}

/** Each makes a part that is nearly as long as a recording may be: an answer is in it as a whole and in pieces, arguments are in it four times. */
const turns = {
  ...Object.fromEntries(
    Object.entries(units).flatMap(([name, unit]) => [
      [`an answer in pieces: ${name}`, { text: fill(unit, 500_000) }],
      [`an argument: ${name}`, call({ text: fill(unit, 200_000) })],
    ]),
  ),
  'an argument of many values': call({ all: list(9_900, () => ({})) }),
  'an argument with many names': call(Object.fromEntries(list(2_900, (at) => [`name ${at}`, 'b'.repeat(100)]))),
  'an argument with many secrets': call({ password: list(9_000, (at) => `secret${at}`) }),
}

/** A recording of a run with this turn, into a place like a journal's, which takes nothing until the run has ended. */
async function record(turn: (typeof turns)[keyof typeof turns]) {
  const note = defineTool({ name: 'note', description: '', effect: 'read', parameters: { type: 'object' }, execute: () => 'ok' })
  const { logger } = recordingLogger()
  const written = new Map<string, string>()
  const run = { id: 'run_1', attempt: 'a', redactor: { secrets: ['kept-secret-1'] } }
  let isFull = true
  const keepRecording = async (_run: string, _attempt: string, parts: readonly { name: string; value: string }[]) => {
    if (isFull) throw new Error('The disk is full')
    for (const { name, value } of parts) written.set(name, value)
    return true
  }
  const shown = { writesInOrder: true, keepRecording }
  const recording = new StoredRecording({ run, shown, secrets: new RecordingSecrets(), grown: () => {}, released: () => {}, logger })
  const runner = new AgentRunner({ model: scriptedModel([turn, 'Done.']), tools: [note], logger })
  await runner.run('Begin.', { recorder: recording, runId: run.id })
  isFull = false
  return { write: () => recording.keep(), parts: () => [...written].map(([name, value]) => ({ name, value })) }
}

it('the longest possible part of a recording, written, read and sent, blocks nobody for more than 50 ms', {
  timeout: 120_000,
}, async () => {
  const all: Record<string, number> = {}
  for (const [name, turn] of Object.entries(turns)) {
    let stalls: [string, number][] = []
    // Code that runs for the first time is not compiled yet.
    for (let tries = 0; tries < 6; tries++) {
      const { write, parts } = await record(turn)
      const writing = await longestStall(write)
      const reading = await longestStall(() => recordingOfParts(parts()))
      const { run = expect.fail(`nothing is recorded of ${name}`) } = reading.value ?? {}
      expect(run.given.partial, name).toBeUndefined()
      const handingOut = await longestStall(() => recordingText({ runId: 'run_1', run }, new RecordingSecrets()))
      expect(handingOut.value.join('')).not.toContain('kept-secret')
      stalls = [
        [`written: ${name}`, writing.stallMs],
        [`read: ${name}`, reading.stallMs],
        [`handed out: ${name}`, handingOut.stallMs],
      ]
      if (stalls.every(([, ms]) => ms <= maxStallMs)) break
    }
    Object.assign(all, Object.fromEntries(stalls))
  }
  expect(Object.entries(all).filter(([, ms]) => ms > maxStallMs)).toEqual([])
})

it('a run of 20 MB, recorded in a file, blocks nobody for more than 50 ms while it is written', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'recording-stall-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  const file = join(folder, 'run.json')
  const page = fill('{"id":12,"password":"hello"},', 1_000_000)
  const note = defineTool({ name: 'note', description: '', effect: 'read', execute: () => page })
  const { logger } = recordingLogger()
  let least = Number.POSITIVE_INFINITY
  // Code that runs for the first time is not compiled yet.
  for (let tries = 0; tries < 6 && least > maxStallMs; tries++) {
    const model = scriptedModel([...list(20, () => call({})), 'Done.'])
    const limits = { repeatedCalls: 100 }
    const runner = new AgentRunner({ model, tools: [note], maxIterations: 40, maxResultBytes: 2_000_000, limits, logger })
    const [ended, written] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
    const recorded = recordRun((record) => runner.run('Begin.', record).finally(ended.resolve), file).finally(written.resolve)
    await ended.promise
    const { stallMs } = await longestStall(() => written.promise)
    await recorded
    least = Math.min(least, stallMs)
  }
  expect(least).toBeLessThanOrEqual(maxStallMs)
  expect(requestsOf(readRecording(file))).toHaveLength(21)
})
