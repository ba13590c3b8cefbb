import { describe, expect, it } from 'vitest'
import { cuts, read } from './read.ts'

const json = '{"name": "get_weather", "arguments": {"city": "Oslo"}}'
const written: [dialect: string, call: string][] = [
  ['json', json],
  ['json', `\`\`\`json\n${json}\n\`\`\``],
  ['pythonic', '[get_weather(city="Oslo")]'],
  ['pythonic', 'get_weather(city="Oslo")'],
  ['pythonic', '```python\nget_weather(city="Oslo")\n```'],
  ['hermes', `<tool_call>\n${json}\n</tool_call>`],
]
/** Lines about examples, and about things that can't be done, before a call that is meant. */
const others = [
  'I need the page https://example.com first:',
  'In a case like this the tool helps.',
  'This could be tricky. The cache cannot help.',
  'I am not able to recall it; I need to look it up.',
  'I cannot answer that from memory.',
  "I can't do that without the forecast.",
  'It looks like this is a job for f.',
  'The cache cannot be trusted, checking:',
  'Fetching example.com/index.html:',
  'Here is the example.org forecast:',
  'The file docs/example.md comes next:',
  'The example file is missing:',
  'Cities such as Oslo have a station.',
  'For example, Oslo is cold in winter. The forecast says more:',
  'I cannot call it from memory, so I will ask the service:',
  'You would call me careless. The service knows:',
  'It is not possible to guess the weather.',
  'That would be useful to know first.',
  'One example is not enough; a second one:',
  'I can’t use my training data for today.',
  'The template is missing:',
  'It might look like rain.',
  'The user could say more, but a city is enough.',
  'I need to look up an example:',
  'For example, let me check Oslo:',
  '我无法凭记忆回答。',
]
const announcements = [
  'For example:',
  'Here is an example of how to use it:',
  'I cannot call tools that are not mine.',
  'I cannot use this function without a city.',
  'Example:',
  '**Example call:**',
  "Here's an example of calling it:",
  'An example of a call would be:',
  'One calls it with a city, e.g.:',
  'Let me show you an example:',
  'Call it like this:',
  'There is no such tool; if you want one, here is an example:',
  'You would call:',
  'The function call would be:',
  'It would look like this:',
  '例如：',
]

describe('an example that the line before announces', () => {
  it.each(written.flatMap(([dialect, call]) => announcements.map((line) => [dialect, line, call] as const)))(
    'Q32 runs no call in %s: %s %j',
    (dialect, line, call) => {
      for (const text of [`${line}\n${call}`, `Well. ${line}\n\n${call}\n`]) {
        expect(read(text, { dialect })).toMatchObject({ calls: [], text, rejected: [] })
      }
    },
  )

  it.each(written)('in %s gives the same however the text is split: %j', (dialect, call) => {
    const text = `For example:\n\n${call}\n`
    for (const pieces of cuts(text)) expect(read(pieces, { dialect })).toMatchObject({ calls: [], text })
  })

  it('lasts until a blank line', () => {
    expect(read(`For example:\n${json}\n${json}\n\nNow:\n${json}`, { dialect: 'json' }).calls).toHaveLength(1)
  })

  it.each(
    written.flatMap(([dialect, call]) =>
      ['I can’t tell from here. Let me check:', 'I will look it up.', 'Calling it:'].map((line) => [dialect, line, call] as const),
    ),
  )('a call after a statement of intent is not an example: %s %s %j', (dialect, line, call) => {
    expect(read(`${line}\n${call}`, { dialect }).calls).toHaveLength(1)
  })

  it.each(written.flatMap(([dialect, call]) => others.map((line) => [dialect, line, call] as const)))(
    'Q32 is not assumed if the line does not announce one: %s: %s %j',
    (dialect, line, call) => {
      for (const text of [`${line}\n${call}`, `${line}\n\n${call}\n`]) {
        expect(read(text, { dialect })).toMatchObject({ calls: [{ name: 'get_weather' }], rejected: [] })
      }
    },
  )

  it('ends when the model says what it does; calls after that run', () => {
    const text = `For example:\n${json}\nNow let me check:\n${json}\n${json}`
    expect(read(text, { dialect: 'json' }).calls).toHaveLength(2)
  })

  it.each([
    ['Kimi', `<|tool_call_begin|>functions.get_weather:0<|tool_call_argument_begin|>{"city": "Oslo"}<|tool_call_end|>`],
    ['DeepSeek', `<｜tool▁call▁begin｜>get_weather<｜tool▁sep｜>{"city": "Oslo"}<｜tool▁call▁end｜>`],
    ['harmony', `<|channel|>commentary to=functions.get_weather <|constrain|>json<|message|>{"city": "Oslo"}<|call|>`],
    ['Gemma', `<|tool_call>call:get_weather{city:<|"|>Oslo<|"|>}<tool_call|>`],
    ['FunctionGemma', `<start_function_call>call:get_weather{city:<escape>Oslo<escape>}<end_function_call>`],
    ['Mistral', `[TOOL_CALLS][${json}]`],
    ['Cohere', `<|START_ACTION|>[${json}]<|END_ACTION|>`],
  ])('Q32 control tokens hold no example: %s', (_, call) => {
    for (const line of ['For example:', 'The cache cannot be trusted, checking:', 'I cannot call it.'])
      expect(read(`${line}\n${call}`, { dialect: 'salvage' }).calls).toHaveLength(1)
  })

  it('is a call with `fencedTags: run`', () => {
    expect(read(`For example:\n<tool_call>${json}</tool_call>`, { dialect: 'hermes', fencedTags: 'run' }).calls).toHaveLength(1)
  })
})

describe('a tool’s definition repeated as a call', () => {
  it.each([
    ['its schema as arguments', '{"name": "get_weather", "parameters": {"type": "object", "properties": {"city": {"type": "string"}}}}'],
    ['its description', '{"name": "get_weather", "description": "Gets it.", "parameters": {"location": "string"}}'],
    ['no parameters', '{"type": "function", "function": {"name": "ping", "description": "Answers.", "parameters": {}}}'],
    ['another key for its schema', '{"name": "ping", "description": "Answers.", "input_schema": {"type": "object"}}'],
  ])('Q32 is refused in <tool_call>: %s', (_, definition) => {
    const { calls, rejected } = read(`<tool_call>\n${definition}\n</tool_call>`, { dialect: 'hermes' })
    expect(calls).toEqual([])
    expect(rejected).toEqual([expect.objectContaining({ reason: expect.stringContaining('definition of a tool') as string })])
  })
})
