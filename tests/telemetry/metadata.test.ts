import { describe, expect, it } from 'vitest'
import { AgentRunner } from '../../src/agent/agent-runner.ts'
import { asTool } from '../../src/agent/sub-agents/sub-agent.ts'
import { hashToken } from '../../src/service/index.ts'
import { otlpTelemetry, telemetry } from '../../src/telemetry/index.ts'
import { memoryJournal, scriptedModel } from '../../src/testing/index.ts'
import { defineTool } from '../../src/tools/tool.ts'
import { recordingLogger } from '../hazards/recording-logger.ts'
import { configFile, startService } from '../service/start-service.ts'
import { startCollector } from './collector.ts'
import { startTracing } from './tracing.ts'

const look = defineTool({ name: 'look', description: 'Looks.', effect: 'read', execute: () => 'seen' })
const pay = defineTool({ name: 'pay', description: 'Pays.', approval: true, execute: () => 'paid' })
const called = (name: string) => scriptedModel([{ toolCalls: [{ name, arguments: {} }] }, 'Done.'])
const { logger } = recordingLogger()

/** The metadata fields of each span, by name. */
function metadataIn({ spans }: ReturnType<typeof startTracing>) {
  const fields = (attributes: object) => Object.entries(attributes).filter(([name]) => name.startsWith('toolloop.metadata.'))
  return spans().map(({ name, attributes }) => [name, Object.fromEntries(fields(attributes))])
}

describe('P3.7 the spans of a run', () => {
  it('have the chosen fields of its metadata, and no others, from their start', async () => {
    await using tracing = startTracing()
    const begun: object[] = []
    const tracer = {
      ...tracing.tracer,
      startSpan: (...args: Parameters<typeof tracing.tracer.startSpan>) => {
        begun.push(args[1]?.attributes ?? {})
        return tracing.tracer.startSpan(...args)
      },
    }
    const options = { tracer, metadata: ['org', 'tier', 'trial', 'tags', 'absent', 'nothing'] }
    const runner = new AgentRunner({ name: 'clerk', model: called('look'), tools: [look], logger, telemetry: telemetry(options) })
    await runner.run('go', { metadata: { org: 'acme', tier: 7, trial: false, tags: ['a', { b: 1 }], nothing: null, private: 'x' } })
    const expected = {
      'toolloop.metadata.org': 'acme',
      'toolloop.metadata.tier': 7,
      'toolloop.metadata.trial': false,
      'toolloop.metadata.tags': '["a",{"b":1}]',
    }
    const names = ['chat scripted-model', 'execute_tool look', 'chat scripted-model', 'invoke_agent clerk']
    expect(metadataIn(tracing)).toEqual(names.map((name) => [name, expected]))
    // A sampler sees them.
    for (const attributes of begun) expect(attributes).toMatchObject(expected)
  })

  it('have none without the option', async () => {
    await using tracing = startTracing()
    const { tracer } = tracing
    await new AgentRunner({ model: called('look'), tools: [look], logger, telemetry: telemetry({ tracer }) }).run('go', {
      metadata: { org: 'acme' },
    })
    expect(metadataIn(tracing).every(([, fields]) => Object.keys(fields as object).length === 0)).toBe(true)
  })

  it('have neither secrets nor long values', async () => {
    await using tracing = startTracing()
    const { tracer } = tracing
    const fields = ['apiKey', 'note', 'long', 'nested', '__proto__', 'toString']
    const runner = new AgentRunner({ model: scriptedModel(['Done.']), logger, telemetry: telemetry({ tracer, metadata: fields }) })
    await runner.run('go', {
      metadata: {
        apiKey: 'my-own-key',
        note: 'with sk-proj-0123456789abcdefghijklmnop in it',
        long: `${'x'.repeat(511)}😀`,
        nested: { password: 'hunter2', list: Array.from({ length: 1_000 }, (_, n) => n) },
      },
    })
    const [, shown] = metadataIn(tracing)[0] as [string, Record<string, string>]
    expect(Object.keys(shown)).toEqual(['apiKey', 'note', 'long', 'nested'].map((name) => `toolloop.metadata.${name}`))
    expect(JSON.stringify(shown)).not.toMatch(/my-own-key|sk-proj|hunter2/)
    const lengths = Object.values(shown).map(({ length }) => length <= 512)
    expect([lengths.every(Boolean), shown['toolloop.metadata.long']?.isWellFormed()]).toEqual([true, true])
  })

  it('of agents inside calls have those of the outer run, unless their own metadata has the field', async () => {
    await using tracing = startTracing()
    const { tracer } = tracing
    const inner = new AgentRunner({ model: scriptedModel(['30']), logger, metadata: { tier: 'inner' } })
    const tools = [asTool(inner, { name: 'ask', description: 'Asks.' })]
    const model = scriptedModel([{ toolCalls: [{ name: 'ask', arguments: { task: 'x' } }] }, 'Done.'])
    const runner = new AgentRunner({ model, tools, logger, telemetry: telemetry({ tracer, metadata: ['org', 'tier'] }) })
    await runner.run('go', { metadata: { org: 'acme', tier: 'outer' } })
    const spans = Object.fromEntries(metadataIn(tracing) as [string, object][])
    expect(spans['invoke_agent ask']).toEqual({ 'toolloop.metadata.org': 'acme', 'toolloop.metadata.tier': 'inner' })
    expect(spans.invoke_agent).toEqual({ 'toolloop.metadata.org': 'acme', 'toolloop.metadata.tier': 'outer' })
  })

  it('have them when another runner continues the run', async () => {
    await using tracing = startTracing()
    const journal = memoryJournal()
    const { tracer } = tracing
    const open = () =>
      new AgentRunner({ model: called('pay'), tools: [pay], journal, logger, telemetry: telemetry({ tracer, metadata: ['org'] }) })
    const paused = await open().run('go', { runId: 'run', metadata: { org: 'acme' } })
    await open().resume('run', { decisions: paused.pending.map((item) => ({ ...item, approved: true })) })
    const spans = metadataIn(tracing)
    expect(spans.map(([name]) => name)).toContain('execute_tool pay')
    for (const [, fields] of spans) expect(fields).toEqual({ 'toolloop.metadata.org': 'acme' })
  })

  it('are exported by OTLP if the configuration of a service chooses them, with the tenant of a token', async () => {
    await using collector = await startCollector()
    const key = 'v8Hs3-of-the-acme-clerk'
    const { file } = await configFile(`model: demo
telemetry: { endpoint: '${collector.url}', metadata: [org] }
service: { auth: { tokens: [{ name: clerk, roles: [run], hash: '${hashToken(key)}', tenant: { org: acme } }] } }
`)
    const { post, service } = await startService({ configFile: file })
    await (await post('/v1/runs', { input: 'hello' }, { authorization: `Bearer ${key}` })).text()
    await service.drain()
    const runs = collector.spans().filter(({ name }) => name.startsWith('invoke_agent'))
    expect(runs.map(({ attributes }) => attributes['toolloop.metadata.org'])).toEqual(['acme'])
  })

  it.each([['org'], [['']], [[7]], [Array.from({ length: 33 }, (_, n) => `f${n}`)]])(
    'refuse invalid names of fields: %j',
    async (metadata) => {
      for (const make of [telemetry, otlpTelemetry])
        await expect(async () => make({ metadata: metadata as never })).rejects.toThrow(
          'Expected `metadata` to be at most 32 names of fields',
        )
    },
  )
})
