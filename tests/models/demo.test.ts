import { readdirSync, readFileSync } from 'node:fs'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { ModelError } from '../../src/core/errors.ts'
import type { ChatMessage } from '../../src/core/messages.ts'
import type { ModelRequest, ModelSink } from '../../src/models/chat-model.ts'
import { createModel } from '../../src/models/create-model.ts'
import { demoModel } from '../../src/models/demo/demo.ts'
import { evaluate } from '../../src/tools/builtin/calculator/evaluate.ts'
import { toText } from '../../src/tools/builtin/calculator/exact-number.ts'
import { builtinTools } from '../../src/tools/builtin/index.ts'
import { definitionsOf } from '../../src/tools/tool.ts'
import { anyCharacter } from '../any-text.ts'
import { leastCpuMs } from '../reference-pace.ts'

const tools = definitionsOf(builtinTools())
const question = 'How many TypeScript files are under src and what time is it in Tokyo?'

function user(content: string): ChatMessage[] {
  return [{ role: 'user', content }]
}

/** The results of the tools, by name. */
const results: Record<string, string> = {
  list_files: '{"path":"src","count":7,"totalBytes":70,"files":[]}',
  current_time: '{"date":"2026-02-03","time":"13:05:06","timeZone":"Asia/Tokyo","utcOffset":"+09:00"}',
}

/** The conversation up to the answer, and the number of steps. */
async function untilAnswer(request: Omit<ModelRequest, 'messages'>): Promise<{ messages: ChatMessage[]; steps: number }> {
  const messages = user(question)
  for (let steps = 1; ; steps++) {
    const { toolCalls } = await demoModel().generate({ tools, ...request, messages })
    if (toolCalls.length === 0) return { messages, steps }
    messages.push({ role: 'assistant', content: '', toolCalls })
    for (const { id, function: called } of toolCalls) messages.push({ role: 'tool', toolCallId: id, content: results[called.name] ?? '' })
  }
}

/** Joins the pieces of a stream. */
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
  it('answers a request behind the output of commands', async () => {
    const output = '<command line="ls" ending="exit 0">\na.ts\n</command>\n\n'
    const { text } = await demoModel().generate({ messages: user(`${output}${output}What can you do?`), tools })
    expect(text).toMatch(/^I am toolloop's built-in demo model/)
  })

  it('is a model with native tool calls, and needs no key', async () => {
    const model = demoModel()
    expect([model.provider, model.model, model.capabilities]).toEqual(['demo', 'demo', { nativeTools: true }])
    const { text, finishReason } = await createModel('demo').generate({ messages: user('hello') })
    expect(finishReason).toBe('stop')
    expect(text).toContain('no language model')
  })

  it('streams the same response that it resolves with: calls', async () => {
    const { sink, calls, pieces } = collector()
    const response = await demoModel().generate({ messages: user(question), tools }, sink)
    expect(response.finishReason).toBe('tool_calls')
    expect(calls).toEqual(response.toolCalls.map((call) => ({ id: call.id, name: call.function.name, json: call.function.arguments })))
    expect(calls.map(({ name }) => name)).toEqual(['list_files', 'current_time'])
    expect(pieces).toEqual([])
    expect(response).toEqual(await demoModel().generate({ messages: user(question), tools }))
  })

  it('streams the same response that it resolves with: text, word by word', async () => {
    const { messages } = await untilAnswer({})
    const { sink, text, pieces } = collector()
    const response = await demoModel().generate({ messages, tools }, sink)
    expect(text()).toBe(response.text)
    expect(pieces.length).toBeGreaterThan(10)
    expect(Math.max(...pieces.map((piece) => piece.trim().split(/\s+/).length))).toBe(1)
    const whole = collector()
    expect(await demoModel().generate({ messages, tools, stream: false }, whole.sink)).toEqual(response)
    expect(whole.pieces).toEqual([response.text])
  })

  it('reports usage by length, which grows with the conversation', async () => {
    const [short, long] = await Promise.all(['hello', 'hello '.repeat(100)].map((text) => demoModel().generate({ messages: user(text) })))
    expect(short?.usage?.inputTokens).toBeGreaterThan(0)
    expect(long?.usage?.inputTokens).toBeGreaterThan(100)
  })

  it('rejects with `aborted`, before it starts and while it answers', async () => {
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

  it('gives its calls ids that are new in the conversation', async () => {
    const taken: ChatMessage[] = [
      { role: 'assistant', content: '', toolCalls: [{ id: 'call_2', type: 'function', function: { name: 'x', arguments: '' } }] },
      { role: 'tool', toolCallId: 'call_2', content: '' },
      ...user('12*3 and 3*4'),
    ]
    const { toolCalls } = await demoModel().generate({ messages: taken, tools })
    expect(toolCalls.map(({ id }) => id)).toEqual(['call_3', 'call_4'])
  })

  it('makes one call at a time if required, with the same answer', async () => {
    const [single, both] = [await untilAnswer({ parallelToolCalls: false }), await untilAnswer({})]
    expect([single.steps, both.steps]).toEqual([3, 2])
    const answers = await Promise.all([single, both].map(({ messages }) => demoModel().generate({ messages, tools })))
    expect(answers[0]?.text).toBe('There are 7 TypeScript files in src. In Tokyo it is 13:05 (Asia/Tokyo, UTC+09:00).')
    expect(answers[1]?.text).toBe(answers[0]?.text)
  })

  it('names the settings it does not support', async () => {
    const { warnings } = await demoModel().generate({ messages: user('hello'), temperature: 0, seed: 1 })
    expect(warnings).toEqual([
      '`temperature` was left out: the demo model does not support it',
      '`seed` was left out: the demo model does not support it',
    ])
    expect(await demoModel().generate({ messages: user('hello') })).not.toHaveProperty('warnings')
  })

  it('answers an empty message, and a conversation without one', async () => {
    for (const messages of [user(''), user('  \n'), []]) {
      expect((await demoModel().generate({ messages, tools })).text).toMatch(/^I find no request in that/)
    }
  })
})

describe('tools that may not be called', () => {
  it('are named, and no other is called for part of an answer', async () => {
    const offered = tools.filter(({ function: { name } }) => name === 'current_time')
    const { text, toolCalls } = await demoModel().generate({ messages: user(question), tools: offered })
    expect(toolCalls).toEqual([])
    expect(text).toMatch(/^I can't answer “.*”: I would need the tool `list_files`, .*The nearest I can do is “What time is it in Tokyo\?”/)
    const none = await demoModel().generate({ messages: user(question), tools, toolChoice: 'none' })
    expect(none).toMatchObject({ toolCalls: [], text: 'I would need the tool `list_files` for that, and may not call it here.' })
  })

  it('are not needed once the results are available', async () => {
    const { messages } = await untilAnswer({})
    for (const request of [{ tools, toolChoice: 'none' as const }, { tools: [] }]) {
      const { text, toolCalls } = await demoModel().generate({ ...request, messages })
      expect([text, toolCalls]).toEqual(['There are 7 TypeScript files in src. In Tokyo it is 13:05 (Asia/Tokyo, UTC+09:00).', []])
    }
  })

  it('are not called beside the required one; if no call is needed, the answer says so', async () => {
    const toolChoice = { type: 'function' as const, function: { name: 'current_time' } }
    const { toolCalls } = await demoModel().generate({ messages: user(question), tools, toolChoice })
    expect(toolCalls.map((call) => call.function.name)).toEqual(['current_time'])
    const { warnings } = await demoModel().generate({ messages: user('hello'), tools, toolChoice: 'required' })
    expect(warnings).toEqual(['`toolChoice` asks for a call, and there is none left that the demo model needs'])
  })
})

describe('any input', () => {
  it('calculates any expression of numbers as written', async () => {
    const number = fc
      .oneof(
        fc.nat({ max: 9999 }),
        fc.integer({ min: 1, max: 9999 }).map((n) => n / 16),
      )
      .map(String)
    const { sum } = fc.letrec<{ sum: string }>((tie) => ({
      sum: fc.oneof(
        { maxDepth: 3 },
        number,
        fc.tuple(tie('sum'), fc.constantFrom('+', '-', '*'), tie('sum')).map(([a, sign, b]) => `${a} ${sign} ${b}`),
        tie('sum').map((inner) => `(${inner})`),
      ),
    }))
    const inWords = (text: string) => text.replaceAll('+', 'plus').replaceAll('-', 'minus').replaceAll('*', 'times')
    await fc.assert(
      fc.asyncProperty(sum, sum, fc.boolean(), async (a, b, isSaid) => {
        const expression = `${a} + ${b}`
        fc.pre(expression.length < 180)
        const { toolCalls } = await demoModel().generate({ messages: user(`What is ${isSaid ? inWords(expression) : expression}?`), tools })
        expect(toolCalls).toHaveLength(1)
        const written: { expression: string } = JSON.parse(toolCalls[0]?.function.arguments ?? '')
        expect(toText(evaluate(written.expression))).toBe(toText(evaluate(expression)))
      }),
      { numRuns: 200 },
    )
  })

  const words = fc.constantFrom(
    ...`how many TypeScript files are under src which is the longest and what its line count times 37 of those in tests ? . , ( ) * + / "foo" 'bar'
    README.md *.ts .ts ./a/b call calculate with {"expression":1} fetch https://example.com a b list show read first last 10 lines or half double both
    them it that mention TODO where used newest day Tokyo percent %`.split(/\s+/),
  )
  const anyRequest = fc.oneof(
    fc.array(words, { maxLength: 40 }).map((list) => list.join(' ')),
    fc.string({ unit: 'grapheme', maxLength: 200 }),
    fc.string({ unit: anyCharacter, maxLength: 100 }),
  )
  const anyResult = fc.oneof(
    fc.json(),
    fc.string({ unit: anyCharacter }),
    fc.constantFrom(
      '',
      '{"count":1,"files":[{"path":"a","bytes":1}]}',
      '{"result":3}',
      '{"matches":[],"count":0,"files":0}',
      '{"text":"a","path":"a"}',
    ),
  )

  it('never throws, and ends with an answer whatever tools return', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(anyRequest, { minLength: 1, maxLength: 3 }),
        fc.infiniteStream(fc.tuple(anyResult, fc.boolean())),
        async (requests, given) => {
          const messages: ChatMessage[] = []
          for (const content of requests) {
            messages.push({ role: 'user', content })
            for (let step = 0; ; step++) {
              expect(step).toBeLessThan(12)
              const { text, toolCalls } = await demoModel().generate({ messages, tools })
              if (toolCalls.length === 0) {
                expect(text).not.toBe('')
                messages.push({ role: 'assistant', content: text })
                break
              }
              messages.push({ role: 'assistant', content: '', toolCalls })
              for (const call of toolCalls) {
                expect(() => JSON.parse(call.function.arguments)).not.toThrow()
                const [content, isError] = given.next().value
                messages.push({ role: 'tool', toolCallId: call.id, content, ...(isError ? { isError } : {}) })
              }
            }
          }
        },
      ),
      { numRuns: 300 },
    )
  })

  it.each(['__proto__', 'constructor', 'toString', 'hasOwnProperty', 'valueOf'])('H14 %s is an ordinary word, and a name', async (name) => {
    for (const content of [
      name,
      `what is ${name}?`,
      `how many ${name} files are here`,
      `read ${name}`,
      `call read_file ${name}=1`,
      `read_file ${name}`,
    ]) {
      const { text, toolCalls } = await demoModel().generate({ messages: user(content), tools })
      expect(text !== '' || toolCalls.length > 0, content).toBe(true)
    }
  })

  it('X7 reads long and repetitive text, and many messages, with little work', async () => {
    const parts = [
      'how many files and ',
      'half of the double ',
      '(',
      '"',
      '/a',
      '1,',
      'call list_files(',
      "'x ",
      'a.b/',
      '*.{',
      '- x\n',
      'a=b ',
      'lst ',
    ]
    const manyTools = Array.from({ length: 200 }, (_, at) => ({
      type: 'function' as const,
      function: { name: `tool_${at}`, description: 'half double files '.repeat(100) },
    }))
    const took = (messages: ChatMessage[]) => leastCpuMs(500, () => demoModel().generate({ messages, tools: [...tools, ...manyTools] }))
    const fifty = parts.flatMap((part) => user(part.repeat(4)))
    // A hundred times the usual time, and far below anything that grows faster.
    for (const part of parts) {
      expect(await took(user(part.repeat(400).slice(0, 400))), part).toBeLessThan(500)
      expect(await took(user(part.repeat(20_000))), part).toBeLessThan(500)
      expect(await took(user(`call list_files ${part.repeat(20_000)}`)), part).toBeLessThan(500)
      expect(await took(Array.from({ length: 20 }, () => fifty).flat()), part).toBeLessThan(500)
    }
  })
})

it('the demo model has at most 700 lines', () => {
  const folder = new URL('../../src/models/demo/', import.meta.url)
  const lines = readdirSync(folder).map((name) => readFileSync(new URL(name, folder), 'utf8').split('\n').length - 1)
  expect(lines.reduce((sum, count) => sum + count)).toBeLessThanOrEqual(700)
})
