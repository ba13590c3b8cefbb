import { describe, expect, it } from 'vitest'
import type { ToolDefinition } from '../../src/tools/tool.ts'
import { cuts, read, tool, tools } from './read.ts'

const oslo = { name: 'get_weather', arguments: { city: 'Oslo', days: 2 } }
const ping = { name: 'ping', arguments: {} }
const milk = { name: 'search', arguments: { query: 'milk' } }
const json = '{"name": "get_weather", "arguments": {"city": "Oslo", "days": 2}}'

describe('Python calls as models write them', () => {
  it.each<[string, string, unknown[]]>([
    ['escaped names in a list', '[get\\_weather(city="Oslo", days=2)]', [oslo]],
    ['escaped names in a line', 'get\\_weather(city="Oslo", days=2)', [oslo]],
    ['escapes in the values of escaped names', "[get\\_weather(city='Os\\_lo')]", [{ name: 'get_weather', arguments: { city: 'Os_lo' } }]],
    ['a call as a string', '["get_weather(city=\'Oslo\', days=2)"]', [oslo]],
    ['calls as strings', "['get_weather(city=\"Oslo\", days=2)', 'ping()']", [oslo, ping]],
    ['a string in a line', '\'get_weather(city="Oslo", days=2)\'', [oslo]],
    ['backticks in a list', '[`get_weather(city="Oslo", days=2)`, `ping()`]', [oslo, ping]],
    ['a name and its arguments as a list', "['get_weather', {'city': 'Oslo', 'days': 2}]", [oslo]],
    ['pairs', "[('get_weather', {'city': 'Oslo', 'days': 2}), ('ping', {})]", [oslo, ping]],
    ['several in a line with commas', 'get_weather(city="Oslo", days=2), ping()', [oslo, ping]],
    ['several in a line with semicolons', 'get_weather(city="Oslo", days=2); search(query="milk"); ping();', [oslo, milk, ping]],
    ['a comma at the end of a line', 'ping(),\nget_weather(city="Oslo", days=2)\n', [ping, oslo]],
    ['a name, and JSON below it', 'get_weather\n{"city": "Oslo", "days": 2}', [oslo]],
    ['an object as the only argument', "[get_weather({'city': 'Oslo', 'days': 2})]", [oslo]],
    ['JSON', json, [oslo]],
    ['a list of JSON', `[${json}, {"name": "ping", "parameters": {}}]`, [oslo, ping]],
    ['JSON in a fence', `\`\`\`json\n[${json}]\n\`\`\``, [oslo]],
    ['JSON with names as keys', "[{'get_weather': {'city': 'Oslo', 'days': 2}}]", [oslo]],
    ['a call in a python fence', '```python\nget_weather(city="Oslo", days=2)\n```', [oslo]],
    ['a printed call in a python fence', '```python\nprint(get_weather(city="Oslo", days=2))\n```', [oslo]],
    ['a fence in one line', '```[get_weather(city="Oslo", days=2)]```', [oslo]],
    ['a call in a fence in one line', '```get_weather(city="Oslo", days=2)```', [oslo]],
    ['a plain fence', '```plaintext\n[get_weather(city="Oslo", days=2)]\n```', [oslo]],
    ['words without quotes', '[get_weather(city=Oslo, days=2)]', [oslo]],
    ['several words without quotes', '[search(query=fresh milk)]', [{ name: 'search', arguments: { query: 'fresh milk' } }]],
    ['arithmetic', '[get_weather(city="Oslo", days=2*3 - 2**2)]', [oslo]],
    ['items of a list', '1. [get_weather(city="Oslo", days=2)]\n2. [ping()]', [oslo, ping]],
  ])('Q32 reads %s', (_, text, calls) => {
    for (const pieces of cuts(text)) expect(read(pieces, { dialect: 'pythonic' })).toMatchObject({ calls, rejected: [] })
  })

  it.each([
    ['2 * 3 + 4', 10],
    ['-2**2', -4],
    ['2**-1', 0.5],
    ['7//2 + 7%4', 6],
    ['4 * 3.14 * 10**-7', 4 * 3.14 * 10 ** -7],
    ['1/4', 0.25],
  ])('calculates %s', (sum, value) => {
    const { calls } = read(`[calculate(x=${sum})]`, { dialect: 'pythonic', tools: [tool('calculate', { x: 'number' })] })
    expect(calls).toEqual([{ name: 'calculate', arguments: { x: value } }])
  })

  it('a calculated sum is reported as a repair', () => {
    const { repairs } = read('[get_weather(city="Oslo", days=2*3)]', { dialect: 'pythonic' })
    expect(repairs).toEqual(['arithmetic calculated: 2*3'])
  })

  it.each([
    ['text or null', { type: ['string', 'null'] }],
    ['number or text', { type: ['number', 'string'] }],
    ['anyOf', { anyOf: [{ type: 'string' }, { type: 'number' }] }],
    ['oneOf beside a type', { type: 'number', oneOf: [{ minimum: 0 }] }],
    ['an enum', { enum: ['12/25', '1/1'] }],
    ['untyped', { description: 'A day.' }],
  ])('never calculates a value that may be a date: %s', (_, schema) => {
    const book: ToolDefinition = {
      type: 'function',
      function: { name: 'book', description: 'Books.', parameters: { type: 'object', properties: { when: schema } } },
    }
    for (const text of ['12/25', '16/9', '7-8']) {
      const { calls, repairs } = read(`[book(when=${text})]`, { dialect: 'pythonic', tools: [book] })
      expect(calls).toEqual([{ name: 'book', arguments: { when: text } }])
      expect(repairs).toEqual([])
    }
  })

  it.each(['2024-10-12', '10/12/2024', '555-1234', '1+1', '50%'])('text without quotes stays text: %s', (text) => {
    expect(read(`[search(query=${text})]`, { dialect: 'pythonic' }).calls).toEqual([{ name: 'search', arguments: { query: text } }])
  })

  it.each([
    ['a call in a call', '[get_weather(city=search(query="x"))]'],
    ['a variable’s item', "[get_weather(city=data['city'])]"],
    ['an undeclared argument without quotes', '[ping(x=y)]'],
    ['arguments by position', "[get_weather('Oslo', 2)]"],
    ['an object whose keys are not arguments', "[get_weather({'place': 'Oslo'})]"],
    ['ordinary code in a fence', '```python\nimport os\nget_weather(city="Oslo")\n```\n'],
    ['a call and other code in a fence', '```python\nget_weather(city="Oslo")\nprint("done")\n```\n'],
    ['code of another language', '```js\nget_weather({city: "Oslo"})\n```\n'],
    ['a line that continues', 'get_weather(city="Oslo"), which I like.'],
    ['a string that continues', '\'get_weather(city="Oslo")\' is a call.'],
    ['a name, and other things below it', 'get_weather\nis a tool'],
    ['a list of names', "['get_weather', 'ping']"],
    ['a quoted sentence', '"The weather" is a song.'],
  ])('Q32 leaves as text: %s', (_, text) => {
    for (const pieces of cuts(text)) expect(read(pieces, { dialect: 'pythonic' })).toMatchObject({ calls: [], text, rejected: [] })
  })

  it('H15 runs no call in a line that was cut off after it', () => {
    const text = 'get_weather(city="Oslo")'
    expect(read(text, { dialect: 'pythonic', reason: 'length' })).toMatchObject({ calls: [], text })
  })

  it('Q32 reads JSON without tags from a model that was asked for tags', () => {
    expect(read(`<|im_start|>\n${json}\n<|im_start|>`, { dialect: 'hermes', tools }).calls).toEqual([oslo])
  })
})
