import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { HttpAgent } from '@ag-ui/client'
import { DefaultChatTransport, isToolUIPart, type UIMessage } from 'ai'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { AgentRunner } from '../../src/agent/agent-runner.ts'
import { eventsOf, type RunStream } from '../../src/agent/runner/run-stream.ts'
import type { RunEvent } from '../../src/core/events.ts'
import { toAgUiResponse, toUIMessageResponse } from '../../src/ui/index.ts'
import { serveFetch } from '../fetch-server.ts'
import { chatAt, readChunks } from './chat.ts'
import { type Asked, openRunner } from './recorded-process.ts'

const program = fileURLToPath(new URL('recorded-process.ts', import.meta.url))
let folder: string
let child: ChildProcess
let runner: AgentRunner
let opened: PromiseWithResolvers<void>
let held: PromiseWithResolvers<void>

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'recorded-'))
  child = fork(program, [folder], { execArgv: [] })
  ;[opened, held] = [Promise.withResolvers(), Promise.withResolvers()]
  runner = openRunner(folder, held.resolve, opened.promise)
})
afterEach(async () => {
  opened.resolve()
  await runner.close()
  const exit = once(child, 'exit')
  child.kill('SIGKILL')
  await exit
  rmSync(folder, { recursive: true, force: true })
})

/** Asks the other process, and resolves with its next message. */
async function elsewhere(asked: Asked): Promise<unknown> {
  const answer = once(child, 'message')
  child.send(asked)
  return (await answer)[0]
}

/** The events of a stream without their times, with adjacent pieces joined. */
async function told(stream: RunStream): Promise<string[]> {
  const lines: string[] = []
  for await (const event of eventsOf(stream)) lines.push(lineOf(event))
  return lines
}

function lineOf(event: RunEvent): string {
  const { type, meta } = event
  const detail =
    'tool' in event ? ` ${event.tool}` : 'text' in event ? ` ${event.text}` : 'stopReason' in event ? ` ${event.stopReason}` : ''
  return `${meta.iteration} ${type}${detail}`
}

/** A run as a page of the AI SDK shows it. */
async function pageOf(stream: RunStream): Promise<unknown[]> {
  await using server = await serveFetch(() => toUIMessageResponse(stream, { messageId: 'm1' }))
  const transport = new DefaultChatTransport({ api: `${server.url}/chat` })
  const chunks = await transport.reconnectToStream({ chatId: 'c1' })
  if (chunks === null) throw new Error('Expected a stream')
  const { message, errors } = await readChunks(chunks)
  expect(errors).toEqual([])
  return partsOf(message)
}

function partsOf(message: UIMessage | undefined): unknown[] {
  return (message?.parts ?? []).flatMap((part): unknown[] => {
    if (part.type === 'text') return [part.text]
    return isToolUIPart(part) ? [[part.type, part.state, part.input, part.output]] : []
  })
}

/** A run as a page with AG-UI's client has it. */
async function agUiOf(stream: RunStream): Promise<{ messages: unknown[]; outcome: unknown }> {
  await using server = await serveFetch(() => toAgUiResponse(stream))
  const agent = new HttpAgent({ url: server.url, threadId: 't1' })
  let outcome: unknown
  await agent.runAgent(
    {},
    {
      onRunFinishedEvent: ({ event }) => {
        outcome = event.outcome
      },
    },
  )
  const messages = agent.messages.map((message) => [
    message.role,
    message.content,
    ...('toolCalls' in message ? (message.toolCalls ?? []).map((call) => call.function.name) : []),
  ])
  return { messages, outcome }
}

const looked = ['tool-look', 'output-available', { city: 'Oslo' }, { city: 'Oslo', sky: 'blue' }]
const hidden = { card: '[redacted]' }
const beginning = [
  '0 RUN_START',
  '1 MODEL_START',
  '1 TEXT_DELTA I look first. ',
  '1 TOOL_INPUT_START look',
  '1 TOOL_INPUT_DELTA',
  '1 MODEL_END',
  '1 TOOL_CALL_START look',
  '1 TOOL_CALL_END look',
  '2 MODEL_START',
  '2 TEXT_DELTA Now the rest. ',
]

describe('a recorded run, streamed in another process', () => {
  it('waits: runs.stream sends its texts, calls and results, and what to decide', async () => {
    expect(await elsewhere({ run: 'r', input: 'pay' })).toBe('paused')
    const stream = runner.runs.stream('r')
    const events = await told(stream)
    expect([...stream.hidden]).toEqual(['4111 1111'])
    expect(events.slice(0, beginning.length)).toEqual(beginning)
    expect(events.slice(-3)).toEqual(['2 MODEL_END', '2 DECISION_NEEDED pay', '2 RUN_END paused'])
    expect(await pageOf(runner.runs.stream('r'))).toEqual([
      'I look first. ',
      looked,
      'Now the rest. ',
      ['tool-pay', 'approval-requested', hidden, undefined],
    ])
    const { messages, outcome } = await agUiOf(runner.runs.stream('r'))
    expect(messages).toEqual([
      ['assistant', 'I look first. ', 'look'],
      ['tool', '{"city":"Oslo","sky":"blue"}'],
      ['assistant', 'Now the rest. ', 'pay'],
    ])
    expect(outcome).toMatchObject({ type: 'interrupt' })
    expect((await runner.runs.stream('r').result).stopReason).toBe('paused')
  })

  it('is decided here: resumeStream sends it from the start, then as it continues', async () => {
    const approve = async (runId: string) => {
      const pending = (await runner.runs.get(runId))?.pending ?? []
      return runner.resumeStream(runId, { decisions: pending.map((item) => ({ ...item, approved: true as const })) })
    }
    const paid = [
      ...[looked].flatMap((call) => ['I look first. ', call]),
      'Now the rest. ',
      ['tool-pay', 'output-available', hidden, 'paid'],
      'All done.',
    ]
    await elsewhere({ run: 'ui', input: 'pay' })
    expect(await pageOf(await approve('ui'))).toEqual(paid)
    await elsewhere({ run: 'agui', input: 'pay' })
    const { messages, outcome } = await agUiOf(await approve('agui'))
    expect(messages.slice(2)).toEqual([
      ['assistant', 'Now the rest. ', 'pay'],
      ['tool', 'paid'],
      ['assistant', 'All done.'],
    ])
    expect(outcome).toMatchObject({ type: 'success' })
    await elsewhere({ run: 'events', input: 'pay' })
    const events = await told(await approve('events'))
    expect(events.slice(0, beginning.length)).toEqual(beginning)
    expect(events.filter((event) => /RUN_START|DECISION|pay|RUN_END/.test(event)).slice(1)).toEqual([
      '2 TOOL_INPUT_START pay',
      '0 RUN_START',
      '2 DECISION_MADE pay',
      '2 TOOL_CALL_START pay',
      '2 TOOL_CALL_END pay',
      '3 RUN_END answered',
    ])
    await elsewhere({ run: 'now', input: 'pay' })
    const pending = (await runner.runs.get('now'))?.pending ?? []
    const now = runner.resumeStream('now', { decisions: pending.map((item) => ({ ...item, approved: true as const })), replay: false })
    expect((await told(now)).slice(0, 2)).toEqual(['0 RUN_START', '2 DECISION_MADE pay'])
  })

  it('is decided elsewhere: a page that showed the approval learns of it when it reconnects', async () => {
    await elsewhere({ run: 'r', input: 'pay' })
    await using server = await serveFetch(() => toUIMessageResponse(runner.runs.stream('r'), { messageId: 'm1' }))
    const chat = chatAt(server.url, { id: 'c1' })
    await chat.resumeStream()
    expect(partsOf(chat.lastMessage).at(-1)).toEqual(['tool-pay', 'approval-requested', hidden, undefined])
    expect(await elsewhere({ approve: 'r' })).toBe('answered')
    await chat.resumeStream()
    expect(chat.messages.length).toBe(1)
    expect(partsOf(chat.lastMessage)).toEqual([
      'I look first. ',
      looked,
      'Now the rest. ',
      ['tool-pay', 'output-available', hidden, 'paid'],
      'All done.',
    ])
    expect((await runner.runs.stream('r').result).text).toBe('All done.')
  })

  it('continues elsewhere: what the other process records is sent as it arrives', async () => {
    expect(await elsewhere({ run: 'r', input: 'hold' })).toBe('held')
    const lines: string[] = []
    const stream = runner.runs.stream('r')
    const reading = (async () => {
      for await (const event of stream) lines.push(lineOf(event))
    })()
    await expect.poll(() => lines).toContain('2 MODEL_END')
    expect(lines).not.toContain('2 TOOL_CALL_END hold')
    expect(await elsewhere({ open: true })).toBe('answered')
    await reading
    expect(lines.slice(lines.indexOf('2 MODEL_END') + 1)).toEqual([
      '2 TOOL_CALL_START hold',
      '2 TOOL_CALL_END hold',
      '3 MODEL_START',
      '3 TEXT_DELTA All done.',
      '3 MODEL_END',
      '3 RUN_END answered',
    ])
    expect((await stream.result).output).toBe('All done.')
  })

  it('is not affected if a stream is left', async () => {
    expect(await elsewhere({ run: 'r', input: 'hold' })).toBe('held')
    const stream = runner.runs.stream('r')
    for await (const event of stream) if (event.type === 'RUN_START') break
    await expect(stream.result).rejects.toMatchObject({ code: 'aborted' })
    expect(await elsewhere({ open: true })).toBe('answered')
    await expect(runner.runs.stream('unknown').result).rejects.toMatchObject({ code: 'unknown_run' })
  })
})

describe('a recorded run, streamed in the process that executes it', () => {
  it('sends a call in progress once it has ended, and what follows as it happens', async () => {
    const result = runner.run('hold', { runId: 'r' })
    await held.promise
    const events: RunEvent[] = []
    const reading = (async () => {
      for await (const event of runner.runs.stream('r')) events.push(event)
    })()
    await expect.poll(() => events.map(lineOf)).toContain('2 MODEL_END')
    opened.resolve()
    await Promise.all([result, reading])
    const later = events.slice(events.findLastIndex(({ meta }) => meta.recorded) + 1)
    expect(later.map(lineOf).filter((line) => !line.includes('TEXT'))).toEqual([
      '2 TOOL_CALL_START hold',
      '2 TOOL_CALL_END hold',
      '3 MODEL_START',
      '3 MODEL_END',
      '3 RUN_END answered',
    ])
    // The last answer arrived in pieces, as the model sent it.
    expect(later.filter(({ type }) => type === 'TEXT_DELTA').length).toBeGreaterThan(1)
  })
})
