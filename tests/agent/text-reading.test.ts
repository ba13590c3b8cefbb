import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { AgentRunner } from '../../src/agent/agent-runner.ts'
import { TextReading } from '../../src/agent/text-calls/text-reading.ts'
import { Event } from '../../src/core/events.ts'
import { findDialect } from '../../src/dialects/index.ts'
import type { ModelResponse } from '../../src/models/chat-model.ts'
import { scriptedModel } from '../../src/testing/scripted-model.ts'
import { defineTool } from '../../src/tools/tool.ts'
import { recordingLogger } from '../hazards/recording-logger.ts'
import { startStrictProvider } from '../models/rules/strict-provider.ts'

const parameters = { type: 'object', properties: { a: { type: 'integer' } } }
const tools = [{ type: 'function' as const, function: { name: 'add', parameters } }]
const add = defineTool({ name: 'add', description: 'adds', parameters, execute: () => 'added' })

/** Pieces of responses in three dialects: words, calls, calls that are broken or open, markup that means nothing. */
const pieces = fc.constantFrom(
  'words ',
  '\n',
  ' ünï🙂 ',
  '```\n',
  '<',
  '{"name": "add", "arguments": {"a": "1"}}\n',
  '\n{"name": "add", "arguments": {"a": ',
  '\n<tool_call>\n{"name": "add", "arguments": {"a": 2}}\n</tool_call>',
  '<tool_call>\n{"name": "add", "arguments": {"a": }}\n</tool_call>',
  '<tool_call>',
  '</tool_call>',
  '<tool_action name="add"><a value="3" /></tool_action>',
  '<tool_action name="add"><a ',
  '</tool_action>',
  '<tool_response>made up</tool_response>',
)
const responses = fc.record({
  text: fc.array(pieces, { maxLength: 8 }).map((all) => all.join('')),
  cuts: fc.array(fc.nat({ max: 400 }), { maxLength: 12 }),
  dialect: fc.constantFrom('json', 'hermes', 'tool-action', 'salvage'),
  finishReason: fc.constantFrom('stop' as const, 'length' as const, 'content_filter' as const, 'refusal' as const),
  besideNative: fc.boolean(),
  native: fc.boolean(),
})

function cut(text: string, at: number[]): string[] {
  const ends = [...new Set(at.filter((end) => end < text.length))].sort((a, b) => a - b)
  return [...ends, text.length].map((end, index) => text.slice(ends[index - 1] ?? 0, end))
}

describe('the calls in a response’s text', () => {
  it('H7 are the same, and so is the text, watched or not, however the response was cut', () => {
    fc.assert(
      fc.property(responses, ({ text, cuts, dialect, finishReason, besideNative, native }) => {
        const options = { dialect: findDialect(dialect), tools, besideNative, unreadable: 'call' as const }
        const nativeCall = { id: 'n', type: 'function' as const, function: { name: 'add', arguments: '{}' } }
        const response: ModelResponse = { text, toolCalls: native ? [nativeCall] : [], finishReason }
        const whole = new TextReading(options, undefined).finish(response)

        let shown = ''
        const started: string[] = []
        const reading = new TextReading(options, {
          text: (delta) => (shown += delta),
          toolCallStart: (_i, _id, name) => void started.push(name),
        })
        for (const piece of cut(text, cuts)) reading.sink?.text?.(piece)
        const watched = reading.finish(response)

        expect(watched).toEqual(whole)
        const all = shown + watched.toolCalls.map(({ textAfter = '' }) => textAfter).join('')
        if (native) {
          // Beside native calls everything is text, in its place.
          expect(watched).toBe(response)
          expect(shown).toBe(text)
        } else {
          expect(all.replace(/\s+/g, '')).toBe(watched.text.replace(/\s+/g, ''))
          expect(started).toEqual(watched.toolCalls.map(({ function: { name } }) => name))
        }
        if (!native && watched.toolCalls.length === 0) expect(shown).toBe(watched.text)
      }),
      { numRuns: 200 },
    )
  })

  it('H40 of a broken-off response, all text before the first call counts, and nothing that may have become one', () => {
    fc.assert(
      fc.property(responses, fc.nat({ max: 400 }), ({ text, cuts, dialect, besideNative }, end) => {
        const options = { dialect: findDialect(dialect), tools, besideNative, unreadable: 'call' as const }
        const partial = text.slice(0, end)
        const unwatched = new TextReading(options, undefined).partOf(partial)
        let shown = ''
        const reading = new TextReading(options, { text: (delta) => (shown += delta) })
        for (const piece of cut(partial, cuts)) reading.sink?.text?.(piece)
        const watched = reading.partOf(partial)
        expect(watched).toBe(unwatched)
        expect(watched.startsWith(shown)).toBe(true)
        if (!besideNative) expect(shown).toBe(watched)
      }),
      { numRuns: 200 },
    )
  })

  it('parses each character once: a long response in small pieces takes linear time', () => {
    const text = `${'A long answer < that > says {much}. '.repeat(40_000)}\n<tool_call>\n{"name": "add", "arguments": {"a": 2}}\n</tool_call>`
    let pushed = 0
    const reading = new TextReading(
      { dialect: findDialect('hermes'), tools, besideNative: false, unreadable: 'call' },
      { text: (delta) => (pushed += delta.length) },
    )
    const { sink } = reading
    for (let at = 0; at < text.length; at += 4) sink?.text?.(text.slice(at, at + 4))
    const { toolCalls } = reading.finish({ text, toolCalls: [], finishReason: 'stop' })
    expect(toolCalls).toHaveLength(1)
    expect(pushed).toBe(text.indexOf('<tool_call>'))
  })
})

describe('a response that breaks off', () => {
  const open = '<tool_call>\n{"name": "add", "argum'

  it.each(['watched', 'unwatched'])('H40 %s: keeps the text before the call, but not the markup', async (how) => {
    const server = await startStrictProvider({ script: [{ text: `Half an answer. ${open}`, fault: { cutAfterBytes: 'content' } }] })
    const { logger } = recordingLogger()
    const model = { provider: 'custom', model: 'mock', baseURL: server.baseURL, maxRetries: 0, dialect: 'hermes' }
    const runner = new AgentRunner({ model, tools: [add], logger })
    let shown = ''
    if (how === 'watched')
      runner.on(Event.TEXT_DELTA, ({ text }) => {
        shown += text
      })
    const result = await runner.run('go')
    await server.close()
    expect(result).toMatchObject({ stopReason: 'model_error', error: { code: 'stream_cut' } })
    expect(result.messages[1]).toEqual({ role: 'assistant', content: 'Half an answer. ' })
    if (how === 'watched') expect(shown).toBe('Half an answer. ')
  })

  it('H30 aborted in the middle of a call: what was shown is kept, the next run on the same history works', async () => {
    const model = scriptedModel([{ chunks: ['Let me see. ', open], hang: true }, 'Again.'], {
      capabilities: { nativeTools: false, dialect: 'hermes' },
    })
    const runner = new AgentRunner({ model, tools: [add] })
    const controller = new AbortController()
    let shown = ''
    runner.on(Event.TEXT_DELTA, ({ text }) => {
      shown += text
      // The rest of what the model has sent comes first.
      if (shown.endsWith('see. ')) setImmediate(() => controller.abort())
    })
    const result = await runner.run('go', { signal: controller.signal })
    expect(result).toMatchObject({ stopReason: 'aborted', output: 'Let me see. ' })
    expect(await runner.run('again', { messages: result.messages })).toMatchObject({ stopReason: 'answered', output: 'Again.' })
  })

  it('H6 a response of only a call is not empty', async () => {
    const call = findDialect('hermes').renderCalls([{ name: 'add', arguments: { a: 1 } }])
    const model = scriptedModel([call, 'Done.'], { capabilities: { nativeTools: false, dialect: 'hermes' } })
    const runner = new AgentRunner({ model, tools: [add] })
    const result = await runner.run('go')
    expect(result).toMatchObject({ stopReason: 'answered', output: 'Done.', iterations: 2 })
    expect(result.messages[1]).toMatchObject({ content: '' })
    expect(model.requests).toHaveLength(2)
  })
})
