import { describe, expect, it } from 'vitest'
import { AgentRunner } from '../../src/agent/agent-runner.ts'
import { scriptedModel } from '../../src/testing/scripted-model.ts'
import { defineTool } from '../../src/tools/tool.ts'
import { recordingLogger } from '../hazards/recording-logger.ts'

const { logger } = recordingLogger()
const word = { type: 'object', properties: { word: { type: 'string' } }, required: ['word'] } as const

describe('the error of a run without an acceptable answer is worded for the developer', () => {
  const held = { capabilities: { nativeTools: true, structuredOutput: 'with-tools' as const } }
  it.each([
    ['as text', scriptedModel(() => '{"word": 7}', held)],
    ['through the tool', scriptedModel(() => ({ toolCalls: [{ name: 'final_answer', args: { word: 7 } }] }))],
  ])('an answer that does not fit, %s', async (_how, model) => {
    const { stopReason, error } = await new AgentRunner({ model, logger }).run('go', { output: word, outputRetries: 1 })
    expect(stopReason).toBe('model_error')
    expect(error?.code).toBe('invalid_output')
    expect(error?.message).toMatch(
      /^Expected an answer that is accepted, got 2 that were not \(`outputRetries` is 1\): the last one does not fit the schema of `output`\. The model was told: .*`word`/,
    )
  })

  it('a withheld answer', async () => {
    const guardrails = [{ name: 'polite', output: () => ({ refuse: 'too rude' }) }]
    const { error } = await new AgentRunner({ model: scriptedModel(() => 'No!'), logger, guardrails, outputRetries: 0 }).run('go')
    expect(error?.message).toMatch(/^Expected an answer that is accepted, got 1 .*a guardrail withheld the last one\..*polite: too rude/)
  })
})

describe('`repairs` lists what the schema changed in a call that was written as text', () => {
  const count = defineTool({
    name: 'count',
    description: 'counts',
    parameters: {
      type: 'object',
      properties: {
        to: { type: 'integer' },
        loud: { type: 'boolean' },
        steps: { type: 'array', items: { type: 'integer' } },
        of: { type: 'object', properties: { kind: { type: 'string' } } },
      },
    },
    execute: () => 'done',
  })
  const repairsOf = async (text: string) => {
    const model = scriptedModel([text, 'Done.'])
    const { toolCalls } = await new AgentRunner({ model, tools: [count], toolCalling: 'json', logger }).run('go')
    return toolCalls[0]?.repairs
  }

  it('lists each value with its place and its type', async () => {
    const text = '{"name": "count", "arguments": {"to": "2", "loud": "true", "steps": "[1, 2]"}}'
    expect(await repairsOf(text)).toEqual(['`to` read as number', '`loud` read as boolean', '`steps` read as array'])
  })

  it('is absent if every value has its type', async () => {
    expect(await repairsOf('{"name": "count", "arguments": {"to": 2, "steps": [1]}}')).toBeUndefined()
  })

  it('lists the first of very many values, and the number of the others', async () => {
    const model = scriptedModel([
      `{"name": "count", "arguments": {"of": {"kind": 5}, "steps": ${JSON.stringify(Array.from({ length: 40 }, (_, n) => `${n}`))}}}`,
      'Done.',
    ])
    const { toolCalls } = await new AgentRunner({ model, tools: [count], toolCalling: 'json', logger }).run('go')
    const repairs = toolCalls[0]?.repairs
    expect(repairs).toHaveLength(11)
    expect(repairs?.slice(0, 2)).toEqual(['`of.kind` read as string', '`steps[0]` read as number'])
    expect(repairs?.at(-1)).toBe('31 more values read by the schema')
  })
})
