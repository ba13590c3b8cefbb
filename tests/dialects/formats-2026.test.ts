import { describe, expect, it } from 'vitest'
import { createTextToolParser, parseToolCalls } from '../../src/dialects/index.ts'
import type { ToolDefinition } from '../../src/tools/tool.ts'
import { cuts, read } from './read.ts'

const parameters = {
  type: 'object',
  properties: {
    city: { type: 'string' },
    days: { type: 'integer' },
    exact: { type: 'boolean' },
    tags: { type: 'array', items: { type: 'string' } },
    stops: { type: 'array', items: { type: 'object', properties: { name: { type: 'string' }, minutes: { type: 'integer' } } } },
    options: { type: 'object', properties: { unit: { type: 'string' }, hours: { type: 'array', items: { type: 'integer' } } } },
  },
}
const tools: readonly ToolDefinition[] = [
  { type: 'function', function: { name: 'get_weather', parameters } },
  { type: 'function', function: { name: 'ping', parameters: { type: 'object', properties: {} } } },
]
const weather = (args: object) => ({ name: 'get_weather', arguments: args })
const oslo = weather({ city: 'Oslo', days: 2 })
const ping = { name: 'ping', arguments: {} }

/** MiniMax-M3 writes this before each tag. */
const ns = ']<]minimax[>['
const dsml = (bar: string, wrapper: string) => {
  const token = `${bar}DSML${bar}`
  return `<${token}${wrapper}>
<${token}invoke name="get_weather">
<${token}parameter name="city" string="true">Oslo</${token}parameter>
<${token}parameter name="days" string="false">2</${token}parameter>
</${token}invoke>
</${token}${wrapper}>`
}
const element = (key: string, value: string | number) => `${ns}<${key}>${value}${ns}</${key}>`

/** The prefix of Claude's tags. */
const claude = 'antml:'

/** The format, a text in it, its calls, and the remaining text. */
const cases: [format: string, text: string, calls: unknown[], rest: string][] = [
  [
    'MiniMax-M3',
    `Let me look.${ns}<tool_call>\n${ns}<invoke name="get_weather">${element('city', 'Oslo')}${element('days', 2)}${ns}</invoke>\n${ns}</tool_call>`,
    [oslo],
    'Let me look.',
  ],
  [
    'MiniMax-M3, two calls',
    `${ns}<tool_call>\n${ns}<invoke name="get_weather">\n${element('city', 'Oslo')}\n${element('days', 2)}\n${ns}</invoke>\n${ns}<invoke name="ping">\n${ns}</invoke>\n${ns}</tool_call>`,
    [oslo, ping],
    '',
  ],
  [
    'MiniMax-M3, lists and objects',
    `${ns}<tool_call>\n${ns}<invoke name="get_weather">${ns}<tags>${element('item', '5')}${element('item', 'b')}${ns}</tags>${ns}<stops>\n${ns}<item>\n${element('name', 'A')}\n${element('minutes', 3)}\n${ns}</item>\n${ns}</stops>${ns}<options>${element('unit', 'C')}${ns}<hours>${element('item', 7)}${ns}</hours>${ns}</options>${ns}</invoke>\n${ns}</tool_call>`,
    [weather({ tags: ['5', 'b'], stops: [{ name: 'A', minutes: 3 }], options: { unit: 'C', hours: [7] } })],
    '',
  ],
  [
    'MiniMax-M3, markup in a value',
    `${ns}<tool_call>${ns}<invoke name="get_weather">${element('city', '<p class="x">1 < 2</p>\n</city> ')}${ns}</invoke>${ns}</tool_call>`,
    [weather({ city: '<p class="x">1 < 2</p>\n</city> ' })],
    '',
  ],
  [
    'MiniMax-M3, the wrapper without its sentinel',
    `<tool_call>\n${ns}<invoke name="get_weather">${element('city', 'Oslo')}${ns}</invoke>\n${ns}</tool_call>`,
    [weather({ city: 'Oslo' })],
    '',
  ],
  [
    'MiniMax-M3, end tags without their sentinel',
    `${ns}<tool_call>\n${ns}<invoke name="get_weather">${ns}<city>Oslo</city>${ns}<days>2</days>\n${ns}</invoke>\n${ns}</tool_call>`,
    [oslo],
    '',
  ],
  ['DSML of DeepSeek V3.2', dsml('｜', 'function_calls'), [oslo], ''],
  ['DSML of DeepSeek V4', dsml('｜', 'tool_calls'), [oslo], ''],
  ['DSML with ASCII bars', dsml('|', 'tool_calls'), [oslo], ''],
  ['DSML with double bars', dsml('｜｜', 'tool_calls'), [oslo], ''],
  ['DSML with double ASCII bars', dsml('||', 'tool_calls'), [oslo], ''],
  ['DSML with a parallel sign', dsml('‖', 'tool_calls'), [oslo], ''],
  ['DSML with blanks', dsml(' | ', 'tool_calls'), [oslo], ''],
  ['Gemma 4', '<|tool_call>call:get_weather{city:<|"|>Oslo<|"|>,days:2}<tool_call|>', [oslo], ''],
  ['Gemma 4, a namespace', '<|tool_call>call:google:mcp:weather:get_weather{city:<|"|>Oslo<|"|>,days:2}<tool_call|>', [oslo], ''],
  [
    'Gemma 4, a dotted namespace',
    '<|tool_call>call:mcp.weather:get_weather{city:<|"|>Oslo<|"|>}<tool_call|>',
    [weather({ city: 'Oslo' })],
    '',
  ],
  [
    'Gemma 4, a bare text',
    '<|tool_call>call:get_weather{city:New York, NY,days:2}<tool_call|>',
    [weather({ city: 'New York, NY', days: 2 })],
    '',
  ],
  [
    'Gemma 4, a text like a key',
    '<|tool_call>call:get_weather{city:a, note: b,days:2}<tool_call|>',
    [weather({ city: 'a, note: b', days: 2 })],
    '',
  ],
  [
    'Gemma 4, single quotes',
    "<|tool_call>call:get_weather{city:'a, {b}: c',days:2}<tool_call|>",
    [weather({ city: 'a, {b}: c', days: 2 })],
    '',
  ],
  [
    'Gemma 4, bare texts inside',
    '<|tool_call>call:get_weather{tags:[New York,<|"|>b, c<|"|>],options:{unit:deg C,hours:[1,2]},exact:true}<tool_call|>',
    [weather({ tags: ['New York', 'b, c'], options: { unit: 'deg C', hours: [1, 2] }, exact: true })],
    '',
  ],
  ['Gemma 4, the label lost', '<|tool_call>:get_weather{city:<|"|>Oslo<|"|>}<tool_call|>', [weather({ city: 'Oslo' })], ''],
  ['Llama 3.1', '<|python_tag|>{"name": "get_weather", "parameters": {"city": "Oslo", "days": 2}}<|eom_id|>', [oslo], ''],
  [
    'Llama 3.1, two calls',
    '<|python_tag|>{"name": "get_weather", "parameters": {"city": "Oslo", "days": 2}}; {"name": "ping", "parameters": {}}',
    [oslo, ping],
    '',
  ],
  ['Llama 3.1, python', '<|python_tag|>get_weather.call(city="Oslo", days=2)<|eom_id|>', [oslo], ''],
  ['LongCat', '<longcat_tool_call>\n{"name": "get_weather", "arguments": {"city": "Oslo", "days": 2}}\n</longcat_tool_call>', [oslo], ''],
  [
    'LongCat, pairs',
    '<longcat_tool_call>get_weather\n<longcat_arg_key>city</longcat_arg_key>\n<longcat_arg_value>Oslo</longcat_arg_value>\n<longcat_arg_key>days</longcat_arg_key>\n<longcat_arg_value>2</longcat_arg_value>\n</longcat_tool_call>',
    [oslo],
    '',
  ],
  ['LongCat, no arguments', '<longcat_tool_call>ping\n</longcat_tool_call>', [ping], ''],
  [
    'Grok',
    '<xai:function_call name="get_weather">\n<parameter name="city">Oslo</parameter>\n<parameter name="days">2</parameter>\n</xai:function_call>',
    [oslo],
    '',
  ],
  [
    'Grok, end tags cut short',
    'First.\n<xai:function_call name="get_weather">\n<parameter name="city">Oslo</parameter>\n</xai:function_call\n\n<xai:function_call name="ping">\n</xai:function_call">',
    [weather({ city: 'Oslo' }), ping],
    'First.\n\n\n',
  ],
  [
    'Grok, a wrapper',
    '<xai:function_call>\n<invoke name="get_weather">\n<parameter name="city">Oslo</parameter>\n<parameter name="days">2</parameter>\n</invoke>\n</xai:function_call>',
    [oslo],
    '',
  ],
  [
    'Grok, prefixed parameters',
    '<xai:function_call name="get_weather"><xai:parameter name="city">Oslo</xai:parameter></xai:function_call>',
    [weather({ city: 'Oslo' })],
    '',
  ],
  [
    'Claude, prefixed',
    `<${claude}function_calls>\n<${claude}invoke name="get_weather">\n<${claude}parameter name="city">Oslo</${claude}parameter>\n<${claude}parameter name="days">2</${claude}parameter>\n</${claude}invoke>\n</${claude}function_calls>`,
    [oslo],
    '',
  ],
  [
    'Claude, prefixed, the wrapper lost',
    `<${claude}invoke name="get_weather">\n<${claude}parameter name="city">Oslo</${claude}parameter>\n</${claude}invoke>`,
    [weather({ city: 'Oslo' })],
    '',
  ],
  ['Llama on Groq, no bracket', '<function=get_weather{"city": "Oslo", "days": 2}</function>', [oslo], ''],
  ['Llama on Groq, an equals sign', '<function=get_weather={"city": "Oslo", "days": 2}</function>', [oslo], ''],
  ['Llama on Groq, parentheses', '<function=get_weather({"city": "Oslo", "days": 2})</function>', [oslo], ''],
  ['Llama on Groq, a late bracket', '<function=get_weather {"city": "Oslo", "days": 2}></function>', [oslo], ''],
  ['Llama on Groq, a list', `<function=get_weather [{"city": "Oslo", "days": 2}]</function>`, [oslo], ''],
  ['Olmo 3', '<function_calls>get_weather(city="Oslo", days=2)\nping()</function_calls>', [oslo, ping], ''],
  [
    'Olmo 3, JSON’s words',
    "<function_calls>\nget_weather(city='Oslo', exact=true)\n</function_calls>",
    [weather({ city: 'Oslo', exact: true })],
    '',
  ],
  [
    'Solar Open',
    '<|tool_calls|><|tool_call:begin|>b462b4f8<|tool_call:name|>get_weather<|tool_call:args|>{"city":"Oslo","days":2}<|tool_call:end|><|tool_call:begin|>c1<|tool_call:name|>ping<|tool_call:args|>{}<|tool_call:end|><|calls|>',
    [oslo, ping],
    '',
  ],
  [
    'Solar Open 2',
    '<|tool_call:start|>get_weather\n<|tool_arg:start|>city<|tool_arg:value|>Oslo<|tool_arg:end|>\n<|tool_arg:start|>days<|tool_arg:value|>2<|tool_arg:end|>\n<|tool_call:end|>',
    [oslo],
    '',
  ],
  [
    'Kimi K3',
    '<|open|>tools<|sep|><|open|>call tool="get_weather" index="1"<|sep|><|open|>argument key="city" type="string"<|sep|>Oslo<|close|>argument<|sep|><|open|>argument key="days" type="integer"<|sep|>2<|close|>argument<|sep|><|close|>call<|sep|><|close|>tools<|sep|>',
    [oslo],
    '',
  ],
  [
    'Kimi K3, JSON',
    '<|open|>call tool="get_weather" index="1"<|sep|><|open|>json type="object"<|sep|>{"city":"Oslo","days":2}<|close|>json<|sep|><|close|>call<|sep|>',
    [oslo],
    '',
  ],
  [
    'Hunyuan 3',
    '<tool_calls:opensource>\n<tool_call:opensource>get_weather<tool_sep:opensource>\n<arg_key:opensource>city</arg_key:opensource>\n<arg_value:opensource>Oslo</arg_value:opensource>\n</tool_call:opensource></tool_calls:opensource>',
    [weather({ city: 'Oslo' })],
    '',
  ],
  ['Doubao', '<|FunctionCallBegin|>[{"name":"get_weather","parameters":{"city":"Oslo","days":2}}]<|FunctionCallEnd|>', [oslo], ''],
  ['MiniCPM 5', '<function name="get_weather"><param name="city">Oslo</param><param name="days">2</param></function>', [oslo], ''],
]

/** Texts about these formats, and text that starts like a call but is not one. */
const texts = [
  `MiniMax writes ${ns} before each tag.`,
  `${ns}<path>no call${ns}</path>`,
  `${ns}<tool_call>\nno call`,
  '<|python_tag|>import math\nprint(math.pi)',
  '<|python_tag|>print(1 + 2)',
  'The token <|tool_call> begins a call, <tool_call|> ends it.',
  '<|tool_call>nothing{a:1}<tool_call|>',
  'Solar separates names with <|tool_call:name|> and ends with <|tool_call:end|>.',
  '`<longcat_tool_call>{"name": "ping", "arguments": {}}</longcat_tool_call>` is LongCat’s form.',
  '```xml\n<xai:function_call name="ping">\n</xai:function_call>\n```',
  'A <|open|>call without a tool.',
]

/** Calls that break off. None may run. */
const broken = [
  `${ns}<tool_call>${ns}<invoke name="get_weather">${ns}<city>Osl`,
  `${ns}<tool_call>${ns}<invoke name="get_weather">${element('city', 'Oslo')}`,
  '<|DSML|tool_calls><|DSML|invoke name="get_weather"><|DSML|parameter name="city" string="true">Osl',
  '<|tool_call>call:get_weather{city:Osl',
  '<xai:function_call name="get_weather">\n<parameter name="city">Osl',
  '<longcat_tool_call>get_weather\n<longcat_arg_key>city</longcat_arg_key>\n<longcat_arg_value>Osl',
  '<function=get_weather{"city": "Osl',
  `<${claude}invoke name="get_weather">\n<${claude}parameter name="city">Osl`,
  '<|tool_call:begin|>1<|tool_call:name|>get_weather<|tool_call:args|>{"city":"Osl',
  '<|tool_call:start|>get_weather\n<|tool_arg:start|>city<|tool_arg:value|>Osl',
  '<|open|>call tool="get_weather"<|sep|><|open|>argument key="city"<|sep|>Osl',
]

describe('text calls of 2026', () => {
  it.for(cases)('F16 reads %s from a response of a model with native calls, complete and in pieces', ([, text, calls, rest]) => {
    for (const pieces of cuts(text)) {
      const got = read(pieces, { dialect: 'salvage', tools })
      expect(got.calls).toEqual(calls)
      expect(got.text).toBe(rest)
    }
  })

  it.for(texts)('F16 %j contains no call', (text) => {
    for (const pieces of cuts(text)) {
      const got = read(pieces, { dialect: 'salvage', tools })
      expect([got.calls, got.text]).toEqual([[], text])
    }
  })

  it.for(broken)('F16 never runs the incomplete call %j, whether the limit cut it off or the model stopped', (text) => {
    for (const reason of ['length', 'stop'] as const) {
      const parser = createTextToolParser({ dialect: 'salvage', tools })
      const events = [...parser.push(text), ...parser.end(reason)]
      expect(events.filter(({ type }) => type === 'call')).toEqual([])
    }
  })

  it('F16 an unknown tool’s name is reported as written', () => {
    const [call] = parseToolCalls('<|tool_call>call:google:mcp:unknown{a:1}<tool_call|>', { dialect: 'salvage', tools })
    expect(call).toEqual({ type: 'call', name: 'google:mcp:unknown', arguments: { a: 1 } })
  })
})
