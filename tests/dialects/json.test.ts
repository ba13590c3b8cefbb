import { describe, expect, it } from 'vitest'
import { cuts, read as readWith, tools } from './read.ts'

const read = (pieces: string | readonly string[]) => readWith(pieces, { dialect: 'json' })
const oslo = { name: 'get_weather', arguments: { city: 'Oslo' } }
const call = '{"name": "get_weather", "arguments": {"city": "Oslo"}}'

describe('json', () => {
  it.each([
    ['arguments', '{"name": "get_weather", "arguments": {"city": "Oslo"}}'],
    ['args', '{"name": "get_weather", "args": {"city": "Oslo"}}'],
    ['parameters', '{"name": "get_weather", "parameters": {"city": "Oslo"}}'],
    ['input', '{"name": "get_weather", "input": {"city": "Oslo"}}'],
    ['a list', '[{"name": "get_weather", "arguments": {"city": "Oslo"}}]'],
    ['arguments first', '{"arguments": {"city": "Oslo"}, "name": "get_weather"}'],
    ['tool', '{"tool": "get_weather", "args": {"city": "Oslo"}}'],
    ['action', '{"action": "get_weather", "action_input": {"city": "Oslo"}}'],
    ['action with text', '{"action": "get_weather", "action_input": "Oslo"}'],
    [
      'OpenAI’s shape',
      '{"id": "call_1", "type": "function", "function": {"name": "get_weather", "arguments": "{\\"city\\": \\"Oslo\\"}"}}',
    ],
    ['a type first', '{"type": "function", "name": "get_weather", "parameters": {"city": "Oslo"}}'],
    ['a list of tool_calls', '{"tool_calls": [{"name": "get_weather", "arguments": {"city": "Oslo"}}]}'],
    ['line breaks', '{\n  "name": "get_weather",\n  "arguments": {\n    "city": "Oslo"\n  }\n}'],
    ['python literals', "{'name': 'get_weather', 'arguments': {'city': 'Oslo'}}"],
    ['a comma too many', '{"name": "get_weather", "arguments": {"city": "Oslo",},}'],
    ['a comment', '{"name": "get_weather", // the weather\n "arguments": {"city": "Oslo" /* { */}}'],
    ['bare keys', '{name: "get_weather", arguments: {city: "Oslo"}}'],
    ['a fence', '```json\n{"name": "get_weather", "arguments": {"city": "Oslo"}}\n```'],
    ['a fence without a language', '```\n{"name": "get_weather", "arguments": {"city": "Oslo"}}\n```'],
    ['a bracket too many', '[{"name": "get_weather", "arguments": {"city": "Oslo"}}]'],
    ['Llama’s python tag', '<|python_tag|>{"name": "get_weather", "parameters": {"city": "Oslo"}}<|eom_id|>'],
    ['a prefixed name', '{"name": "functions.get_weather", "arguments": {"city": "Oslo"}}'],
    ['another case', '{"name": "Get_Weather", "arguments": {"city": "Oslo"}}'],
    ['an escaped name', '{"name": "get\\\\_weather", "arguments": {"city": "Oslo"}}'],
  ])('S0-28 reads a call with %s', (_, text) => {
    for (const pieces of cuts(text)) expect(read(pieces)).toMatchObject({ calls: [oslo], text: '', rejected: [] })
  })

  it('S0-28 reads several calls: in a list, one after another, in fences, with text between', () => {
    const two = [oslo, { name: 'ping', arguments: {} }]
    const ping = '{"name": "ping", "arguments": {}}'
    expect(read(`[${call}, ${ping}]`).calls).toEqual(two)
    expect(read(`${call}\n${ping}`)).toMatchObject({ calls: two, text: '\n' })
    expect(read(`${call}; ${ping}`)).toMatchObject({ calls: two, text: '; ' })
    expect(read(`\`\`\`json\n${call}\n${ping}\n\`\`\``)).toMatchObject({ calls: two, text: '' })
    expect(read(`First:\n\`\`\`json\n${call}\n\`\`\`\nthen\n${ping}\nDone.`)).toMatchObject({ calls: two, text: 'First:\n\nthen\n\nDone.' })
  })

  it('S0-28 unescaped quotes, in one line and over several', () => {
    const said = { name: 'get_weather', arguments: { city: 'the "old" town' } }
    const inLine = '{"name": "get_weather", "arguments": {"city": "the "old" town"}}'
    const overLines = '{\n  "name": "get_weather",\n  "arguments": {\n    "city": "the "old" town"\n  }\n}'
    for (const text of [inLine, overLines]) {
      for (const pieces of cuts(`${text}\nok`)) {
        expect(read(pieces)).toMatchObject({ calls: [said], repairs: ['unescaped quotes'], text: '\nok' })
      }
    }
    // Only the end of the response shows that the line is over.
    expect(readWith(inLine, { dialect: 'json', reason: 'length' })).toMatchObject({ calls: [], text: inLine })
  })

  it('S0-28 reads a call after a colon', () => {
    expect(read(`**Call:** ${call}`).calls).toEqual([oslo])
    expect(read(`I will look it up: ${call}`)).toMatchObject({ calls: [oslo], text: 'I will look it up: ' })
  })

  it.each([
    ['a sentence', 'Let me check. ', ''],
    ['a word', 'ok ', ''],
    ['a dash', '- ', ''],
    ['a number', '1. ', ''],
    ['a word, and blanks behind it', 'ok ', ' \n\n'],
  ])('S0-28 reads a call at the end of the response, whatever precedes it: %s', (_, before, behind) => {
    for (const pieces of cuts(before + call + behind)) {
      expect(read(pieces)).toMatchObject({ calls: [oslo], text: before + behind.slice(behind.length), rejected: [] })
    }
  })

  it('S0-28 reads several calls at the end of the response, and calls in the items of a list', () => {
    expect(read(`I do both: first ${call}, then`).calls).toEqual([])
    expect(read(`I do both ${call}, ${call}`).calls).toEqual([oslo, oslo])
    expect(read(`Two:\n1. ${call}\n2. ${call}\nDone.`).calls).toEqual([oslo, oslo])
  })

  it.each([
    ['words', ' and wait.'],
    ['a full stop', '.'],
    ['a closing quote', '"'],
    ['a further line', '\nThat is all.'],
  ])('S0-26 S0-28 a call that something follows is text: %s', (_, behind) => {
    for (const pieces of cuts(`ok ${call}${behind}`)) expect(read(pieces)).toMatchObject({ calls: [], text: `ok ${call}${behind}` })
  })

  it('H15 runs no call at the end of a response that was cut off', () => {
    expect(readWith(`ok ${call}`, { dialect: 'json', reason: 'length' })).toMatchObject({ calls: [], text: `ok ${call}` })
  })

  it('S0-28 a declared name as the key, with arguments that the tool declares', () => {
    expect(read('{"get_weather": {"city": "Oslo"}}').calls).toEqual([oslo])
    expect(read('[{"get_weather": {"city": "Oslo"}}, {"ping": {}}]').calls).toEqual([oslo, { name: 'ping', arguments: {} }])
    expect(read('{"get_weather": {"description": "Gets it."}}').calls).toEqual([])
  })

  it.each([
    ['an unknown tool', '{"name": "fly", "arguments": {"city": "Oslo"}}'],
    ['a list with an unknown tool', `[${call}, {"name": "fly", "arguments": {}}]`],
    ['no arguments', '{"name": "get_weather"}'],
    ['no name', '{"arguments": {"city": "Oslo"}}'],
    ['ordinary data', '{"name": "Ann", "age": 5}'],
    ['a list of data', '[{"name": "Ann"}, {"name": "Bo"}]'],
    ['numbers', '[1, 2, 3]'],
    ['an empty object', '{}'],
    ['a final answer', '{"action": "Final Answer", "action_input": "It rains."}'],
    ['the tool’s definition', JSON.stringify(tools[0])],
    ['its function', JSON.stringify(tools[0]?.function)],
    ['a definition with other parameters', '{"name": "get_weather", "description": "Weather.", "parameters": {"location": "string"}}'],
    ['a call inside a sentence', `Then one writes ${call} and waits.`],
    ['a call in backticks', `Use \`${call}\` for that.`],
    ['a call in quotes', `It says "${call}" there.`],
    ['an example behind a colon', `For example: ${call}`],
    ['an announced format', `The syntax is: ${call}`],
    ['a nested call', `{"plan": ${call}}`],
    ['a call in a nested list', `[[${call}]]`],
    ['a call while thinking', `<think>\n${call}\n</think>`],
    ['markdown', '[link](http://x.y) and [x] {y}'],
    ['code', 'function f() {\n  return {name: 1}\n}\n'],
    ['an open call', '{"name": "get_weather", "arguments": {"city": "Os'],
    ['an open fence', '```json\n{"name": "get_weather", '],
    ['a fence of data', '```json\n{"city": "Oslo"}\n```\n'],
    ['nothing but a fence', '```\n```'],
  ])('S0-26 S0-28 leaves as text: %s', (_, text) => {
    for (const pieces of cuts(text)) expect(read(pieces)).toMatchObject({ calls: [], text, rejected: [] })
  })

  it('S0-28 without declared tools nothing is a call', () => {
    expect(readWith(call, { dialect: 'json', tools: [] })).toMatchObject({ calls: [], text: call })
  })

  it('holds back an object only until it is clearly not a call', () => {
    const parts = ['{"', 'city', '": "Oslo"}']
    expect(read(parts).text).toBe('{"city": "Oslo"}')
    const first = readWith(['{"c'], { dialect: 'json' })
    expect(first.text).toBe('{"c')
  })

  it('after a made-up result, the rest is dropped', () => {
    expect(read(`${call}\n<tool_response>\n{"temp": 3}\n</tool_response>\nIt is 3 degrees.`)).toMatchObject({ calls: [oslo], text: '\n' })
    expect(read('The tag <tool_response> holds results.').text).toBe('The tag <tool_response> holds results.')
  })

  it('H14 fields that every object has, like `constructor`, are not tools', () => {
    for (const name of ['constructor', '__proto__', 'toString']) {
      const text = `{"name": "${name}", "arguments": {}}`
      expect(read(text)).toMatchObject({ calls: [], text })
    }
    const [found] = read('{"name": "ping", "arguments": {"__proto__": {"x": 1}}}').calls
    expect(Object.keys(found?.arguments ?? {})).toEqual(['__proto__'])
    expect(found?.arguments.x).toBeUndefined()
  })

  it('H14 loose JSON keeps __proto__ as data', () => {
    const [found] = read("{'name': 'ping', 'arguments': {'__proto__': {'x': 1}}}").calls
    expect(Object.keys(found?.arguments ?? {})).toEqual(['__proto__'])
    expect(found?.arguments.x).toBeUndefined()
  })
})
