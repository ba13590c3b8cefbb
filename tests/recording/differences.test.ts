import { describe, expect, it } from 'vitest'
import { AgentRunner, asTool, defineTool, type RunnerOptions } from '../../src/index.ts'
import { callsOf, requestsOf } from '../../src/recording/format.ts'
import { describeDifference, type ReplayOptions, replayRun } from '../../src/recording/index.ts'
import { replayModel, replayTools, scriptedModel } from '../../src/testing/index.ts'
import { recorded } from './recorded.ts'

const parameters = { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] } as const
const weather = (sky: string) =>
  defineTool({ name: 'weather', description: 'The weather.', parameters, effect: 'read', execute: ({ city }) => ({ city, sky }) })
const ask = (...cities: string[]) => ({ toolCalls: cities.map((city) => ({ name: 'weather', arguments: { city } })) })

function recordedRun(
  turns: Parameters<typeof scriptedModel>[0] = [ask('Oslo'), 'It is clear in Oslo.'],
  options: Partial<RunnerOptions> = {},
) {
  const runner = new AgentRunner({ model: scriptedModel(turns), tools: [weather('clear')], instructions: 'Be brief.', ...options })
  return recorded((record) => runner.run('How is Oslo?', record))
}

async function differenceWith(options: ReplayOptions, run = recordedRun()): Promise<string> {
  const { difference, result } = await replayRun((await run).recording, options)
  if (difference === undefined) return 'none'
  expect(result.stopReason).toBeDefined()
  return describeDifference(difference)
}

describe('the first difference', () => {
  it('is that of a changed prompt, before the model answers', async () => {
    expect(await differenceWith({ instructions: 'Be long.' })).toBe(
      '1.model: request.messages[0].content\n  - expected "Be brief."\n  + got      "Be long."',
    )
  })

  it('is that of a tool that returns something else', async () => {
    expect(await differenceWith({ tools: [weather('cloudy')] })).toBe(
      '1.tool.0: content\n  - expected "{\\"city\\":\\"Oslo\\",\\"sky\\":\\"clear\\"}"\n  + got      "{\\"city\\":\\"Oslo\\",\\"sky\\":\\"cloudy\\"}"',
    )
  })

  it('is that of a model that calls something else, and of one that says something else', async () => {
    expect(await differenceWith({ model: scriptedModel([ask('Rome'), 'Sunny.']) })).toBe(
      '1.model: response.calls[0][1].city\n  - expected "Oslo"\n  + got      "Rome"',
    )
    expect(await differenceWith({ model: scriptedModel([ask('Oslo'), 'Sunny.']) })).toBe(
      '2.model: response.text\n  - expected "It is clear in Oslo."\n  + got      "Sunny."',
    )
  })

  it('is undefined if a live model and live tools do the same, whatever ids and usage they have', async () => {
    const turn = {
      toolCalls: [{ id: 'another', name: 'weather', arguments: '{ "city": "Oslo" }' }],
      usage: { inputTokens: 1, outputTokens: 1 },
    }
    const model = scriptedModel([turn, 'It is clear in Oslo.'], { provider: 'live', model: 'newer' })
    expect(await differenceWith({ model, tools: [weather('clear')] })).toBe('none')
  })

  it('is reported for a run that continues, and for one that ends early', async () => {
    const { recording } = await recordedRun()
    const { '1.model': first = [], '2.model': _, ...rest } = recording.steps
    const more = await replayRun({ ...recording, steps: { '1.model': first, ...rest } })
    expect(more.difference).toMatchObject({ where: '2.model', expected: undefined })
    const longer = { ...recording, steps: { ...recording.steps, '3.model': first } }
    expect((await replayRun(longer)).difference).toMatchObject({ where: '3.model', got: undefined })
  })

  it('is inside the agent that differs, with the part of a long text that differs', async () => {
    const inner = new AgentRunner({ model: scriptedModel([ask('Oslo'), 'Clear.']), tools: [weather('clear')] })
    const turns = [{ toolCalls: [{ name: 'meteorologist', arguments: { task: 'Oslo' } }] }, 'Clear.']
    const { recording } = await recordedRun(turns, { tools: [asTool(inner, { name: 'meteorologist', description: 'Knows.' })] })
    const changed = structuredClone(recording)
    const [run] = callsOf(changed)[0]?.runs ?? []
    const message = run && requestsOf(run)[0]?.[1].request.messages[0]
    const long = `${'x'.repeat(3_000)}!`
    if (message !== undefined) message.content = long
    if (run !== undefined) run.given.messages = [{ role: 'user', content: `${'x'.repeat(3_000)}?` }]
    const { difference } = await replayRun(changed)
    const words = difference === undefined ? '' : describeDifference(difference)
    expect(words).toMatch(/^1\.tool\.0: runs\[0\], 1\.model: request\.messages\[0\]\.content\n/)
    expect(words).toContain('x!" (character 3001)')
    expect(words.length).toBeLessThan(700)
  })
})

describe('a regression test of a recorded run', () => {
  const again = (file: string, options: Partial<RunnerOptions> = {}) =>
    new AgentRunner({ model: replayModel(file), tools: replayTools(file), instructions: 'Be brief.', ...options }).run('How is Oslo?')

  it('runs an agent with the recorded model and tools, and records the same again', async () => {
    const { file, recording, text } = await recordedRun([ask('Oslo', 'Rome', 'Oslo'), 'It is clear in Oslo.'])
    expect(await again(file)).toMatchObject({ stopReason: 'answered', output: 'It is clear in Oslo.' })
    const runner = new AgentRunner({ model: replayModel(file), tools: replayTools(file), instructions: 'Be brief.' })
    const second = await recorded((record) => runner.run('How is Oslo?', { ...record, runId: recording.runId }))
    expect(second.text).toBe(text)
  })

  it('fails with the first difference of a changed prompt', async () => {
    const { file } = await recordedRun()
    const { stopReason, error } = await again(file, { instructions: 'Be polite.' })
    expect(stopReason).toBe('model_error')
    expect(error).toMatchObject({ code: 'replay_differs', fault: 'caller' })
    expect(error?.message).toBe(
      'The run differs from its recording at 1.model: request.messages[0].content\n  - expected "Be brief."\n  + got      "Be polite."',
    )
  })

  it('shows a model that calls something else what is recorded, and accepts calls in any order', async () => {
    const { file } = await recordedRun([ask('Oslo', 'Rome'), 'Clear.'])
    const model = scriptedModel([ask('Rome', 'Oslo', 'Bergen'), 'Clear.'])
    const { toolCalls } = await again(file, { model })
    expect(toolCalls.map(({ outcome, content }) => [outcome, content])).toEqual([
      ['ok', '{"city":"Rome","sky":"clear"}'],
      ['ok', '{"city":"Oslo","sky":"clear"}'],
      ['failed', expect.stringContaining('a call of `weather` that is not recorded, with {"city":"Bergen"}; 2 calls of it are recorded')],
    ])
  })

  it('tells a second run over the same model, and one more call, that each is there as often as it is recorded', async () => {
    const { file } = await recordedRun([ask('Oslo', 'Rome'), 'Clear.'])
    const model = replayModel(file)
    await again(file, { model })
    const most = 'The run differs from its recording at '
    const { error } = await again(file, { model })
    expect(error?.message).toBe(
      `${most}1.model, which has been played already: all 2 recorded requests have been made, and the model is asked again`,
    )
    const half = replayModel(file)
    const runs = await Promise.all([again(file, { model: half }), again(file, { model: half })])
    const [played, second] = runs.map((run) => run.error?.message)
    expect(played).toBeUndefined()
    // Whether the first run has asked for its last turn by then is up to the event loop.
    expect([
      `${most}1.model, which has been played already: each request is there as often as it was made. Two runs need two models`,
      `${most}1.model, which has been played already: all 2 recorded requests have been made, and the model is asked again`,
    ]).toContain(second)
    const { toolCalls } = await again(file, { model: scriptedModel([ask('Oslo', 'Oslo'), 'Clear.']) })
    expect(toolCalls.map(({ content }) => content)).toEqual([
      expect.stringContaining('Oslo'),
      expect.stringContaining('a call of `weather` that is recorded once, and occurs again, with {"city":"Oslo"}'),
    ])
  })

  it('replays the agents inside calls; `inside` names their tool', async () => {
    const inner = (model: ReturnType<typeof replayModel>, tools: ReturnType<typeof replayTools>) =>
      asTool(new AgentRunner({ model, tools }), { name: 'meteorologist', description: 'Knows.' })
    const turns = [{ toolCalls: [{ name: 'meteorologist', arguments: { task: 'Oslo' } }] }, 'Clear.']
    const tool = inner(scriptedModel([ask('Oslo'), 'Clear.'], { model: 'inner' }), [weather('clear')])
    const { file } = await recordedRun(turns, { tools: [tool] })
    const part = { inside: 'meteorologist' }
    expect(replayModel(file, part).model).toBe('inner')
    const result = await again(file, { tools: [inner(replayModel(file, part), replayTools(file, part))] })
    expect(result).toMatchObject({ stopReason: 'answered', output: 'Clear.' })
    expect(() => replayModel(file, { inside: 'nobody' })).toThrow('Expected `inside` to be a tool whose calls have runs inside them')
  })

  it('replays a failure of the provider unchanged', async () => {
    const { file } = await recordedRun([{ text: 'It', error: Object.assign(new Error('down')) }])
    const { stopReason, error, output } = await again(file)
    expect({ stopReason, output, code: error?.code, message: error?.message }).toEqual({
      stopReason: 'model_error',
      output: 'It',
      code: 'provider_error',
      message: 'down',
    })
  })
})
