import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { ModelError } from '../../src/core/errors.ts'
import type { ChatMessage } from '../../src/core/messages.ts'
import type { ModelSink } from '../../src/models/chat-model.ts'
import { createModel } from '../../src/models/create-model.ts'
import { demoModel } from '../../src/models/demo/demo.ts'
import { converse, definitionsOf } from './demo-workspace.ts'

const tools = definitionsOf()
const question = 'How many TypeScript files are under src and what time is it in Tokyo?'

function user(content: string): ChatMessage[] {
  return [{ role: 'user', content }]
}

/** Puts the pieces of a stream together again. */
function collector(): { sink: ModelSink; text: () => string; pieces: string[]; calls: { id: string; name: string; json: string }[] } {
  const pieces: string[] = []
  const calls: { id: string; name: string; json: string }[] = []
  const sink: ModelSink = {
    text: (delta) => void pieces.push(delta),
    toolCallStart: (index, id, name) => {
      expect(index).toBe(calls.length)
      calls.push({ id, name, json: '' })
    },
    toolCallDelta: (index, json) => {
      const call = calls[index]
      expect(call).toBeDefined()
      if (call !== undefined) call.json += json
    },
  }
  return { sink, text: () => pieces.join(''), pieces, calls }
}

describe('demoModel', () => {
  it('is a model with tool calls of its own, and needs no key', async () => {
    const model = demoModel()
    expect([model.provider, model.model, model.capabilities]).toEqual(['demo', 'demo', { nativeTools: true }])
    const { text, finishReason } = await createModel('demo').generate({ messages: user('hello') })
    expect(finishReason).toBe('stop')
    expect(text).toContain('no language model')
  })

  it('streams the same response it resolves with: calls', async () => {
    const { sink, calls, pieces } = collector()
    const response = await demoModel().generate({ messages: user(question), tools }, sink)
    expect(response.finishReason).toBe('tool_calls')
    expect(calls).toEqual(response.toolCalls.map((call) => ({ id: call.id, name: call.function.name, json: call.function.arguments })))
    expect(calls.map(({ name }) => name)).toEqual(['list_files', 'current_time'])
    expect(pieces).toEqual([])
    expect(response).toEqual(await demoModel().generate({ messages: user(question), tools }))
  })

  it('streams the same response it resolves with: text, word by word', async () => {
    const { messages } = await converse(question)
    const upToAnswer = messages.slice(0, -1)
    const { sink, text, pieces } = collector()
    const response = await demoModel().generate({ messages: upToAnswer, tools }, sink)
    expect(text()).toBe(response.text)
    expect(pieces.length).toBeGreaterThan(10)
    expect(Math.max(...pieces.map((piece) => piece.trim().split(/\s+/).length))).toBe(1)
    const whole = collector()
    expect(await demoModel().generate({ messages: upToAnswer, tools, stream: false }, whole.sink)).toEqual(response)
    expect(whole.pieces).toEqual([response.text])
  })

  it('reports a usage by length, which grows with the conversation', async () => {
    const [short, long] = await Promise.all(['hello', 'hello '.repeat(100)].map((text) => demoModel().generate({ messages: user(text) })))
    expect(short?.usage?.inputTokens).toBeGreaterThan(0)
    expect(long?.usage?.inputTokens).toBeGreaterThan(100)
  })

  it('rejects with `aborted`, before it begins and while it speaks', async () => {
    const before = demoModel().generate({ messages: user('hello'), signal: AbortSignal.abort('stop') })
    await expect(before).rejects.toMatchObject({ code: 'aborted', provider: 'demo', cause: 'stop' })
    await expect(before).rejects.toBeInstanceOf(ModelError)
    const controller = new AbortController()
    const pieces: string[] = []
    const sink: ModelSink = {
      text: (delta) => {
        pieces.push(delta)
        if (pieces.length === 3) controller.abort()
      },
    }
    await expect(demoModel().generate({ messages: user('hello'), signal: controller.signal }, sink)).rejects.toMatchObject({
      code: 'aborted',
    })
    expect(pieces).toHaveLength(3)
  })

  it('gives its calls ids that no other call of the conversation has', async () => {
    const { messages } = await converse(['How many files are in src?', 'and in tests?', 'times 2?'])
    const ids = messages.flatMap((message) => ('toolCalls' in message ? message.toolCalls.map(({ id }) => id) : []))
    expect(new Set(ids).size).toBe(3)
    const taken: ChatMessage[] = [
      { role: 'assistant', content: '', toolCalls: [{ id: 'call_2', type: 'function', function: { name: 'x', arguments: '' } }] },
      { role: 'tool', toolCallId: 'call_2', content: '' },
      ...user('12*3'),
    ]
    const { toolCalls } = await demoModel().generate({ messages: taken, tools })
    expect(toolCalls.map(({ id }) => id)).toEqual(['call_3'])
  })

  it('makes one call at a time when it is told to, and gets to the same answer', async () => {
    const { toolCalls } = await demoModel().generate({ messages: user(question), tools, parallelToolCalls: false })
    expect(toolCalls).toHaveLength(1)
    const single = await converse(question, { parallelToolCalls: false })
    expect(single.answer).toBe((await converse(question)).answer)
    expect(single.steps).toBe(3)
  })

  it('names the settings it does not take', async () => {
    const { warnings } = await demoModel().generate({ messages: user('hello'), temperature: 0, seed: 1 })
    expect(warnings).toEqual([
      '`temperature` was left out: the demo model does not take it',
      '`seed` was left out: the demo model does not take it',
    ])
    expect(await demoModel().generate({ messages: user('hello') })).not.toHaveProperty('warnings')
  })
})

describe('tools that are not there', () => {
  it('says which one it would need, and calls no other for half an answer', async () => {
    const { answer, calls } = await converse(question, { tools: definitionsOf(['current_time']) })
    expect(calls).toEqual([])
    expect(answer).toMatch(/^I can't answer “.*”\. I would need the tool `list_files`, which is not offered to me here\. /)
    expect(answer).toMatch(/What works here: What time is it in Tokyo\?\n/)
  })

  it('invents nothing without tools, or when it may call none', async () => {
    const request = 'How many files are in src, which is the longest, and what is 12 * 37?'
    const { answer, calls } = await converse(request, { tools: [] })
    expect(calls).toEqual([])
    expect(answer).toContain('I would need the tool `list_files`')
    expect((await converse(request, { toolChoice: 'none' })).answer).toBe(
      'I would need the tool `list_files` for that, and may not call it here.',
    )
  })

  it('answers from the results there are when it may call no more', async () => {
    const { messages } = await converse(question)
    const { text, toolCalls } = await demoModel().generate({ messages: messages.slice(0, -1), tools, toolChoice: 'none' })
    expect(toolCalls).toEqual([])
    expect(text).toBe('There are 7 TypeScript files in src. In Tokyo it is 13:05 (Asia/Tokyo, UTC+00:00).')
  })

  it('calls only the tool it is told to call, and says so when it needs no call where one is asked for', async () => {
    const toolChoice = { type: 'function' as const, function: { name: 'current_time' } }
    const { toolCalls } = await demoModel().generate({ messages: user(question), tools, toolChoice })
    expect(toolCalls.map((call) => call.function.name)).toEqual(['current_time'])
    const { warnings } = await demoModel().generate({ messages: user('hello'), tools, toolChoice: 'required' })
    expect(warnings).toEqual(['`toolChoice` asks for a call, and there is none left that the demo model needs'])
  })
})

describe('what it is, and what it is not', () => {
  it.each(['hello', 'Who are you?', 'help', 'What can you do?', 'what tools do you have?', 'Are you ChatGPT?'])(
    '%s: says that it is a demo, and how to use a real model',
    async (request) => {
      const { answer, calls } = await converse(request)
      expect(calls).toEqual([])
      expect(answer).toContain("toolloop's built-in demo model")
      expect(answer).toContain('no language model')
      expect(answer).toContain('`--model openai/gpt-5.2`')
      expect(answer).toContain('`--model ollama/<name>`')
    },
  )

  it('offers only examples for which it has the tools', async () => {
    const { answer } = await converse('hello', { tools: definitionsOf(['calculate', 'weather']) })
    expect(answer).toContain('- What is 15% of 240?')
    expect(answer).toContain('- call weather')
    expect(answer).not.toContain('files')
  })

  it('a greeting in front of a question needs no reply of its own', async () => {
    expect((await converse('Hi! How many files are in config? Thanks!')).answer).toBe('There are 3 files in config.')
  })

  it('understands every example it is documented with, and every one it gives itself', async () => {
    const doc = readFileSync(new URL('../../src/models/demo/demo.ts', import.meta.url), 'utf8')
    const { answer: help } = await converse('help')
    const { answer: cannot } = await converse('Write a poem')
    const worksHere = /What works here: (.+)/.exec(cannot)?.[1]?.split(' · ') ?? []
    const examples = [...doc.matchAll(/“([^”]+)”/g), ...help.matchAll(/^- (.+)$/gm)].map((match) =>
      (match[1] ?? '').replace(/\s*\n \*\s*/g, ' '),
    )
    expect(worksHere).toHaveLength(3)
    expect(examples.length).toBeGreaterThan(12)
    for (const example of [...examples, ...worksHere]) {
      const { answer } = await converse(['List the 3 longest TypeScript files in src', example])
      expect(answer, example).not.toMatch(/can't answer|no question/)
    }
    expect((await converse(['How many files are in src?', 'Double that'])).answer).toContain('× 2 =')
  })

  it('answers an empty message, and a conversation without one', async () => {
    expect((await converse('')).answer).toMatch(/^I find no question in that\./)
    expect((await demoModel().generate({ messages: [] })).text).toContain('demo model')
  })
})
