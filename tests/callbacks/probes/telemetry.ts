import { telemetry } from '../../../src/telemetry/index.ts'
import { scriptedModel } from '../../../src/testing/scripted-model.ts'
import { defineTool } from '../../../src/tools/tool.ts'
import type { Bad } from '../misbehave.ts'
import { look, type Probe, quiet, settles } from './probe.ts'

const spanMembers = ['addEvent', 'end', 'setAttribute', 'setAttributes', 'setStatus'] as const

/** A tracer and a meter that record nothing, with one member replaced. */
function measured(where: 'tracer' | 'span' | 'state' | 'meter' | 'instrument', name: string, bad: Bad): Promise<unknown> {
  const own = (place: string) => (place === where ? { [name]: bad } : {})
  const state = { get: () => undefined, set: () => state, unset: () => state, serialize: () => 'a=b', ...own('state') }
  const spanContext = () => ({ traceId: '1'.repeat(32), spanId: '2'.repeat(16), traceFlags: 1, traceState: state })
  const span: object = {
    isRecording: () => true,
    spanContext,
    ...Object.fromEntries(spanMembers.map((member) => [member, () => span])),
    ...own('span'),
  }
  const tracer = { startSpan: () => span, startActiveSpan: () => undefined, ...own('tracer') }
  const instrument = { add() {}, record() {}, ...own('instrument') }
  const meter = { createCounter: () => instrument, createHistogram: () => instrument, ...own('meter') }
  const failing = defineTool({ name: 'fail', description: 'x', execute: () => Promise.reject(new Error('no')) })
  const asking = defineTool({
    name: 'ask',
    description: 'x',
    execute: (_, ctx) => {
      ctx.trace?.setAttributes({ a: 1 })
      return ctx.trace?.headers()
    },
  })
  return settles({
    telemetry: telemetry({ tracer, meter, content: true } as never),
    logger: quiet,
    tools: [look, failing, asking],
    model: scriptedModel([
      { text: 'I look.', toolCalls: [{ name: 'look' }, { name: 'fail' }, { name: 'ask' }, { name: 'none' }] },
      'Done.',
    ]),
  })
}

/** Callbacks of telemetry. */
export const telemetryProbes: Record<string, Probe> = {
  ...Object.fromEntries(
    [...spanMembers, 'isRecording', 'spanContext'].map((name) => [`Span.${name}`, (bad: Bad) => measured('span', name, bad)]),
  ),
  'TraceState.serialize': (bad) => measured('state', 'serialize', bad),
  'Tracer.startSpan': (bad) => measured('tracer', 'startSpan', bad),
  'Meter.createCounter': (bad) => measured('meter', 'createCounter', bad),
  'Meter.createHistogram': (bad) => measured('meter', 'createHistogram', bad),
  'Counter.add': (bad) => measured('instrument', 'add', bad),
  'Histogram.record': (bad) => measured('instrument', 'record', bad),
}
