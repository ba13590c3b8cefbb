import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { describe, expect, it } from 'vitest'
import { AgentRunner } from '../../src/agent/agent-runner.ts'
import { OwnSteps } from '../../src/agent/journal/own-steps.ts'
import { asTool } from '../../src/agent/sub-agents/sub-agent.ts'
import { recordingFromText, recordingToText } from '../../src/recording/file/recording-file.ts'
import { callsOf, type RunRecording, requestsOf } from '../../src/recording/format.ts'
import { describeDifference, replayRun } from '../../src/recording/index.ts'
import { RecordingSecrets } from '../../src/recording/secrets.ts'
import { recordingOfParts } from '../../src/service/recordings/recording-parts.ts'
import { StoredRecording } from '../../src/service/recordings/stored-recording.ts'
import { scriptedModel } from '../../src/testing/index.ts'
import { defineTool } from '../../src/tools/tool.ts'
import { recordingLogger } from '../hazards/recording-logger.ts'
import { configFile, json, type StartedService, startService } from './start-service.ts'

const yaml = (more = 'recordingMegabytes: 8') => `service: { keepRuns: { folder: runs, ${more} } }`
const login = defineTool({
  name: 'login',
  description: 'Logs in.',
  parameters: { type: 'object', properties: { pin: { type: 'string' } } },
  secrets: ['pin'],
  effect: 'idempotent',
  execute: ({ pin }) => `in with ${pin}`,
})
const pay = defineTool({ name: 'pay', description: 'Pays.', approval: true, execute: () => 'paid' })
const call = (name: string, args: object = {}) => ({ name, arguments: { ...args } })
const usage = { inputTokens: 40, outputTokens: 10 }
const agent = { instructions: 'Be kind.' }

async function folderOfRuns(text = yaml()) {
  const { folder, file, write } = await configFile(text)
  const sql = (query: string) => {
    const database = new DatabaseSync(join(folder, 'runs', 'runs.sqlite'), { readOnly: true })
    try {
      return database.prepare(query).all()
    } finally {
      database.close()
    }
  }
  return { folder, sql, write, options: { configFile: file, cwd: folder, agent } }
}

async function recordingOf({ ask }: StartedService, id: string): Promise<RunRecording> {
  const response = await ask(`/v1/runs/${id}/recording`)
  const text = await response.text()
  expect(response.status, text).toBe(200)
  const recording = recordingFromText(text)
  expect(recordingToText(recording)).toBe(text)
  return recording
}

/** Plays it, and expects what is recorded of that to be the same, byte by byte. */
async function playsByteEqual(recording: RunRecording): Promise<void> {
  const again = await replayRun(recording)
  if (again.difference !== undefined) expect.fail(describeDifference(again.difference))
  expect(recordingToText(again.recording)).toBe(recordingToText(recording))
}

const approve = async ({ post }: StartedService, id: string, pending: readonly { toolCallId: string; fingerprint: string }[]) => {
  const decisions = pending.map(({ toolCallId, fingerprint }) => ({ toolCallId, fingerprint, approved: true }))
  return json(post(`/v1/runs/${id}/decisions`, { decisions }))
}

describe('the recording of a run in a journal', () => {
  it('is of the whole run, whichever processes carried it out, and can be read in any; without secrets, even in the file of the runs', {
    timeout: 60_000,
  }, async () => {
    const { folder, options, sql } = await folderOfRuns()
    const turns = [
      { reasoning: 'First the door.', toolCalls: [call('login', { pin: 'sesame-77' }), call('login', { pin: 'sesame-78' })], usage },
      { toolCalls: [call('pay')], usage },
      { toolCalls: [call('research', { task: 'why' }), call('pay')], usage },
      { text: 'You are in with sesame-77.', usage },
    ]
    const open = (from: number, asked: number) => {
      const inner = [
        { toolCalls: [call('pay')], usage },
        { text: 'Because.', usage },
      ].slice(asked)
      const research = asTool(new AgentRunner({ model: scriptedModel(inner), tools: [pay] }), { name: 'research', description: 'x' })
      return startService({ ...options, model: scriptedModel(turns.slice(from)), tools: [login, pay, research] })
    }
    const first = await open(0, 0)
    const run = await json(first.post('/v1/runs', { input: 'Let me in. It is not sesame-77.' }))
    expect((await recordingOf(first, run.id)).result).toMatchObject({ stopReason: 'paused', pending: [{ tool: 'pay' }] })
    await first.listening.close()

    const second = await open(2, 0)
    await playsByteEqual(await recordingOf(second, run.id))
    const again = await approve(second, run.id, run.pending)
    expect(again.pending).toHaveLength(2)
    await second.listening.close()

    const third = await open(3, 1)
    const [question, payment] = again.pending
    if (payment === undefined) throw new Error('The payment does not wait')
    const decisions = [
      { ...question, approved: true },
      { toolCallId: payment.toolCallId, fingerprint: payment.fingerprint, approved: false, reason: 'Too much' },
    ]
    const ended = await json(third.post(`/v1/runs/${run.id}/decisions`, { decisions }))
    expect(ended).toMatchObject({ status: 'ended', stopReason: 'answered' })
    await third.listening.close()

    const fourth = await open(4, 2)
    const recording = await recordingOf(fourth, run.id)
    expect(recording).toMatchObject({ runId: run.id, given: { instructions: 'Be kind.' }, result: { stopReason: 'answered' } })
    expect(recording.given.partial).toBeUndefined()
    expect(Object.entries(recording.steps).map(([key, step]) => [key, 'tool' in step ? step.tool : undefined])).toEqual([
      ['1.model', undefined],
      ['1.tool.0', 'login'],
      ['1.tool.1', 'login'],
      ['2.model', undefined],
      ['2.tool.0.decision', 'pay'],
      ['2.tool.0.decision.done', 'pay'],
      ['3.model', undefined],
      ['3.tool.0', 'research'],
      ['3.tool.0.decision/1.tool.0.decision', 'pay'],
      ['3.tool.0.decision.done', 'research'],
      ['3.tool.1.decision', 'pay'],
      ['4.model', undefined],
    ])
    await playsByteEqual(recording)
    expect(JSON.stringify(recording)).not.toMatch(/sesame/)
    // Not in those parts either that were written before it was known to be one.
    expect(sql('SELECT value FROM shown_recordings').length).toBeGreaterThan(8)
    await fourth.listening.close()
    const files = (await readdir(join(folder, 'runs'), { withFileTypes: true })).filter((file) => file.isFile())
    expect(files.map(({ name }) => name)).toContain('runs.sqlite')
    for (const { name, parentPath } of files) expect((await readFile(join(parentPath, name))).includes('sesame'), name).toBe(false)
    expect((await replayRun(recording, { instructions: 'Be rude.' })).difference).toMatchObject({
      where: '1.model: request.messages[0].content',
    })
  })

  it.each(['idempotent', 'unsafe', 'reconciled'] as const)(
    'continues the recording of a process that died during a call: %s',
    async (kind) => {
      const { options } = await folderOfRuns()
      const turns = [
        { toolCalls: [call('login', { pin: 'sesame-77' }), call('slow')], usage },
        { text: 'Done.', usage },
      ]
      const begun = Promise.withResolvers<void>()
      const open = (from: number, hangs: boolean) => {
        const execute = () => {
          if (!hangs) return 'slept'
          begun.resolve()
          return new Promise(() => {})
        }
        const effect = kind === 'idempotent' ? kind : 'unsafe'
        const reconcile = () => ({ ran: true, value: 'slept before' }) as const
        const slow = defineTool({ name: 'slow', description: 'Sleeps.', effect, execute, ...(kind === 'reconciled' ? { reconcile } : {}) })
        return startService({ ...options, model: scriptedModel(turns.slice(from)), tools: [login, slow] })
      }
      const first = await open(0, true)
      const { id } = await json(first.post('/v1/runs', { input: 'go', background: true }))
      await begun.promise
      await first.listening.close(0)

      const second = await open(1, false)
      await expect.poll(async () => (await json(second.ask(`/v1/runs/${id}`))).status).toBe('ended')
      const recording = await recordingOf(second, id)
      expect(callsOf(recording).map(({ tool, errorCode }) => [tool, errorCode])).toEqual([
        ['login', undefined],
        ['slow', kind === 'unsafe' ? 'tool_uncertain' : undefined],
      ])
      await playsByteEqual(recording)
    },
  )

  it('has no secrets found after it was resumed, not even in parts that another process has written', {
    timeout: 60_000,
  }, async () => {
    const { folder, options } = await folderOfRuns()
    const turns = [
      { toolCalls: [call('login', { pin: 'forgotten-1' })], usage },
      { text: 'Done.', usage },
    ]
    const open = (from: number) =>
      startService({ ...options, model: scriptedModel(turns.slice(from)), tools: [{ ...login, approval: true }] })
    const first = await open(0)
    const { id, pending } = await json(first.post('/v1/runs', { input: 'It is sesame-77.' }))
    await first.listening.close()

    const second = await open(1)
    const decisions = pending.map(({ toolCallId, fingerprint }) => ({
      toolCallId,
      fingerprint,
      approved: true,
      args: { pin: 'sesame-77' },
    }))
    expect(await json(second.post(`/v1/runs/${id}/decisions`, { decisions }))).toMatchObject({ status: 'ended' })
    await second.listening.close()

    const third = await open(2)
    expect(await recordingOf(third, id)).toMatchObject({ given: { messages: [{ content: 'It is [redacted].' }] } })
    await third.listening.close()
    const files = (await readdir(join(folder, 'runs'), { withFileTypes: true })).filter((file) => file.isFile())
    for (const { name, parentPath } of files) expect((await readFile(join(parentPath, name))).includes('sesame'), name).toBe(false)
  })

  it('has nothing that becomes known as secret, even if a process dies or the run expires', async () => {
    const { options, sql } = await folderOfRuns()
    const begun = Promise.withResolvers<void>()
    const hang = () => {
      begun.resolve()
      return new Promise(() => {})
    }
    const slow = defineTool({ name: 'slow', description: 'Sleeps.', execute: hang })
    const calls = [call('login'), call('login', { pin: 'sesame-77' }), call('slow')]
    const model = scriptedModel(calls.map((one) => ({ toolCalls: [one], usage })))
    const { post, listening } = await startService({ ...options, model, tools: [login, slow] })
    await json(post('/v1/runs', { input: 'It is sesame-77.', background: true }))
    await begun.promise
    await listening.close(0)
    const parts = sql('SELECT value FROM shown_recordings').map(({ value }) => String(value))
    expect(parts.join('\n')).toContain('It is [redacted].')
    expect(parts.join('\n')).not.toContain('sesame')
  })

  it('reports if it is not of the whole run', async () => {
    const { options, write } = await folderOfRuns(yaml('count: 10, recordingMegabytes: 0'))
    const turns = [
      { toolCalls: [call('pay')], usage },
      { toolCalls: [call('pay')], usage },
      { text: 'Done.', usage },
    ]
    const open = (from: number) => startService({ ...options, model: scriptedModel(turns.slice(from)), tools: [pay] })
    const first = await open(0)
    const run = await json(first.post('/v1/runs', { input: 'go' }))
    expect((await json(first.ask(`/v1/runs/${run.id}/recording`))).error).toMatchObject({ code: 'not_recorded' })
    await first.listening.close()

    await write(yaml())
    const second = await open(1)
    const again = await approve(second, run.id, run.pending)
    expect((await recordingOf(second, run.id)).given.partial).toBe('what was before it was resumed is not recorded')
    const other = await json(second.post('/v1/runs', { input: 'go' }))
    expect((await recordingOf(second, other.id)).given.partial).toBeUndefined()
    await second.listening.close()

    // Nothing is kept of those that are not wanted any more.
    await write(yaml('count: 10, recordingMegabytes: 0'))
    const third = await open(2)
    await json(third.ask('/v1/runs'))
    await third.listening.close()
    await write(yaml())
    const fourth = await open(2)
    expect((await fourth.ask(`/v1/runs/${other.id}/recording`)).status).toBe(404)
    expect(await approve(fourth, run.id, again.pending)).toMatchObject({ output: 'Done.' })
    const recording = await recordingOf(fourth, run.id)
    expect(recording.result?.stopReason).toBe('answered')
    await expect(replayRun(recording)).rejects.toThrow('what was before it was resumed is not recorded')
  })

  it('starts again if its beginning was deleted to make room, without what was written in between', {
    timeout: 60_000,
  }, async () => {
    const { folder, options } = await folderOfRuns()
    const turns = [
      { toolCalls: [call('pay')], usage },
      { toolCalls: [call('login', { pin: 'sesame-77' })], usage },
      { toolCalls: [call('pay')], usage },
      { text: 'Done.', usage },
    ]
    const open = (from: number) => startService({ ...options, model: scriptedModel(turns.slice(from)), tools: [login, pay] })
    const first = await open(0)
    const run = await json(first.post('/v1/runs', { input: 'go' }))
    // As where the process that had begun it went on after that.
    const database = new DatabaseSync(join(folder, 'runs', 'runs.sqlite'), { timeout: 10_000 })
    database.exec("DELETE FROM shown_recordings WHERE name <> '1.model'; UPDATE shown_recordings SET name = '2.tool.9'")
    database.exec(`UPDATE shown_recordings SET value = '{"id":"old","tool":"pay","args":{}}'`)
    database.close()
    await first.listening.close()

    const second = await open(1)
    expect((await approve(second, run.id, run.pending)).pending).toHaveLength(1)
    const recording = await recordingOf(second, run.id)
    expect(recording.given.partial).toBe('what was before it was resumed is not recorded')
    expect(callsOf(recording).map(({ id }) => id)).not.toContain('old')
    await second.listening.close()
  })

  it('ends if it becomes too long, and says so; the oldest make room for others, and all are deleted with their runs', {
    timeout: 60_000,
  }, async () => {
    const { options, sql } = await folderOfRuns(yaml('recordingMegabytes: 3, count: 2'))
    const page = defineTool({ name: 'page', description: '', effect: 'read', execute: () => 'word '.repeat(80_000) })
    const service = await startService({
      ...options,
      // As many pages as it is asked for.
      model: scriptedModel(({ messages }) => {
        const [, { content = '' } = {}] = messages
        const read = messages.filter(({ role }) => role === 'tool').length
        return { ...(read < Number(content) ? { toolCalls: [call('page')] } : { text: 'done' }), usage }
      }),
      tools: [page],
      agent: { ...agent, maxIterations: 20, maxResultBytes: 500_000, limits: { repeatedCalls: 100 } },
    })
    const ids: string[] = []
    for (const input of ['0', '2', '4']) ids.push((await json(service.post('/v1/runs', { input }))).id)
    const [first = '', second = '', third = ''] = ids
    const recording = await recordingOf(service, third)
    expect(recording.given.partial).toBe('it is longer than 2000000 characters')
    expect(requestsOf(recording).length).toBeGreaterThan(1)
    expect(recording.result).toMatchObject({ stopReason: 'answered', text: 'done' })
    await expect(replayRun(recording)).rejects.toThrow('one of a whole run (it is longer than 2000000 characters)')
    // Tidied up from time to time, and before anybody looks.
    await json(service.ask('/v1/runs'))
    expect(sql('SELECT id FROM shown_runs WHERE n IN (SELECT run FROM shown_recordings)')).toEqual([{ id: third }])
    expect((await json(service.ask(`/v1/runs/${second}/recording`))).error).toMatchObject({ code: 'not_recorded' })
    expect((await json(service.ask(`/v1/runs/${first}/recording`))).error).toMatchObject({ code: 'run_not_found' })
  })
})

describe('parts', () => {
  /** A recording into a place that refuses what it is told to, and the run that is recorded. */
  async function record(turns: Parameters<typeof scriptedModel>[0], secrets: readonly string[] = ['kept-secret-1']) {
    const written = new Map<string, string>()
    const writes: string[] = []
    const place = { refuses: false }
    const { logger, records } = recordingLogger()
    const run = { id: 'run_1', attempt: 'a', redactor: { secrets } }
    const shown = {
      writesInOrder: false,
      keepRecording: async (_runId: string, _attempt: string, parts: readonly { name: string; value: string }[]) => {
        if (place.refuses) throw new Error('The disk is full')
        for (const { name, value } of parts) written.set(name, value)
        writes.push(...parts.map(({ name }) => name))
        return true
      },
    }
    const recording = new StoredRecording({ run, shown, secrets: new RecordingSecrets(), grown: () => {}, released: () => {}, logger })
    const runner = new AgentRunner({ model: scriptedModel(turns), tools: [login], logger })
    const go = () => runner.run('Say kept-secret-1.', { recorder: recording, runId: run.id })
    const read = async () => recordingOfParts([...written].map(([name, value]) => ({ name, value })))
    return { recording, go, read, place, records, written, writes }
  }

  /** Executes the run again, with these recorded steps. Its process dies in the other steps of `keys`. */
  async function executeAgain(recording: StoredRecording, steps: object, keys: readonly string[]): Promise<void> {
    const own = new OwnSteps({ runId: 'run_1', signal: new AbortController().signal })
    own.recall({ steps, decisions: {}, waitingSince: {} } as never)
    const died = new Error('The process died')
    const execution = recording.aroundExecution({ runId: 'run_1' } as never, null, own, async (recorded) => {
      for (const key of keys) await recorded.step(key, () => Promise.reject(died)).catch(() => {})
      throw died
    })
    await expect(execution).rejects.toBe(died)
  }

  it('that can’t be written are written with the next; the run does not notice', async () => {
    const { recording, go, read, place, records } = await record([{ toolCalls: [call('login', { pin: 'sesame-77' })], usage }, 'Done.'])
    place.refuses = true
    expect(await go()).toMatchObject({ output: 'Done.' })
    expect(await read()).toBeUndefined()
    expect(new Set(records.map(({ message }) => message))).toEqual(new Set(['the recording of a run could not be written yet']))
    place.refuses = false
    await recording.keep()
    const { run } = (await read()) ?? {}
    expect(Object.keys(run?.steps ?? {})).toEqual(['1.model', '1.tool.0', '2.model'])
    expect(run).toMatchObject({
      given: { messages: [{ content: 'Say [redacted].' }] },
      steps: { '1.tool.0': { tool: 'login' } },
      result: { text: 'Done.' },
    })
    expect(JSON.stringify(run)).not.toMatch(/sesame|kept-secret/)
  })

  it('are not built if there is no room for them, which is reported immediately; the end of the run is there', async () => {
    const note = 'a long argument, '.repeat(130_000)
    const { recording, go, written, read } = await record([{ toolCalls: [call('login', { note })], usage }, 'Done.'], [])
    await go()
    await recording.keep()
    expect([...written.values()].reduce((sum, value) => sum + value.length, 0)).toBeLessThan(2_000_000)
    const { run } = (await read()) ?? {}
    expect(run).toMatchObject({ given: { partial: 'it is longer than 2000000 characters' }, steps: {}, result: { text: 'Done.' } })
  })

  it('are not written if JSON makes them too long; the run’s input and end are there', async () => {
    const { recording, go, written, read } = await record([{ text: '"'.repeat(900_000), usage }, 'Done.'], [])
    await go()
    await recording.keep()
    expect([...written.values()].reduce((sum, value) => sum + value.length, 0)).toBeLessThan(2_000_000)
    const { run } = (await read()) ?? {}
    expect(run).toMatchObject({ given: { partial: 'it is longer than 2000000 characters' }, steps: {}, result: { stopReason: 'answered' } })
  })

  it('are not written again if something becomes secret that is not in them', async () => {
    const secrets: string[] = []
    const { recording, go, read, writes } = await record([{ toolCalls: [call('login')], usage }, 'Done.'], secrets)
    await go()
    await recording.keep()
    expect(writes).toHaveLength(5)
    secrets.push('kept-secret-1')
    await recording.keep()
    expect(writes.slice(5)).toEqual(['given'])
    expect(JSON.stringify(await read())).not.toContain('kept-secret-1')
  })

  it('that were never written are reported as missing when another execution reaches their step', async () => {
    const { recording, go, read } = await record(['Done.'])
    await go()
    await recording.keep()
    const recall = (steps: object) => executeAgain(recording, steps, Object.keys(steps))
    await recall({ '1.model': { kind: 'reply' }, '1.tool.0': { kind: 'reply' }, '2.model': { kind: 'interrupted' } })
    await recording.keep()
    expect((await read())?.run.given.partial).toBeUndefined()
    await recall({ '2.model': { kind: 'reply' } })
    await recording.keep()
    expect((await read())?.run.given.partial).toBe('a part of it was carried out without being recorded')
  })

  it('of a step that is carried out again are replaced', async () => {
    const { recording, go, read } = await record([{ toolCalls: [call('login')], usage }, 'Done.'])
    await go()
    await recording.keep()
    const steps = async () => Object.keys((await read())?.run.steps ?? {})
    expect(await steps()).toEqual(['1.model', '1.tool.0', '2.model'])
    await executeAgain(recording, {}, ['2.model', '1.tool.0'])
    await recording.keep()
    expect(await steps()).toEqual(['1.model'])
  })

  it('have no secret when the run ends, even if there are too many to know each', async () => {
    const secrets = Array.from({ length: 256 }, (_, at) => `one of many ${at}.`)
    const { recording, go, read } = await record(['Done.'], secrets)
    await go()
    await recording.keep()
    expect((await read())?.run.given.messages).toMatchObject([{ content: 'Say kept-secret-1.' }])
    secrets.push('kept-secret-1')
    await recording.keep()
    expect(JSON.stringify(await read())).not.toContain('kept-secret-1')
  })
})
