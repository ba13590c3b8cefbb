import { expect } from 'vitest'
import { AgentRunner } from '../../src/agent/agent-runner.ts'
import type { RunInput, RunnerOptions, RunOptions, RunResult } from '../../src/agent/types/options.ts'
import { Event, type EventMeta, type EventName } from '../../src/core/events.ts'
import { isDeeperThan } from '../../src/core/json.ts'
import { type ChatMessage, hasToolCalls, isJsonObject, isToolResult, type JsonObject, textOf } from '../../src/core/messages.ts'
import { messagesToOpenAI } from '../../src/models/openai/wire.ts'
import { findWire } from '../../src/testing/mock/wires.ts'
import type { MockProvider } from '../../src/testing/mock-provider.ts'
import { refuseChatCompletion } from '../models/rules/chat-completions.ts'
import type { Mode, ModeScript, OpenMode, OpenOptions, SentRequest } from './modes.ts'
import { type LogRecord, recordingLogger } from './recording-logger.ts'

export interface SeenEvent {
  name: EventName
  payload: Record<string, unknown>
  meta: EventMeta
}

export interface Stage extends AsyncDisposable {
  readonly runner: AgentRunner
  readonly provider: MockProvider
  /** Events of runs and calls, in order. Deltas are not subscribed to, because listening to them affects what a model may retry. */
  readonly events: readonly SeenEvent[]
  readonly log: readonly LogRecord[]
  requests(): SentRequest[]
  /** Runs, and checks what must hold after every run. */
  run(input?: RunInput, options?: RunOptions): Promise<RunResult>
  /** The same checks for a run that was started elsewhere. */
  check(result: RunResult): Promise<void>
}

export type StageOptions = Omit<RunnerOptions, 'model' | 'stream'> & OpenOptions

/** A runner for a script, opened in `mode`, with everything watched. */
export async function stage(mode: Mode, script: ModeScript, { faults, settings, ...options }: StageOptions = {}): Promise<Stage> {
  const open = await mode.open(script, { ...(faults === undefined ? {} : { faults }), ...(settings === undefined ? {} : { settings }) })
  const { logger, records } = recordingLogger()
  let runner: AgentRunner
  try {
    runner = new AgentRunner({ logger, ...open.options, ...options, model: open.model })
  } catch (error) {
    await open.close()
    throw error
  }
  const events = watchCalls(runner)
  const check = async (result: RunResult): Promise<void> => {
    expectValidHistory(result.messages)
    expectPairedEvents(events, result)
    await expectContinues(mode, result)
  }
  return {
    runner,
    provider: open.provider,
    events,
    log: records,
    requests: open.requests,
    check,
    async run(input = 'go', runOptions = {}) {
      const result = await runner.run(input, runOptions)
      await check(result)
      return result
    },
    [Symbol.asyncDispose]: () => open.close(),
  }
}

const callEvents = [
  Event.RUN_START,
  Event.RUN_END,
  Event.TOOL_CALL_START,
  Event.TOOL_PROGRESS,
  Event.TOOL_CALL_END,
  Event.TOOL_CALL_REJECTED,
] as const

export function watchCalls({ bus }: AgentRunner): SeenEvent[] {
  const seen: SeenEvent[] = []
  for (const name of callEvents) bus.on(name, (payload, meta) => void seen.push({ name, payload: { ...payload }, meta }))
  return seen
}

/** Every call id has exactly one result, right after its message and in call order; ids are unique; a provider would accept it. */
export function expectValidHistory(messages: readonly ChatMessage[]): void {
  const ids = new Set<string>()
  for (let at = 0; at < messages.length; at++) {
    const message = messages[at]
    if (message === undefined) break
    expect(isToolResult(message), `messages[${at}] is a result without a call: ${JSON.stringify(message)}`).toBe(false)
    if (!hasToolCalls(message)) continue
    for (const { id } of message.toolCalls) {
      expect(ids, `id \`${id}\` of messages[${at}] is used twice`).not.toContain(id)
      ids.add(id)
      const result = messages[++at]
      expect(result, `the result of call \`${id}\``).toMatchObject({ role: 'tool', toolCallId: id })
    }
  }
  const wire: JsonObject = JSON.parse(JSON.stringify({ model: 'any', messages: messagesToOpenAI(messages) }))
  if (messages.length > 0) expect(refuseChatCompletion(wire)).toBeUndefined()
}

/** START comes before END, one END or REJECTED for each call, START only with END; nothing outside RUN_START and RUN_END. */
export function expectPairedEvents(all: readonly SeenEvent[], { runId, toolCalls, messages, newMessages }: RunResult): void {
  const events = all.filter(({ meta }) => meta.runId === runId)
  expect(events[0]?.name).toBe(Event.RUN_START)
  expect(events.at(-1)?.name).toBe(Event.RUN_END)
  const called = newMessages.flatMap((message) => (hasToolCalls(message) ? message.toolCalls.map(({ id }) => id) : []))
  expect(toolCalls.map(({ id }) => id)).toEqual(called)
  expect(messages.slice(messages.length - newMessages.length)).toEqual(newMessages)
  const byCall = new Map<string, string[]>(called.map((id) => [id, []]))
  for (const { name, meta } of events.slice(1, -1)) {
    const of = byCall.get(meta.toolCallId ?? '')
    expect(of, `${name} for \`${meta.toolCallId}\`, which is no call of this run`).toBeDefined()
    of?.push(name)
  }
  for (const [id, names] of byCall) {
    expect(names.join(' '), `events of call \`${id}\``).toMatch(/^(TOOL_CALL_START (TOOL_PROGRESS )*TOOL_CALL_END|TOOL_CALL_REJECTED)$/)
  }
}

/** Another run accepts the conversation without repairs, and sends exactly the result's messages to the model. */
async function expectContinues(mode: Mode, { messages }: RunResult): Promise<void> {
  const { logger, records } = recordingLogger()
  const { model, options, asked } = await openToContinue(mode)
  const said: ChatMessage = { role: 'user', content: `go on ${asked.count++}` }
  const result = await new AgentRunner({ model, ...options, logger }).run([said], { messages })
  expect(result).toMatchObject({ stopReason: 'answered', output: 'continued' })
  expect(records).toEqual([])
  expect(shape(asked.messages.get(said.content) ?? [], mode)).toEqual(shape([...messages, said], mode))
  asked.messages.delete(said.content)
}

interface Continuing extends Pick<OpenMode, 'model' | 'options' | 'close'> {
  /** The messages of requests, by what the user has said last. */
  asked: { count: number; messages: Map<unknown, readonly ChatMessage[]> }
}

const continuing = new Map<Mode, Promise<Continuing>>()
let continuingIn: string | undefined

/** All runs of a file that continue in a mode use one server and model: opening them would cost more than the runs. */
async function openToContinue(mode: Mode): Promise<Continuing> {
  const { testPath } = expect.getState()
  if (testPath !== continuingIn) {
    continuingIn = testPath
    const earlier = [...continuing.values()]
    continuing.clear()
    for (const { close } of await Promise.all(earlier)) await close()
  }
  const open = continuing.get(mode) ?? openContinuing(mode)
  continuing.set(mode, open)
  return open
}

async function openContinuing(mode: Mode): Promise<Continuing> {
  const asked: Continuing['asked'] = { count: 0, messages: new Map() }
  const open = await mode.open(({ readRequest }) => {
    const { messages } = readRequest()
    asked.messages.set(messages.at(-1)?.content, messages)
    return 'continued'
  })
  return { model: open.model, options: open.options, close: open.close, asked }
}

/** The part of these messages that the mode's wire carries. */
export function shape(messages: readonly ChatMessage[], { wire, dialect }: Pick<Mode, 'wire' | 'dialect'>): object[] {
  const { argumentsAsText, anyCallId, rowsOfOneRole } = findWire(wire).traits
  const known = new Map<string, string>()
  // If ids are replaced, what counts is which are equal.
  const idOf = (id: string): string => {
    if (anyCallId && dialect === undefined) return id
    const name = known.get(id) ?? `call ${known.size + 1}`
    known.set(id, name)
    return name
  }
  const shapes = messages.map((message) => {
    const { role, content } = message
    // If a wire only carries text, parts are sent joined.
    if (isToolResult(message)) return { role, content: textOf(content), toolCallId: idOf(message.toolCallId) }
    if (!hasToolCalls(message)) return { role, content }
    // Missing arguments are sent as an empty object.
    const toolCalls = message.toolCalls.map(({ id, function: { name, arguments: json } }) => ({
      id: idOf(id),
      name,
      json: dialect === 'tool-action' ? textsOf(json) : argumentsAsText ? sentText(json, wire, dialect) : objectText(json),
    }))
    return { role, content, toolCalls }
  })
  return rowsOfOneRole ? shapes : joinRows(shapes)
}

interface Shape {
  role: string
  content: unknown
  toolCalls?: object[]
}

/** Only the assistant's; those of other roles are distinguished again. */
function joinRows(shapes: readonly Shape[]): Shape[] {
  const joined: Shape[] = []
  for (const shape of shapes) {
    const last = joined.at(-1)
    if (last?.role !== 'assistant' || shape.role !== 'assistant') joined.push({ ...shape })
    else {
      last.content = `${String(last.content)}${String(shape.content)}`
      const toolCalls = [...(last.toolCalls ?? []), ...(shape.toolCalls ?? [])]
      if (toolCalls.length > 0) last.toolCalls = toolCalls
    }
  }
  return joined
}

/** Arguments on a wire that only carries objects: anything else is sent as an empty object. */
function objectText(json: string): string {
  try {
    const value: unknown = JSON.parse(json)
    // Deeper ones are sent back as no arguments, because `JSON.stringify` throws for them in some versions of Node.js.
    return isJsonObject(value) && !isDeeperThan(1_000, value) ? JSON.stringify(value) : '{}'
  } catch {
    return '{}'
  }
}

/** An unknown server, like that of the Chat Completions mode, only receives arguments that are an object. */
function sentText(json: string, wire: Mode['wire'], dialect: Mode['dialect']): string {
  if (wire !== 'chat-completions' || dialect !== undefined) return json.trim() || '{}'
  return objectText(json) === '{}' ? '{}' : json
}

/** Arguments as tags contain them: all of them texts. */
function textsOf(json: string): string {
  const entries = Object.entries(JSON.parse(objectText(json)))
  return JSON.stringify(Object.fromEntries(entries.map(([key, value]) => [key, typeof value === 'string' ? value : JSON.stringify(value)])))
}

/** The texts of all results, in order. */
export function resultTexts({ messages }: Pick<RunResult, 'messages'>): string[] {
  return messages.filter(isToolResult).map(({ content }) => textOf(content))
}

/** A result without what differs between runs: times, and the run's id, from which keys are made. */
export function comparable({ runId, steps, toolCalls, error, ...rest }: RunResult): object {
  const compared = {
    ...rest,
    error: error && { code: error.code, message: error.message },
    steps: steps.map(({ durationMs: _d, timeToFirstTokenMs: _t, ...step }) => step),
    toolCalls: toolCalls.map(({ durationMs: _d, ...record }) => record),
  }
  return JSON.parse(JSON.stringify(compared).replaceAll(runId, 'the run'))
}
