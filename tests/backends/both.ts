import { expect } from 'vitest'
import type { RunInput, RunnerOptions, RunOptions, RunResult } from '../../src/agent/types/options.ts'
import { type Backend, createAgentRunner } from '../../src/backends/index.ts'
import { Event, type EventMeta, type EventName } from '../../src/core/events.ts'
import { type AnyTool, defineTool } from '../../src/tools/tool.ts'
import { type Mode, type ModeScript, modes, type SentRequest } from '../hazards/modes.ts'
import { type LogRecord, recordingLogger } from '../hazards/recording-logger.ts'
import { comparable, expectPairedEvents, expectValidHistory } from '../hazards/stage.ts'

const openai: Mode | undefined = modes.find(({ name }) => name === 'openai, streaming')
if (openai === undefined) throw new Error('the matrix has no mode of that name')
/** The backend matters here, not the API. */
export const mode: Mode = openai

interface Seen {
  name: EventName
  payload: Record<string, unknown>
  meta: EventMeta
}

export interface Outcome {
  result: RunResult
  events: Seen[]
  log: readonly LogRecord[]
  requests: SentRequest[]
}

export interface Play {
  script: ModeScript
  /** Created for each backend: tools may count. */
  tools?: () => readonly AnyTool[]
  options?: Partial<RunnerOptions>
  input?: RunInput
  run?: RunOptions
  on?: Mode
}

export async function playOn(backend: Backend, { script, tools, options, input = 'go', run = {}, on = mode }: Play): Promise<Outcome> {
  await using open = await on.open(script)
  const { logger, records } = recordingLogger()
  const runner = await createAgentRunner({ backend, logger, ...open.options, ...options, model: open.model, tools: tools?.() ?? [] })
  const events: Seen[] = []
  for (const name of Object.values(Event)) runner.bus.on(name, (payload, meta) => void events.push({ name, payload: { ...payload }, meta }))
  const result = await runner.run(input, { runId: 'run', ...run })
  expectValidHistory(result.messages)
  const ofCalls = events.filter(({ name }) => /^(RUN|TOOL_CALL)_/.test(name))
  expectPairedEvents(ofCalls, result)
  return { result, events, log: records, requests: open.requests() }
}

/** An outcome without times. */
function timeless({ result, events, log, requests }: Outcome): object {
  return {
    result: comparable(result),
    events: events.map(({ name, payload, meta: { durationMs: _, time: _t, ...meta } }) => ({ name, payload, meta })),
    log: log.map(({ level, message }) => ({ level, message })),
    requests,
  }
}

/** Plays on both backends and checks that everything but times is equal. Returns LangChain's outcome. */
export async function playOnBoth(play: Play): Promise<Outcome> {
  const native = await playOn('native', play)
  const langchain = await playOn('langchain', play)
  expect(timeless(langchain)).toEqual(timeless(native))
  return langchain
}

export const look = (): AnyTool =>
  defineTool({
    name: 'look',
    description: 'Looks at a place.',
    parameters: { type: 'object', properties: { place: { type: 'string' } }, required: ['place'], additionalProperties: false },
    execute: ({ place }) => {
      if (place === 'nowhere') throw new Error('There is no such place')
      return `sunny in ${place}`
    },
  })
