import { readdirSync, readFileSync } from 'node:fs'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { AgentRunner } from '../src/agent/agent-runner.ts'
import type { Decision } from '../src/agent/decisions/decisions.ts'
import type { RunStream } from '../src/agent/runner/run-stream.ts'
import { asTool } from '../src/agent/sub-agents/sub-agent.ts'
import type { RunResult, RunState } from '../src/agent/types/options.ts'
import type { EventMeta, RunEvent } from '../src/core/events.ts'
import { createLogger } from '../src/core/logger.ts'
import { noUsage } from '../src/core/messages.ts'
import { callOf, emptyRunView, lastText, type RunView, reduceRun, turnText } from '../src/core/runs/index.ts'
import { createModel } from '../src/models/create-model.ts'
import { scriptedModel } from '../src/testing/scripted-model.ts'
import { ask, defineTool } from '../src/tools/tool.ts'
import { startStrictProvider } from './models/rules/strict-provider.ts'
import { leastCpuMs } from './reference-pace.ts'

const logger = createLogger({ level: 'silent' })
const usage = { inputTokens: 10, outputTokens: 5 }
const city = { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] } as const
const weather = defineTool({
  name: 'weather',
  description: 'The weather.',
  parameters: city,
  execute: ({ city }, { progress }) => {
    progress({ asked: city })
    if (city === 'Nowhere') throw new Error('no such city')
    return { city, celsius: 21 }
  },
})
const refund = defineTool({ name: 'refund', description: 'Pays back.', approval: true, execute: () => 'paid' })
const book = defineTool({
  name: 'book',
  description: 'Books.',
  execute: (_args, { answer }) => (answer === undefined ? ask({ about: 'For how many?', schema: { type: 'number' } }) : `for ${answer}`),
})

async function eventsOf(stream: RunStream): Promise<{ events: RunEvent[]; result: RunResult }> {
  const events: RunEvent[] = []
  for await (const event of stream) events.push(event)
  return { events, result: await stream.result }
}

function viewOf(events: readonly RunEvent[], view: RunView = emptyRunView()): RunView {
  for (const event of events) reduceRun(view, event)
  return view
}

/** The contents of each turn, in order. */
const partsOf = ({ turns }: RunView) =>
  turns.map(({ parts }) =>
    parts.map((part) => ('text' in part ? `${part.type} ${part.text}` : part.type === 'call' ? part.call.tool : part.type)),
  )

const meta: EventMeta = { runId: 'r', iteration: 1, time: 1 }
const model = { provider: 'p', model: 'm' }
const start: RunEvent = { type: 'MODEL_START', meta, ...model }
const text = (said: string, more: Partial<EventMeta> = {}): RunEvent => ({ type: 'TEXT_DELTA', meta: { ...meta, ...more }, text: said })
const input = (id: string, more: Partial<EventMeta> = {}): RunEvent => ({
  type: 'TOOL_INPUT_START',
  meta: { ...meta, ...more },
  index: 0,
  id,
  tool: 't',
})
const cut: RunEvent = { type: 'MODEL_RETRY', meta, ...model, errorCode: 'stream_cut', error: 'gone', delayMs: 5, discards: true }
const ended = (stopReason: 'answered' | 'paused'): RunEvent => ({ type: 'RUN_END', meta, stopReason, usage: noUsage, iterations: 1 })
const called = (id: string, more: Partial<EventMeta> = {}): RunEvent => ({
  type: 'TOOL_CALL_START',
  meta: { ...meta, toolCallId: id, ...more },
  tool: 't',
  args: {},
})
const returned = (id: string, more: Partial<EventMeta> = {}): RunEvent => ({
  ...{ type: 'TOOL_CALL_END', meta: { ...meta, toolCallId: id, durationMs: 3, ok: true, ...more }, tool: 't' },
  ...{ result: 'done', bytes: 4, outcome: 'ok' },
})

describe('reduceRun', () => {
  it('agrees with the result of a run: turns, calls, outcomes, usage', async () => {
    const runner = new AgentRunner({
      logger,
      tools: [weather],
      model: scriptedModel([
        {
          reasoning: 'Three cities.',
          text: 'I look. ',
          toolCalls: [
            { name: 'weather', args: { city: 'Oslo' } },
            { name: 'weather', args: { city: 'Nowhere' } },
            { name: 'weather', args: { town: 'Rome' } },
          ],
          usage,
        },
        { text: 'Only Oslo.', usage },
      ]),
    })
    const { events, result } = await eventsOf(runner.stream('weather?'))
    const view = viewOf(events)
    expect(view).toMatchObject({ runId: result.runId, status: 'ended', stopReason: 'answered', usage: result.usage, pending: new Map() })
    expect(partsOf(view)).toEqual([['reasoning Three cities.', 'text I look. ', 'weather', 'weather', 'weather'], ['text Only Oslo.']])
    expect(lastText(view)).toBe(result.text)
    const calls = [...view.calls.values()]
    expect(calls.map(({ id, tool, outcome, result: content }) => ({ id, tool, outcome, content }))).toEqual(
      result.toolCalls.map(({ id, tool, outcome, content }) => ({ id, tool, outcome, content })),
    )
    expect(calls.map(({ status, args, written, progress }) => ({ status, args, written, progress }))).toEqual([
      { status: 'ended', args: { city: 'Oslo' }, written: '', progress: undefined },
      { status: 'ended', args: { city: 'Nowhere' }, written: '', progress: undefined },
      { status: 'ended', args: { town: 'Rome' }, written: '', progress: undefined },
    ])
    expect(calls.map(({ errorCode }) => errorCode)).toEqual([undefined, 'tool_failed', 'invalid_arguments'])
    expect(view.turns.map(({ finishReason, usage, model }) => ({ finishReason, usage, model }))).toEqual(
      result.steps.map(({ finishReason, usage, model }) => ({ finishReason, usage, model })),
    )
    expect(
      view.turns.every(({ startedAt = 0, firstTokenAt = 0, endedAt = 0 }) => startedAt <= firstTokenAt && firstTokenAt <= endedAt),
    ).toBe(true)
  })

  it('shows a call while it is written, runs and reports progress', async () => {
    const runner = new AgentRunner({
      logger,
      tools: [weather],
      model: scriptedModel([{ toolCalls: [{ name: 'weather', args: { city: 'Oslo' } }] }, 'ok']),
    })
    const seen: unknown[] = []
    const view = emptyRunView()
    for await (const event of runner.stream('go')) {
      const call = callOf(reduceRun(view, event), event)
      if (call !== undefined) seen.push([event.type, call.status, call.args ?? call.written, call.progress])
    }
    const args = { city: 'Oslo' }
    expect(seen.at(0)).toEqual(['TOOL_INPUT_START', 'writing', '', undefined])
    expect(seen.slice(-4)).toEqual([
      ['TOOL_INPUT_DELTA', 'writing', JSON.stringify(args), undefined],
      ['TOOL_CALL_START', 'running', args, undefined],
      ['TOOL_PROGRESS', 'running', args, { asked: 'Oslo' }],
      ['TOOL_CALL_END', 'ended', args, undefined],
    ])
  })

  it('follows a run through its pauses: what it waits for, who decided, and the result', async () => {
    const runner = new AgentRunner({
      logger,
      tools: [refund, book],
      model: scriptedModel([{ toolCalls: [{ name: 'refund' }, { name: 'refund' }, { name: 'book' }] }, 'Done.']),
    })
    const first = await eventsOf(runner.stream('go'))
    const view = viewOf(first.events)
    expect(view).toMatchObject({ status: 'waiting', stopReason: 'paused', endedAt: undefined })
    expect([...view.pending.values()].map(({ kind, tool }) => `${kind} ${tool}`)).toEqual([
      'approval refund',
      'approval refund',
      'question book',
    ])
    expect([...view.calls.values()].map(({ status, waitsFor, result }) => ({ status, waitsFor, result }))).toEqual([
      { status: 'waiting', waitsFor: 'approval', result: '' },
      { status: 'waiting', waitsFor: 'approval', result: '' },
      { status: 'waiting', waitsFor: 'question', result: '' },
    ])
    const said = [{ approved: true, by: 'ada' }, { approved: false, reason: 'too much' }, { answer: 4 }]
    const decisions = first.result.pending.map(({ toolCallId, fingerprint }, at) => ({ toolCallId, fingerprint, ...said[at] }) as Decision)
    const second = await eventsOf(runner.resumeStream(first.result.state, { decisions }))
    viewOf(second.events, view)
    expect(view).toMatchObject({ status: 'ended', stopReason: 'answered', pending: new Map() })
    expect(
      [...view.calls.values()].map(({ status, outcome, result, decisions }) => ({
        status,
        outcome,
        result,
        approved: [...decisions.values()].map(({ approved }) => approved),
      })),
    ).toEqual([
      { status: 'ended', outcome: 'ok', result: 'paid', approved: [true] },
      { status: 'ended', outcome: 'denied', result: expect.stringContaining('too much'), approved: [false] },
      { status: 'ended', outcome: 'ok', result: 'for 4', approved: [true] },
    ])
    expect([...view.calls.values()][0]?.decisions.values().next().value?.by).toBe('ada')
    expect(view.pauses).toHaveLength(1)
    expect(view.pauses[0]?.to).toBeGreaterThanOrEqual(view.pauses[0]?.from ?? 0)
    // A process that resumes the run only knows the second part.
    expect([...viewOf(second.events).calls.values()].map(({ tool, outcome }) => `${tool} ${outcome}`)).toEqual([
      'refund ok',
      'refund denied',
      'book ok',
    ])
  })

  it('keeps the undecided one of two waiting calls waiting when the run has continued', async () => {
    const paying = { toolCalls: [{ name: 'refund' }, { name: 'refund' }] }
    const runner = new AgentRunner({ model: scriptedModel([paying, 'Done.']), tools: [refund], logger })
    const first = await eventsOf(runner.stream('Pay.'))
    const view = viewOf(first.events)
    const [waits, other] = first.result.pending.map((item) => ({ ...item, approved: true as const }))
    const { events, result } = await eventsOf(runner.resumeStream(first.result.state as RunState, { decisions: [other as Decision] }))
    viewOf(events, view)
    expect([view.status, [...view.pending.keys()]]).toEqual(['waiting', [waits?.place]])
    viewOf((await eventsOf(runner.resumeStream(result.state as RunState, { decisions: [waits as Decision] }))).events, view)
    expect([view.status, view.pending.size]).toEqual(['ended', 0])
  })

  it('contains runs inside a call, and shows in the call that they wait', async () => {
    const inner = new AgentRunner({
      logger,
      tools: [refund],
      model: scriptedModel([{ text: 'I pay.', toolCalls: [{ name: 'refund' }] }, 'Paid it.']),
    })
    const helper = asTool(inner, { name: 'helper', description: 'Helps.', forwardEvents: true })
    const runner = new AgentRunner({
      logger,
      tools: [helper],
      model: scriptedModel([{ toolCalls: [{ name: 'helper', args: { task: 'pay' } }] }, 'Done.']),
    })
    const first = await eventsOf(runner.stream('go'))
    const view = viewOf(first.events)
    const [call] = view.calls.values()
    expect(call).toMatchObject({ tool: 'helper', status: 'waiting', waitsFor: 'approval', args: { task: 'pay' } })
    expect([...view.pending.values()]).toMatchObject([{ tool: 'refund', path: [{ agent: 'helper', toolCallId: call?.id }] }])
    const [{ toolCallId = '', fingerprint = '' } = {}] = first.result.pending
    const second = await eventsOf(runner.resumeStream(first.result.state, { decisions: [{ toolCallId, fingerprint, approved: true }] }))
    viewOf(second.events, view)
    expect(partsOf(view)).toEqual([['helper'], ['text Done.']])
    expect(call).toMatchObject({ status: 'ended', outcome: 'ok', result: 'Paid it.' })
    expect(call?.runs.flatMap(partsOf).flat()).toContain('text Paid it.')
    expect([...view.runs.keys()]).toEqual(call?.runs.map(({ runId }) => runId))
    expect(call?.runs.at(-1)?.calls.get(toolCallId)).toMatchObject({ tool: 'refund', status: 'ended', result: 'paid' })
  })

  it('F21 removes the text and calls of a response that broke off', async () => {
    const fault = { cutAfterBytes: 'content' } as const
    const script = [
      { text: 'I look.', toolCalls: [{ name: 'weather', arguments: { city: 'Oslo' } }] },
      { text: 'It is lo', fault },
      'It is long.',
    ]
    const provider = await startStrictProvider({ script })
    const model = createModel({ provider: 'custom', model: 'm', baseURL: provider.baseURL, maxRetries: 1, maxRetryDelayMs: 1 })
    const { events, result } = await eventsOf(new AgentRunner({ logger, model, tools: [weather] }).stream('go'))
    await provider.close()
    const view = viewOf(events)
    expect(events.some((event) => event.type === 'MODEL_RETRY' && event.discards)).toBe(true)
    expect(partsOf(view)).toEqual([['text I look.', 'weather'], ['text It is long.']])
    expect(view.turns[1]?.retries).toMatchObject([{ discards: true }])
    expect(lastText(view)).toBe(result.text)
  })

  it('F21 keeps the text that such a response continues, and calls that ran', () => {
    const again = { ...meta, iteration: 2 }
    const events: RunEvent[] = [
      start,
      text('It '),
      { ...start, meta: again, continues: true },
      text('is lo', again),
      input('c1', again),
      { ...cut, meta: again },
      text('is long.', again),
    ]
    const view = viewOf(events)
    expect(view.turns.map(turnText)).toEqual(['It ', 'is long.'])
    expect([lastText(view), view.calls.size]).toEqual(['It is long.', 0])
  })

  it('starts the turn of a retried request again, as after a crash', () => {
    const view = viewOf([start, text('It is lo'), input('c1'), start, text('It is long.'), input('c2'), called('c2'), start])
    expect([view.turns.length, partsOf(view), [...view.calls.keys()]]).toEqual([1, [['t']], ['c2']])
  })

  it('ignores events whose ids it already has', async () => {
    const runner = new AgentRunner({
      logger,
      tools: [weather],
      model: scriptedModel([{ text: 'Hm.', toolCalls: [{ name: 'weather', args: { city: 'Oslo' } }] }, 'ok']),
    })
    const { events } = await eventsOf(runner.stream('go'))
    const view = emptyRunView()
    for (const [at, event] of events.entries()) {
      reduceRun(view, event, at + 1)
      // A reconnect starts with known events.
      for (let id = Math.max(0, at - 3); id <= at; id++) reduceRun(view, events[id] ?? event, id + 1)
    }
    expect(view).toEqual({ ...viewOf(events), lastEventId: events.length })
  })

  it('starts anywhere in a run, and understands what followed', async () => {
    const inner = new AgentRunner({
      logger,
      tools: [weather],
      model: scriptedModel([{ toolCalls: [{ name: 'weather', args: { city: 'Rome' } }] }, 'In.']),
    })
    const helper = asTool(inner, { name: 'helper', description: 'Helps.', forwardEvents: true })
    const runner = new AgentRunner({
      logger,
      tools: [helper, weather],
      model: scriptedModel([
        {
          toolCalls: [
            { name: 'helper', args: { task: 'x' } },
            { name: 'weather', args: { city: 'Oslo' } },
          ],
        },
        'Out.',
      ]),
    })
    const { events, result } = await eventsOf(runner.stream('go'))
    for (let from = 0; from < events.length; from++) {
      const rest = events.slice(from)
      const view = viewOf(rest)
      expect([view.runId, view.status]).toEqual([result.runId, 'ended'])
      for (const event of rest) {
        if (event.type !== 'TOOL_CALL_END') continue
        expect(callOf(view, event)).toMatchObject({ tool: event.tool, status: 'ended', outcome: event.outcome, result: event.result })
      }
      // Every nested run is in its call, and every call in a turn, once an event has mentioned it.
      expect([...view.runs.values()].every((run) => view.calls.get(run.parent?.toolCallId ?? '')?.runs.includes(run))).toBe(true)
      expect(view.turns.flatMap(({ parts }) => parts).filter(({ type }) => type === 'call')).toHaveLength(view.calls.size)
    }
  })

  it('finds the place of nested runs at any depth, in any order of events', () => {
    const deep = { runId: 'c', parentRunId: 'b', parentToolCallId: 'b1', depth: 2 }
    const middle = { runId: 'b', parentRunId: 'a', parentToolCallId: 'a1', depth: 1 }
    const events = [
      called('c1', deep),
      called('b2', middle),
      returned('b1', middle),
      called('a2', { runId: 'a' }),
      returned('a1', { runId: 'a' }),
    ]
    for (const order of [events, events.toReversed()]) {
      const view = viewOf(order)
      expect(view.runId).toBe('a')
      const [outer] = view.calls.get('a1')?.runs ?? []
      expect(outer?.runId).toBe('b')
      expect(outer?.calls.get('b1')?.runs.map(({ runId }) => runId)).toEqual(['c'])
      expect(view.runs.get('c')?.calls.has('c1')).toBe(true)
      expect([...view.calls.values()].map(({ iteration, tool }) => [iteration, tool])).toEqual([
        [1, 't'],
        [1, 't'],
      ])
    }
  })

  it('ends open parts if the run ends without further events', () => {
    const inside = { runId: 'b', parentRunId: 'r', parentToolCallId: 'c2', depth: 1 }
    const view = viewOf([start, input('c1'), called('c2'), called('b1', inside), returned('c3'), ended('answered')])
    expect([...view.calls.values()].map(({ id, status, outcome }) => [id, status, outcome])).toEqual([
      ['c1', 'ended', undefined],
      ['c2', 'ended', undefined],
      ['c3', 'ended', 'ok'],
    ])
    expect(view.runs.get('b')).toMatchObject({ status: 'ended' })
    expect(view.runs.get('b')?.calls.get('b1')?.status).toBe('ended')
  })

  it('continues a run whose pause arrived twice, or whose start after the pause was missed', () => {
    const view = viewOf([called('c1'), ended('paused'), ended('paused')])
    expect([view.status, view.pauses]).toEqual(['waiting', [{ from: 1, to: undefined }]])
    viewOf([called('c1', { time: 5 })], view)
    expect([view.status, view.stopReason, view.pauses]).toEqual(['running', undefined, [{ from: 1, to: 5 }]])
  })

  it('assigns a budget question to the run, not to a call', () => {
    const item = { toolCallId: '2.budget', tool: 'budget', args: {}, fingerprint: 'f', place: '2.budget' }
    const asked = { ...meta, toolCallId: '2.budget' }
    const view = viewOf([{ type: 'DECISION_NEEDED', meta: asked, kind: 'budget', ...item }, ended('paused')])
    expect([view.calls.size, view.pending.size, view.status]).toEqual([0, 1, 'waiting'])
    viewOf(
      [{ type: 'DECISION_MADE', meta: asked, kind: 'budget', approved: true, toolCallId: '2.budget', tool: 'budget', place: '2.budget' }],
      view,
    )
    expect(view.pending.size).toBe(0)
  })

  it('keeps notes in place: findings of guardrails, and handoffs', () => {
    const guardrail = { guardrail: 'tone', verdict: 'replace' as const }
    const view = viewOf([
      { type: 'GUARDRAIL', meta: { ...meta, iteration: 0 }, place: 'input', ...guardrail },
      start,
      text('One.'),
      { type: 'GUARDRAIL', meta, place: 'output', ...guardrail },
      { type: 'HANDOFF', meta, agent: 'billing', ...model },
    ])
    expect(partsOf(view)).toEqual([['guardrail'], ['text One.', 'guardrail', 'handoff']])
  })

  it.each<[string, unknown]>([
    ['a type of a newer version', { type: 'SOMETHING_NEW', meta, tool: 't', text: 'x' }],
    ['an event of another run', { ...text('x'), meta: { ...meta, runId: 'other' } }],
    ['a frame that is no event', { from: 3, to: 9 }],
    ['a call without an id', called('c', { toolCallId: undefined })],
    ['a run that says it is inside of itself', called('c', { runId: 'x', parentRunId: 'x', parentToolCallId: 'c', depth: 1 })],
  ])('is not changed by %s', (_, event) => {
    const known: RunEvent[] = [start, text('One.')]
    expect(viewOf([...known, event as RunEvent])).toEqual(viewOf(known))
  })

  it('terminates for runs that claim to be inside each other', () => {
    const loop = (runId: string, parentRunId: string) => called('c', { runId, parentRunId, parentToolCallId: 'c', depth: 2 })
    const view = viewOf([
      loop('a', 'b'),
      loop('b', 'a'),
      { ...ended('answered'), meta: { ...meta, runId: 'a', parentRunId: 'b', parentToolCallId: 'c' } },
    ])
    expect([...view.runs.values()].map(({ status }) => status)).toEqual(['ended', 'ended'])
  })

  it('stays consistent if events are missing, repeated or reordered', async () => {
    const inner = new AgentRunner({
      logger,
      tools: [refund],
      model: scriptedModel([{ text: 'I pay.', toolCalls: [{ name: 'refund' }] }, 'Paid it.']),
    })
    const helper = asTool(inner, { name: 'helper', description: 'Helps.', forwardEvents: true })
    const tools = [helper, weather, refund, book]
    const model = scriptedModel([
      {
        text: 'Hm.',
        toolCalls: [{ name: 'helper', args: { task: 'pay' } }, { name: 'weather', args: { city: 'Oslo' } }, { name: 'book' }],
      },
      'Done.',
    ])
    const first = await eventsOf(new AgentRunner({ logger, tools, model }).stream('go'))
    const own = { ...meta, runId: first.result.runId }
    const others = [cut, { ...start, continues: true as const }, start, text('more'), ended('paused'), ended('answered')]
    const known = [...first.events, ...others.map((event) => ({ ...event, meta: own }))]
    const order = fc.array(fc.nat(known.length - 1), { maxLength: 200 })
    fc.assert(
      fc.property(order, (places) => {
        const view = viewOf(places.flatMap((place) => known[place] ?? []))
        for (const run of [view, ...view.runs.values()]) {
          const inTurns = run.turns.flatMap(({ parts }) => parts.flatMap((part) => (part.type === 'call' ? part.call : [])))
          const told = [...run.calls.values()].filter(({ iteration }) => iteration !== undefined)
          // Each call that an event has mentioned is in exactly one turn.
          expect(new Set(inTurns)).toEqual(new Set(told))
          expect(inTurns).toHaveLength(told.length)
          const iterations = run.turns.map(({ iteration }) => iteration)
          expect(iterations).toEqual(iterations.toSorted((a, b) => a - b))
          for (const { status, outcome, waits } of run.calls.values()) {
            expect(outcome === undefined || status === 'ended').toBe(true)
            expect(waits.slice(0, -1).every(({ to }) => to !== undefined)).toBe(true)
          }
          const places = [...run.pending.keys()]
          expect(new Set(places).size).toBe(places.length)
        }
      }),
    )
  })

  it('takes linear time for many pieces, many calls in a turn, and many turns', async () => {
    const reduce = () => {
      const view = emptyRunView()
      for (let at = 0; at < 100_000; at++) reduceRun(view, text('x'))
      for (let at = 0; at < 20_000; at++) reduceRun(view, called(`a${at}`))
      for (let at = 0; at < 20_000; at++) reduceRun(view, returned(`a${at}`))
      for (let iteration = 2; iteration < 20_000; iteration++) reduceRun(view, text('x', { iteration }))
      reduceRun(view, ended('answered'))
      expect([view.calls.size, view.turns.length]).toEqual([20_000, 19_999])
    }
    // It takes 100 ms; quadratic time would take minutes.
    expect(await leastCpuMs(2_000, reduce)).toBeLessThan(2_000)
  })

  it('is a plain value that can be cloned', () => {
    const view = viewOf([
      start,
      text('One.'),
      called('c1'),
      called('b1', { runId: 'b', parentRunId: 'r', parentToolCallId: 'c1', depth: 1 }),
    ])
    const copy = structuredClone(view)
    expect(copy).toEqual(view)
    // The copy is independent, and what is in it twice is one object.
    viewOf([returned('b1', { runId: 'b', parentRunId: 'r', parentToolCallId: 'c1', depth: 1 })], copy)
    expect(copy.calls.get('c1')?.runs[0]?.calls.get('b1')?.status).toBe('ended')
    expect(view.runs.get('b')?.calls.get('b1')?.status).toBe('running')
  })
})

it('the entry `toolloop/view` needs neither Node.js nor other code', () => {
  const folder = new URL('../src/core/runs/', import.meta.url)
  for (const name of readdirSync(folder)) {
    const source = readFileSync(new URL(name, folder), 'utf8')
    const needed = [...source.matchAll(/^(?:import|export) (?!type )[^;]*? from '([^']+)'/gm)].map(([, from]) => from)
    expect(
      needed.filter((from) => !from?.startsWith('./')),
      name,
    ).toEqual([])
    expect(source, name).not.toMatch(/\b(?:Buffer|process|require)\b/)
  }
})
