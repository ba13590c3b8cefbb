import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { AgentRunner } from '../../src/agent/agent-runner.ts'
import { RunControl } from '../../src/agent/conversation/run-input.ts'
import type { ChatMessage, JsonObject } from '../../src/core/messages.ts'
import { fitConversation } from '../../src/models/conversion/fit-conversation.ts'
import { createModel } from '../../src/models/create-model.ts'
import type { ModelSettings } from '../../src/models/settings.ts'
import type { MockReply } from '../../src/testing/mock/reply.ts'
import { defineTool } from '../../src/tools/tool.ts'
import { recordingLogger } from '../hazards/recording-logger.ts'
import { startStrictProvider } from './rules/strict-provider.ts'

type Settings = Partial<ModelSettings> & Pick<ModelSettings, 'provider' | 'model'>

/** What arrives at the provider for a conversation, and the warnings of the response. */
async function sent(settings: Settings, messages: ChatMessage[], path = '/v1') {
  await using provider = await startStrictProvider({ script: ['ok'] })
  const model = createModel({ apiKey: 'sk-ant-k', baseURL: `${provider.url}${path}`, maxRetries: 0, ...settings })
  const { warnings = [] } = await model.generate({ messages, tools: [look] })
  const { body = {} } = provider.requests[0] ?? {}
  return { body, warnings, messages: listOf(body.messages ?? body.input ?? body.contents) }
}

function listOf(value: unknown): JsonObject[] {
  return value as JsonObject[]
}

const look = {
  type: 'function' as const,
  function: { name: 'look', description: 'Looks.', parameters: { type: 'object', properties: {} } },
}
const says = (role: 'system' | 'user' | 'assistant', content: string) => ({ role, content }) as ChatMessage
const call = (id: string): ChatMessage => ({
  role: 'assistant',
  content: '',
  toolCalls: [{ id, type: 'function', function: { name: 'look', arguments: '{}' } }],
})
const result = (toolCallId: string, content: ChatMessage['content']): ChatMessage =>
  ({ role: 'tool', content, toolCallId, name: 'look' }) as ChatMessage
const rolesOf = (messages: JsonObject[]) => messages.map(({ role }) => role)

const mistral = { provider: 'mistral', model: 'mistral-medium-latest' }
const chat = { provider: 'custom', model: 'model-x' }

describe('a server that refuses a user message directly after tool results', () => {
  const clock = (execute: () => unknown) =>
    defineTool({ name: 'clock', description: 'The time.', parameters: { type: 'object', properties: {} }, execute })

  const callsClock: MockReply = { toolCalls: [{ id: 'abcdefgh1', name: 'clock', arguments: {} }] }

  it('F4 Mistral gets a message in between after a limit, an abort and steering; the conversation itself has no such message', async () => {
    await using provider = await startStrictProvider({ script: [callsClock, 'One.', callsClock, callsClock, 'Two.'] })
    const model = createModel({ ...mistral, apiKey: 'k', baseURL: provider.baseURL, maxRetries: 0 })
    const options = { model, logger: recordingLogger().logger }
    const limited = await new AgentRunner({ ...options, tools: [clock(() => '12:00')], maxIterations: 1 }).run('Time?')
    expect(limited.stopReason).toBe('max_iterations')
    const answered = await new AgentRunner({ ...options, tools: [clock(() => '12:00')] }).run('Well?', { messages: limited.messages })
    expect(answered).toMatchObject({ stopReason: 'answered', output: 'One.' })

    const abort = new AbortController()
    const hanging = clock(() => {
      abort.abort()
      return new Promise(() => {})
    })
    const aborted = await new AgentRunner({ ...options, tools: [hanging] }).run('Again?', {
      messages: answered.messages,
      signal: abort.signal,
    })
    expect(aborted.stopReason).toBe('aborted')
    const control = new RunControl()
    const steering = new AgentRunner({ ...options, tools: [clock(() => control.send('And the date?'))] })
    const last = await steering.run('Well?', { messages: aborted.messages, control })
    expect(last).toMatchObject({ stopReason: 'answered', output: 'Two.' })
    expect(last.messages.slice(-2)).toMatchObject([{ role: 'user', content: 'And the date?' }, { role: 'assistant' }])
    expect(JSON.stringify(last.messages)).not.toContain('Understood.')
  })

  it('F4 F5 Mistral gets a system message merged into the first, because it may not follow the assistant either', async () => {
    const { messages } = await sent(mistral, [
      says('system', 'Be brief.'),
      says('user', 'Hi'),
      call('c1'),
      result('c1', 'seen'),
      says('system', 'Be kind.'),
      says('user', 'Well?'),
    ])
    expect(messages[0]).toEqual({ role: 'system', content: 'Be brief.\n\nBe kind.' })
    expect(messages.at(-2)).toEqual({ role: 'assistant', content: 'Understood.' })
  })

  it('F4 a template that alternates user and assistant gets them alternating, on every API', async () => {
    const conversation = [
      says('assistant', 'Welcome.'),
      says('user', 'One'),
      { role: 'user', content: [{ type: 'text', text: 'Two' }] } satisfies ChatMessage,
      says('assistant', 'A'),
      call('c1'),
      result('c1', 'seen'),
      says('user', 'Three'),
      says('user', 'Four'),
    ]
    for (const model of ['mistralai/Mistral-7B-Instruct-v0.3', 'google/gemma-3-27b-it']) {
      for (const provider of ['vllm', 'custom', 'openrouter', 'openai', 'azure']) {
        const { messages } = await sent({ provider, model }, conversation)
        expect(rolesOf(messages)).toEqual(['user', 'assistant', 'user', 'assistant', 'tool', 'assistant', 'user'])
        expect(messages[2]?.content).toEqual([
          { type: 'text', text: 'One' },
          { type: 'text', text: 'Two' },
        ])
        expect(messages[3]?.content).toBe('A')
        expect(messages[6]?.content).toBe('Three\n\nFour')
      }
    }
    const { messages } = await sent({ provider: 'anthropic-compatible', model: 'mistral-small' }, conversation, '')
    expect(messages.map(({ role, content }) => [role, ...listOf(content).map(({ type }) => type)])).toEqual([
      ['user', 'text'],
      ['assistant', 'text'],
      ['user', 'text', 'text'],
      ['assistant', 'text', 'tool_use'],
      ['user', 'tool_result'],
      ['assistant', 'text'],
      ['user', 'text'],
    ])
    const responses = await sent({ provider: 'responses-compatible', model: 'mistral-small' }, conversation)
    expect(responses.messages.map(({ role, type }) => role ?? type)).toEqual([
      'user',
      'assistant',
      'user',
      'assistant',
      'function_call',
      'function_call_output',
      'assistant',
      'user',
    ])
  })

  it('F4 other servers get the conversation unchanged', async () => {
    const { messages } = await sent(chat, [says('user', 'Hi'), call('c1'), result('c1', 'seen'), says('user', 'Well?')])
    expect(rolesOf(messages)).toEqual(['user', 'assistant', 'tool', 'user'])
    const settable = await sent({ ...chat, quirks: { messageOrder: 'assistant-after-tools' } }, [
      says('user', 'Hi'),
      call('c1'),
      result('c1', 'seen'),
      says('user', 'Well?'),
      says('user', 'Please!'),
    ])
    expect(rolesOf(settable.messages)).toEqual(['user', 'assistant', 'tool', 'assistant', 'user', 'user'])
  })
})

describe('system messages in the middle of a conversation', () => {
  const conversation = [
    says('system', 'Be brief.'),
    says('system', 'Be kind.'),
    says('user', 'Hi'),
    says('assistant', 'Hello.'),
    says('system', 'Now blue.'),
    says('user', 'Colour?'),
  ]

  it.each([
    ['vllm', 'Qwen/Qwen3.6-27B'],
    ['ollama', 'qwen3.8:27b'],
    ['lmstudio', 'qwen/qwen3.5-9b'],
    ['custom', 'Qwen/Qwen4-32B'],
    ['openrouter', 'qwen/qwen3.5-397b-a17b'],
    ['dashscope', 'qwen3.6-plus'],
    ['groq', 'qwen/qwen3.6-27b'],
    ['openai', 'Qwen/Qwen3.6-27B'],
    ['custom', 'accounts/fireworks/models/qwen3p8-plus'],
    ['llamacpp', 'Qwen_Qwen3.5-9B-Q4_K_M.gguf'],
    ['responses-compatible', 'Qwen/Qwen3.8-27B'],
    ['responses-compatible', 'accounts/fireworks/models/qwen3p8-plus'],
  ])('F5 %s/%s gets one, as the first message', async (provider, model) => {
    const { messages } = await sent({ provider, model }, conversation)
    expect(rolesOf(messages)).toEqual(['system', 'user', 'assistant', 'user'])
    expect(messages[0]?.content).toBe('Be brief.\n\nBe kind.\n\nNow blue.')
    const late = await sent({ provider, model }, [
      says('user', 'Hi'),
      says('assistant', 'Hello.'),
      says('system', 'Now blue.'),
      says('user', 'Colour?'),
    ])
    expect(rolesOf(late.messages)).toEqual(['system', 'user', 'assistant', 'user'])
  })

  it('F5 stay in place on servers that accept them', async () => {
    for (const settings of [chat, { provider: 'openai', model: 'gpt-5.2' }, { provider: 'vllm', model: 'Qwen/Qwen3-8B' }]) {
      const { messages } = await sent(settings, conversation)
      expect(rolesOf(messages).map((role) => (role === 'developer' ? 'system' : role))).toEqual(conversation.map(({ role }) => role))
    }
  })

  it.each(['claude-opus-4-8', 'claude-opus-5', 'claude-sonnet-5', 'claude-fable-5', 'claude-opus-6'])(
    'F5 %s gets them in `messages`, after the user’s turn, so that the cached part stays',
    async (model) => {
      const { body, messages } = await sent(
        { provider: 'anthropic', model },
        [
          ...conversation,
          says('system', 'And loud.'),
          says('assistant', 'BLUE'),
          call('c1'),
          result('c1', 'seen'),
          says('system', '  '),
          says('system', 'Now red.'),
        ],
        '',
      )
      expect(body.system).toMatchObject([{ text: 'Be brief.' }, { text: 'Be kind.', cache_control: {} }])
      expect(messages.map(({ role, content }) => [role, ...listOf(content).map(({ type, text }) => text ?? type)])).toEqual([
        ['user', 'Hi'],
        ['assistant', 'Hello.'],
        ['user', 'Colour?'],
        ['system', 'Now blue.', 'And loud.'],
        ['assistant', 'BLUE', 'tool_use'],
        ['user', 'tool_result'],
        ['system', 'Now red.'],
      ])
      // A mark on the system's text is undocumented; the turn before it is marked.
      expect(messages.map(({ content }) => listOf(content).some((block) => block.cache_control !== undefined))).toEqual([
        false,
        false,
        true,
        false,
        false,
        true,
        false,
      ])
    },
  )

  it('F5 stay in place for Claude if one follows the assistant with nothing from the user after it', async () => {
    const { messages } = await sent(
      { provider: 'anthropic', model: 'claude-opus-5' },
      [says('user', 'Hi'), says('assistant', 'Hello.'), says('system', 'Say bye.')],
      '',
    )
    expect(rolesOf(messages)).toEqual(['user', 'assistant', 'user', 'system'])
  })

  it.each([
    ['anthropic', 'claude-opus-4-7'],
    ['anthropic', 'claude-sonnet-4-5-20250929'],
    ['anthropic', 'claude-haiku-4-5'],
    ['anthropic', 'glm-5.2'],
    ['anthropic-compatible', 'MiniMax-M3'],
  ])('F5 %s/%s gets them in place as user text: nothing before them changes', async (provider, model) => {
    const before = await sent({ provider, model }, conversation.slice(0, 4).concat(says('user', 'And?')), '')
    const { body, messages } = await sent({ provider, model }, conversation, '')
    expect(body.system).toEqual(before.body.system)
    expect(messages.slice(0, 2).map(({ role, content }) => [role, listOf(content)[0]?.text])).toEqual([
      ['user', 'Hi'],
      ['assistant', 'Hello.'],
    ])
    expect(listOf(messages[2]?.content).map(({ text }) => text)).toEqual(['<system-reminder>\nNow blue.\n</system-reminder>', 'Colour?'])
    const hoisted = await sent({ provider, model, quirks: { systemMessages: 'first' } }, conversation, '')
    expect(listOf(hoisted.body.system).map(({ text }) => text)).toEqual(['Be brief.\n\nBe kind.\n\nNow blue.'])
  })

  it('F5 are sent to Gemini in place as text of the user', async () => {
    const { body, messages } = await sent({ provider: 'google', model: 'gemini-3.5-flash' }, conversation, '')
    expect(body.systemInstruction).toEqual({ parts: [{ text: 'Be brief.' }, { text: 'Be kind.' }] })
    expect(messages.map(({ role, parts }) => [role, listOf(parts)[0]?.text])).toEqual([
      ['user', 'Hi'],
      ['model', 'Hello.'],
      ['user', '<system-reminder>\nNow blue.\n</system-reminder>'],
      ['user', 'Colour?'],
    ])
  })
})

describe('images and files in tool results', () => {
  const png = { type: 'image' as const, data: 'aGk=', mediaType: 'image/png' }
  const jpeg = { type: 'image' as const, url: 'https://example.com/a.jpg' }
  const pdf = { type: 'file' as const, data: 'aGk=', mediaType: 'application/pdf', name: 'a.pdf' }
  const svg = { type: 'image' as const, data: 'aGk=', mediaType: 'image/svg+xml' }
  const text = (words: string) => ({ type: 'text' as const, text: words })
  const conversation: ChatMessage[] = [
    says('user', 'Hi'),
    {
      role: 'assistant',
      content: '',
      toolCalls: ['c1', 'c2', 'c3'].map((id) => ({ id, type: 'function', function: { name: 'look', arguments: '{}' } })),
    },
    result('c1', [text('A map.'), png, pdf]),
    result('c2', 'nothing'),
    result('c3', [jpeg]),
    says('assistant', 'I see.'),
    says('user', 'Again'),
    call('c4'),
    result('c4', [png]),
  ]
  const url = 'data:image/png;base64,aGk='

  it('F24 follow the results of their turn as a user message, in order, on Chat Completions', async () => {
    const { messages, warnings } = await sent({ provider: 'openai', model: 'gpt-4o' }, conversation)
    expect(warnings).toEqual([])
    expect(rolesOf(messages)).toEqual([
      'user',
      'assistant',
      'tool',
      'tool',
      'tool',
      'user',
      'assistant',
      'user',
      'assistant',
      'tool',
      'user',
    ])
    expect(messages[2]?.content).toEqual([text('A map.'), text('[image 1, shown below]'), text('[file 2, shown below]')])
    expect(messages[4]?.content).toEqual([text('[image 3, shown below]')])
    expect(messages[5]?.content).toEqual([
      text('[image 1, from the result of look]'),
      { type: 'image_url', image_url: { url } },
      text('[file 2, from the result of look]'),
      { type: 'file', file: { file_data: 'data:application/pdf;base64,aGk=', filename: 'a.pdf' } },
      text('[image 3, from the result of look]'),
      { type: 'image_url', image_url: { url: 'https://example.com/a.jpg' } },
    ])
    expect(messages.at(-1)?.content).toEqual([text('[image 1, from the result of look]'), { type: 'image_url', image_url: { url } }])
  })

  it('F24 are sent as images to a server without files, and as notes with a warning to one without both', async () => {
    const images = await sent(chat, conversation)
    expect(images.messages[2]?.content).toBe('A map.\n[image 1, shown below]\n[file not shown]')
    expect(JSON.stringify(images.messages[5])).not.toContain('pdf')
    expect(images.warnings).toEqual([expect.stringContaining("'file' in a tool's result")])
    for (const settings of [
      { provider: 'deepseek', model: 'deepseek-v4-pro' },
      { provider: 'vllm', model: 'Qwen/Qwen3-8B' },
      { provider: 'groq', model: 'openai/gpt-oss-120b' },
    ]) {
      const none = await sent(settings, conversation)
      expect(rolesOf(none.messages)).toEqual(['user', 'assistant', 'tool', 'tool', 'tool', 'assistant', 'user', 'assistant', 'tool'])
      expect(none.messages[4]?.content).toBe('[image not shown]')
      expect(none.warnings).toHaveLength(2)
    }
  })

  it('F24 stay notes if many models refuse their type, because the tool chose it', async () => {
    const { messages, warnings } = await sent({ provider: 'openai', model: 'gpt-4o' }, [
      ...conversation.slice(0, 1),
      call('c1'),
      result('c1', [svg]),
    ])
    expect(messages.at(-1)).toMatchObject({ role: 'tool', content: [text('[image not shown]')] })
    expect(warnings).toHaveLength(1)
  })

  it('F4 F24 are bridged if a user message may not follow a result', async () => {
    const { messages } = await sent(mistral, conversation)
    expect(rolesOf(messages).slice(4, 7)).toEqual(['tool', 'assistant', 'user'])
    expect(rolesOf(messages).slice(-3)).toEqual(['tool', 'assistant', 'user'])
    expect(JSON.stringify(messages.at(-1))).toContain(url)
  })

  it('F24 follow the results on a Responses API whose results are text, and with models before Gemini 3', async () => {
    const responses = await sent({ provider: 'responses-compatible', model: 'model-x' }, conversation)
    expect(responses.messages.at(-2)).toMatchObject({ type: 'function_call_output', output: '[image 1, shown below]' })
    expect(responses.messages.at(-1)).toMatchObject({ role: 'user', content: [{}, { type: 'input_image', image_url: url }] })
    const gemini = await sent({ provider: 'google', model: 'gemini-2.5-flash' }, conversation, '')
    expect(gemini.messages.at(-2)?.parts).toMatchObject([{ functionResponse: { response: { output: '[image 1, shown below]' } } }])
    expect(gemini.messages.at(-1)).toMatchObject({ role: 'user', parts: [{}, { inlineData: { data: 'aGk=' } }] })
    // A URL is not an image to it.
    expect(gemini.messages[2]?.parts).toMatchObject([{}, {}, { functionResponse: { response: { output: '[image not shown]' } } }])
  })
})

describe('fitConversation', () => {
  const png = { type: 'image' as const, data: 'aGk=', mediaType: 'image/png' }
  /** Each text occurs once, so that losses are noticed. */
  const texts = (messages: readonly ChatMessage[]) => [...JSON.stringify(messages).matchAll(/#\d+#/g)].map(([text]) => text)
  const round = (n: number): ChatMessage[] => [
    call(`c${n}`),
    result(`c${n}`, n % 2 === 0 ? `#${n}#` : [{ type: 'text', text: `#${n}#` }, png]),
  ]
  const conversations = fc
    .array(fc.constantFrom('system', 'user', 'assistant', 'round'), { maxLength: 12 })
    .map((kinds) => kinds.flatMap((kind, n) => (kind === 'round' ? round(n) : [says(kind as 'user', `#${n}#`)])))

  it('F4 F5 F24 gives any conversation the required order, and loses nothing', () => {
    fc.assert(
      fc.property(
        conversations,
        fc.constantFrom('anywhere' as const, 'first' as const, 'as-user' as const),
        fc.constantFrom('any' as const, 'assistant-after-tools' as const, 'alternating' as const),
        (messages, systemMessages, messageOrder) => {
          const before = structuredClone(messages)
          const fitted = fitConversation(messages, { systemMessages, messageOrder, endsWithAnswer: true, movesPart: () => true })
          expect(messages).toEqual(before)
          expect(texts(fitted).sort()).toEqual(texts(messages).sort())
          expect(JSON.stringify(fitted).split(png.data)).toHaveLength(JSON.stringify(messages).split(png.data).length)
          // Every call is still followed by its result.
          for (const [at, message] of fitted.entries()) if ('toolCalls' in message) expect(fitted[at + 1]?.role).toBe('tool')
          const roles = fitted.map(({ role }) => role)
          if (systemMessages === 'first') expect(roles.lastIndexOf('system')).toBeLessThanOrEqual(0)
          if (systemMessages === 'as-user') expect(roles.join(' ')).not.toMatch(/(user|assistant|tool) system/)
          if (messageOrder === 'any') return
          expect(roles.join(' ')).not.toMatch(/tool (user|system)/)
          if (messageOrder === 'assistant-after-tools' || systemMessages === 'anywhere') return
          // As templates count: without calls, results and system messages.
          const turns = fitted.filter((message) => !('toolCalls' in message) && message.role !== 'tool' && message.role !== 'system')
          for (const [at, { role }] of turns.entries()) expect(role).toBe(at % 2 === 0 ? 'user' : 'assistant')
        },
      ),
    )
  })
})
