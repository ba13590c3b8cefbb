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
const announcements = [
  'For example:',
  'Here is an example of how to use it:',
  'I cannot call tools that are not mine.',
  "I can't do that without a city.",
  'You would call:',
  'The function call would be:',
  'It would look like this:',
  '例如：',
]

describe('an example that the line before announces', () => {
  it.each(written.flatMap(([dialect, call]) => announcements.map((line) => [dialect, line, call] as const)))(
    'Q32 no call runs in %s: %s %j',
    (dialect, line, call) => {
      for (const text of [`${line}\n${call}`, `Well. ${line}\n\n${call}\n`]) {
        expect(read(text, { dialect })).toMatchObject({ calls: [], text, rejected: [] })
      }
    },
  )

  it.each(written)('in %s it is the same however the text is cut: %j', (dialect, call) => {
    const text = `For example:\n\n${call}\n`
    for (const pieces of cuts(text)) expect(read(pieces, { dialect })).toMatchObject({ calls: [], text })
  })

  it('goes on up to a blank line', () => {
    expect(read(`For example:\n${json}\n${json}\n\nNow:\n${json}`, { dialect: 'json' }).calls).toHaveLength(1)
  })

  it.each(
    written.flatMap(([dialect, call]) =>
      ['I can’t tell from here. Let me check:', 'I will look it up.', 'Calling it:'].map((line) => [dialect, line, call] as const),
    ),
  )('is none where the model says what it does: %s %s %j', (dialect, line, call) => {
    expect(read(`${line}\n${call}`, { dialect }).calls).toHaveLength(1)
  })

  it('is run with `fencedTags: run`, as everything is', () => {
    expect(read(`For example:\n<tool_call>${json}</tool_call>`, { dialect: 'hermes', fencedTags: 'run' }).calls).toHaveLength(1)
  })
})

describe('the definition of a tool, repeated as a call', () => {
  it.each([
    ['its schema as arguments', '{"name": "get_weather", "parameters": {"type": "object", "properties": {"city": {"type": "string"}}}}'],
    ['its description', '{"name": "get_weather", "description": "Gets it.", "parameters": {"location": "string"}}'],
    ['no parameters', '{"type": "function", "function": {"name": "ping", "description": "Answers.", "parameters": {}}}'],
    ['another key for its schema', '{"name": "ping", "description": "Answers.", "input_schema": {"type": "object"}}'],
  ])('Q32 in <tool_call> it is refused: %s', (_, definition) => {
    const { calls, rejected } = read(`<tool_call>\n${definition}\n</tool_call>`, { dialect: 'hermes' })
    expect(calls).toEqual([])
    expect(rejected).toEqual([expect.objectContaining({ reason: expect.stringContaining('definition of a tool') as string })])
  })
})
