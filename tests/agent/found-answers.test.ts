import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { AgentRunner } from '../../src/agent/agent-runner.ts'
import { jsonInText } from '../../src/agent/output/json-in-text.ts'
import type { OutputSchema } from '../../src/agent/output/output.ts'
import { scriptedModel } from '../../src/testing/scripted-model.ts'
import { nativeModes } from '../hazards/modes.ts'
import { recordingLogger } from '../hazards/recording-logger.ts'
import { stage } from '../hazards/stage.ts'
import { call } from '../hazards/tools.ts'
import { leastCpuMs } from '../reference-pace.ts'

const logger = recordingLogger().logger
const weather = {
  type: 'object',
  title: 'WeatherReport',
  properties: { city: { type: 'string' }, degrees: { type: 'number' } },
  required: ['city', 'degrees'],
  additionalProperties: false,
} as const
const good = { city: 'Kyoto', degrees: 21 }
const json = JSON.stringify(good)
const around = 'The answer was taken out of the text around it'

/** What a run makes of one text, which is not asked for again. */
async function answerTo(text: string, output: OutputSchema = weather) {
  const held = { capabilities: { nativeTools: true, structuredOutput: 'with-tools' as const } }
  const model = scriptedModel([{ text, usage: { inputTokens: 1, outputTokens: 1 } }], held)
  return new AgentRunner({ model, logger, outputRetries: 0 }).run('go', { output })
}

describe('an answer with a schema, in a text that is not only JSON', () => {
  const taken: [what: string, text: string, note: string][] = [
    ['in a fence behind a sentence', `Here is the report:\n\n\`\`\`json\n${json}\n\`\`\``, around],
    ['in a fence, with a sentence behind', `\`\`\`json\n${json}\n\`\`\`\nIs there anything else?`, around],
    ['in a fence without a language, on several lines', `So:\n\`\`\`\n${JSON.stringify(good, null, 2)}\n\`\`\`\n`, around],
    ['behind a sentence', `It is ${json}`, around],
    ['with a sentence behind', `${json}\n\nHope this helps!`, around],
    [
      'wrapped in the name of the schema',
      `{"WeatherReport": ${json}}`,
      'The answer was taken out of `WeatherReport`, in which it was wrapped',
    ],
    [
      'wrapped, in a fence behind a sentence',
      `Sure!\n\`\`\`json\n{"weather_report": ${json}}\n\`\`\``,
      'The answer was taken out of `weather_report`, in which it was wrapped',
    ],
    ['twice the same, the fields in another order', `${json}\n\nAgain: {"degrees": 21.0, "city": "Kyoto"}`, around],
    ['beside JSON that does not fit', `The tool said {"raw": [1, 2]} and [3], so: ${json} (from {"source": "x"}).`, around],
    ['beside a sentence with brackets and quotes', `I looked [here] and {there}, and "everywhere". ${json}`, around],
    ['behind JSON that was begun and broken', `{"city": "Ky… no: ${json}`, around],
    ['behind JSON that holds a mistake', `{"list": [${json.slice(0, -1)},}], "x": 1} ${json}`, around],
    ['with texts that look like JSON', `Note: {"city": "{\\"a\\": [", "degrees": 1}`, around],
  ]
  it.each(taken)('F14 %s: taken, and noted', async (_what, text, note) => {
    const result = await answerTo(text)
    expect(result).toMatchObject({ stopReason: 'answered', iterations: 1, steps: [{ warnings: [note] }] })
    expect(result.output).toEqual(JSON.parse(result.text))
    expect(result.output).toMatchObject({ city: expect.any(String), degrees: expect.any(Number) })
    // What the model wrote is kept.
    expect(result.messages.at(-1)?.content).toBe(text)
  })

  const refused: [what: string, text: string, problem: RegExp][] = [
    ['two that fit and differ', `${json} or {"city": "Osaka", "degrees": 20}`, /several JSON values that could be the answer/],
    ['one that fits, inside another that does not', `{"error": "no", "example": ${json}}`, /missing required `city`/],
    ['one in an array', `[${json}]`, /got an array/],
    ['one wrapped twice', `{"a": {"b": ${json}}}`, /missing required `city`/],
    ['one alone that does not fit', 'Here: {"city": "Kyoto"}', /missing required `degrees`/],
    ['one that is cut', `Here: ${json.slice(0, -1)}`, /ends before the JSON object does/],
    ['one in quotes of another language', "Here: {'city': 'Kyoto', 'degrees': 21}", /not valid JSON/],
    ['values as text', '{"city": "Kyoto", "degrees": "21"}', /`degrees`: expected number/],
    ['none at all', 'It is warm in Kyoto.', /not valid JSON/],
    ['very many that do not fit', `${'{"a":1} '.repeat(500)}${json}`, /several JSON values that could be the answer/],
  ]
  it.each(refused)('F14 %s: refused, and the model is told why', async (_what, text, problem) => {
    const result = await answerTo(text)
    expect(result).toMatchObject({ stopReason: 'model_error', output: undefined, error: { code: 'invalid_output' } })
    expect(result.error?.message).toMatch(problem)
  })

  it('F14 is not noted if the whole text fits', async () => {
    for (const text of [json, ` ${json}\n`, `\`\`\`json\n${json}\n\`\`\``])
      expect((await answerTo(text)).steps).toMatchObject([{ warnings: [] }])
  })

  it('F14 is found if it is not an object and is wrapped for the provider', async () => {
    const numbers = z.array(z.number())
    for (const [text, output] of [
      ['The numbers are [1, 2].', [1, 2]],
      ['Here:\n```json\n{"value": [1, 2]}\n```', [1, 2]],
      ['{"numbers": [1, 2]}', [1, 2]],
      ['Not [1] but [1, 2].', undefined],
      ['There are 2 of them.', undefined],
    ] as const)
      expect((await answerTo(text, numbers)).output, text).toEqual(output)
    const either = z.union([z.object({ a: z.number() }), z.object({ b: z.number() })])
    expect((await answerTo('So {"b": 2}.', either)).output).toEqual({ b: 2 })
  })

  it('F14 is checked and transformed by a Standard Schema', async () => {
    const dated = z.object({ at: z.iso.date().transform((day) => new Date(day)) })
    expect((await answerTo('On {"at": "2026-01-02"}, not {"at": "yesterday"}.', dated)).output).toEqual({ at: new Date('2026-01-02') })
  })

  it('F14 F7 is not taken from a part of a text that was cut', async () => {
    const held = { capabilities: { nativeTools: true, structuredOutput: 'with-tools' as const } }
    const run = (text: string) =>
      new AgentRunner({ model: scriptedModel([{ text, finishReason: 'length' }], held), logger }).run('go', { output: weather })
    expect(await run(`Either ${json} or`)).toMatchObject({ stopReason: 'truncated', output: undefined })
    expect(await run(json)).toMatchObject({ stopReason: 'answered', output: good })
  })

  it('F14 is searched in linear time, however often something starts like JSON', async () => {
    const read = (text: string) => [...jsonInText(text)].length
    const pieces = ['{', '[', '{"', '{"a":', '["', '[{},', '{"a":[', '{"{', '{"\\', '[1,']
    for (const piece of pieces) {
      const text = piece.repeat(60_000 / piece.length)
      expect(read(text), piece).toBeLessThan(10_000)
      expect(await leastCpuMs(500, () => read(text)), piece).toBeLessThan(500)
    }
    expect([...jsonInText(`${'{'.repeat(1_000)} [1] {"a": 1}`)]).toEqual([[1], { a: 1 }])
    expect([...jsonInText('{"__proto__": {"a": 1}} [] {} [{"b": [2]}]')].map((value) => JSON.stringify(value))).toEqual([
      '{"__proto__":{"a":1}}',
      '[]',
      '{}',
      '[{"b":[2]}]',
    ])
  })
})

describe.each(nativeModes)('an answer that is not only JSON: $name', (mode) => {
  it('F14 is found natively, and as text if there is a tool for it', async () => {
    for (const structuredOutput of ['with-tools', null]) {
      const settings = { quirks: { structuredOutput } }
      await using on = await stage(mode, [`Here it is:\n\`\`\`json\n{"WeatherReport": ${json}}\n\`\`\`\nBye.`], { settings })
      expect(await on.runner.run('go', { output: weather })).toMatchObject({ stopReason: 'answered', output: good, iterations: 1 })
    }
  })

  it('F14 is found in the tool’s arguments, wrapped in the name of the schema', async () => {
    const settings = { quirks: { structuredOutput: null } }
    await using on = await stage(mode, [{ toolCalls: [call('final_answer', { WeatherReport: good })] }], { settings })
    const result = await on.runner.run('go', { output: weather })
    expect(result).toMatchObject({ stopReason: 'answered', output: good, text: json })
    expect(result.toolCalls).toMatchObject([{ outcome: 'ok', args: good, repairs: ['unwrapped from `WeatherReport`'] }])
  })
})
