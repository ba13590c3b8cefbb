import { describe, expect, it } from 'vitest'
import { readJsonText } from '../../src/dialects/bodies/json/json-text.ts'
import { DeclaredTools } from '../../src/dialects/declared-tools.ts'
import { readTypedValue } from '../../src/dialects/typed-values.ts'
import { cuts, read, tool, tools } from './read.ts'

const write = (content: string) => ({ name: 'write_file', arguments: { path: 'a.txt', content } })
const oslo = { name: 'get_weather', arguments: { city: 'Oslo' } }

describe('repairs', () => {
  it.each<[string, string, string, unknown[], string[]]>([
    ['strict JSON', 'hermes', '<tool_call>{"name": "ping", "arguments": {}}</tool_call>', [{ name: 'ping', arguments: {} }], []],
    [
      'loose JSON',
      'hermes',
      "<tool_call>{'name': 'get_weather', 'arguments': {'city': 'Oslo',}}</tool_call>",
      [oslo],
      ['JSON that is not strict'],
    ],
    [
      'unescaped quotes',
      'hermes',
      '<tool_call>{"name": "write_file", "arguments": {"path": "a.txt", "content": "say "a", "b" and "}" now"}}</tool_call>',
      [write('say "a", "b" and "}" now')],
      ['unescaped quotes'],
    ],
    [
      'an odd number of them',
      'hermes',
      '<tool_call>{"name": "write_file", "arguments": {"content": "5" wide\\n", "path": "a.txt"}}</tool_call>',
      [{ name: 'write_file', arguments: { content: '5" wide\n', path: 'a.txt' } }],
      ['unescaped quotes'],
    ],
    [
      'arguments as a string',
      'hermes',
      '<tool_call>{"name": "get_weather", "arguments": "{\\"city\\": \\"Oslo\\"}"}</tool_call>',
      [oslo],
      ['arguments written as a JSON string'],
    ],
    ['no closing tag', 'hermes', '<tool_call>{"name": "get_weather", "arguments": {"city": "Oslo"}}', [oslo], ['closing tag missing']],
    ['a begun closing tag', 'hermes', '<tool_call>{"name": "get_weather", "arguments": {"city": "Oslo"}}\n</tool', [oslo], []],
    [
      'a brace too many',
      'hermes',
      '<tool_call>{"name": "get_weather", "arguments": {"city": "Oslo"}}}</tool_call>',
      [oslo],
      ['extra "}" left out'],
    ],
    [
      'words before the call',
      'hermes',
      '<tool_call>\nNow: {"name": "get_weather", "arguments": {"city": "Oslo"}}</tool_call>',
      [oslo],
      ['text before the call left out'],
    ],
    [
      'a decorated name',
      'hermes',
      '<tool_call>{"name": "functions.Get-Weather:0", "arguments": {"city": "Oslo"}}</tool_call>',
      [oslo],
      ['tool name read from "functions.Get-Weather:0"'],
    ],
    [
      'a value without its end',
      'qwen-coder',
      '<tool_call><function=get_weather><parameter=city>Oslo</function></tool_call>',
      [oslo],
      ['closing tag of a parameter missing'],
    ],
    [
      'a name as content',
      'qwen-coder',
      '<tool_call><function>get_weather</function><parameter>city</parameter>\nOslo\n</function></tool_call>',
      [oslo],
      ['name written as content', 'name written as content'],
    ],
    [
      'a bracket missing',
      'qwen-coder',
      '<tool_call>function=get_weather>\n<parameter=city>\nOslo\n</parameter>\n</function>\n</tool_call>',
      [oslo],
      [],
    ],
    [
      'a pair without its end',
      'glm',
      '<tool_call>get_weather<arg_key>city</arg_key><arg_value>Oslo</tool_call>',
      [oslo],
      ['closing tag of a value missing'],
    ],
    [
      'a comment',
      'tool-action',
      '<tool_action name="get_weather"><!-- <city value="Rome" /> --><city value="Oslo" /></tool_action>',
      [oslo],
      ['comment left out'],
    ],
    [
      'a bare <',
      'tool-action',
      '<tool_action name="get_weather">if 2 < 3 <city value="Oslo" /></tool_action>',
      [oslo],
      ['text between parameters left out'],
    ],
    [
      'another closing tag',
      'tool-action',
      '<tool_action name="get_weather"></tool_actions><city value="Oslo" /></tool_action>',
      [oslo],
      ['stray closing tag left out'],
    ],
    [
      'a comment',
      'invoke',
      '<invoke name="get_weather"><!-- <parameter name="city">Rome</parameter> --><parameter name="city">Oslo</parameter></invoke>',
      [oslo],
      ['text between parameters left out'],
    ],
    [
      'a bare <',
      'invoke',
      '<invoke name="get_weather">if 2 < 3 <parameter name="city">Oslo</parameter></invoke>',
      [oslo],
      ['text between parameters left out'],
    ],
    [
      'another closing tag',
      'invoke',
      '<invoke name="get_weather"></invokes><parameter name="city">Oslo</parameter></invoke>',
      [oslo],
      ['text between parameters left out'],
    ],
    [
      'a comment',
      'qwen-coder',
      '<function=get_weather><!-- <parameter=city>Rome</parameter> --><parameter=city>Oslo</parameter></function>',
      [oslo],
      ['text between parameters left out'],
    ],
    [
      'a bare <',
      'qwen-coder',
      '<function=get_weather>if 2 < 3 <parameter=city>Oslo</parameter></function>',
      [oslo],
      ['text between parameters left out'],
    ],
    [
      'another closing tag',
      'qwen-coder',
      '<function=get_weather></functions><parameter=city>Oslo</parameter></function>',
      [oslo],
      ['text between parameters left out'],
    ],
    [
      'a parameter without its end',
      'tool-action',
      '<tool_action name="get_weather"><city value="Oslo"></tool_action>',
      [oslo],
      ['closing tag of a parameter missing'],
    ],
    [
      'content without its end',
      'tool-action',
      '<tool_action name="get_weather"><city>Oslo</tool_action>',
      [oslo],
      ['value written as content', 'closing tag of a parameter missing'],
    ],
    [
      'a comment before pairs',
      'glm',
      '<tool_call>get_weather\n<!-- now --><arg_key>city</arg_key><arg_value>Oslo</arg_value></tool_call>',
      [oslo],
      [],
    ],
    ['arguments by position', 'pythonic', '<|tool_call_start|>[get_weather("Oslo")]<|tool_call_end|>', [oslo], ['arguments by position']],
    ['a bare value', 'react', 'Action: get_weather\nAction Input: Oslo', [oslo], ['text taken as the argument "city"']],
  ])('reads, and reports the repair: %s', (_, dialect, text, calls, repairs) => {
    for (const pieces of [[text], ...cuts(text)])
      expect(read(pieces, { dialect })).toMatchObject({ calls, repairs: expect.arrayContaining(repairs) })
    expect(read(text, { dialect }).repairs.length).toBe(new Set(repairs).size)
  })

  it.each<[string, string, RegExp]>([
    ['hermes', '<tool_call>{"name": "ping", "arguments": oops}</tool_call>', /not valid.*Expected \{"name"/],
    ['hermes', '<tool_call>{"arguments": {"city": "Oslo"}}</tool_call>', /expected an object with "name"/],
    ['hermes', '<tool_call>{"name": "ping", "arguments": [1]}</tool_call>', /"arguments" to be an object/],
    ['hermes', '<tool_call>{"name": "ping", "argu', /not finished/],
    ['hermes', '<tool_call>\nplease ping\n</tool_call>', /got text.*Known tools: get_weather/],
    ['qwen-coder', '<function=ping><parameter=x>never closed', /closing tag/],
    ['qwen-coder', '<function=ping><parameter=x>1</parameter>\n<p', /closing tag/],
    ['glm', '<tool_call>ping<arg_key>x</tool_call>', /<arg_key> and <arg_value>/],
    ['mistral', '[TOOL_CALLS]ping[ARGS]{"a": }', /not valid JSON/],
    ['pythonic', '<|tool_call_start|>[ping(a=b)]<|tool_call_end|>', /python literals/],
    ['salvage', '<|tool_call_begin|>12<|tool_call_argument_begin|>{}<|tool_call_end|>', /name of a tool/],
  ])('rejects for %s, in words for the model: %s', (dialect, text, reason) => {
    for (const pieces of [[text], ...cuts(text)]) {
      const { calls, rejected } = read(pieces, { dialect })
      expect(calls).toEqual([])
      expect(rejected[0]?.raw).not.toBe('')
      expect(rejected[0]?.reason).toMatch(reason)
    }
  })

  it('a broken call leaves the next one intact', () => {
    const text =
      '<tool_call>{"name": "ping", "arguments": {"a" 1}}</tool_call> and <tool_call>{"name": "ping", "arguments": {}}</tool_call>'
    expect(read(text, { dialect: 'hermes' })).toMatchObject({ order: ['reject', 'text', 'call:ping'], text: ' and ' })
    const open = '<tool_call>{"name": "ping", "arguments": {"a" 1}} <tool_call>{"name": "ping", "arguments": {}}</tool_call>'
    expect(read(open, { dialect: 'hermes' }).order).toEqual(['reject', 'call:ping'])
  })

  it('H15 a response that ended by its length runs no unclosed call', () => {
    const open: [string, string][] = [
      ['tool-action', '<tool_action name="ping"></tool_action'],
      ['hermes', '<tool_call>{"name": "ping", "arguments": {}}'],
      ['hermes', '<tool_call>{"name": "ping", "arguments": {}}</tool'],
      ['qwen-coder', '<function=ping></func'],
      ['glm', '<tool_call>get_weather<arg_key>city</arg_key><arg_value>Oslo</arg_value>'],
      ['pythonic', '<|tool_call_start|>[ping()]'],
      ['react', 'Action: search\nAction Input: mil'],
      ['salvage', '<|tool_call>call:ping{}'],
    ]
    for (const [dialect, text] of open) {
      for (const pieces of [[text], ...cuts(text)]) expect(read(pieces, { dialect, reason: 'length' }).calls).toEqual([])
    }
  })
})

describe('readJsonText', () => {
  it.each<[string, unknown]>([
    ["{'a': 'it\\'s', \"b\": 'say \"x\"'}", { a: "it's", b: 'say "x"' }],
    ['{a: 1, b_c-d: [True, False, None]}', { a: 1, 'b_c-d': [true, false, null] }],
    ['{"a": 1, // one\n /* two */ "b": [1, 2,],}', { a: 1, b: [1, 2] }],
    ['{"a": "line\nbreak \\q \\u00e9"}', { a: 'line\nbreak \\q é' }],
    ['[.5, +3, -1_000, 0x1f, 1e+3, 2.]', [0.5, 3, -1000, 31, 1000, 2]],
    ['(1, "a")', [1, 'a']],
    ['{"C:\\Users": r"\\d+"}', { 'C:\\Users': '\\d+' }],
  ])('reads %s', (text, value) => {
    expect(readJsonText(text)).toEqual({ ok: true, value, strict: false })
  })

  it.each(['', '{', '{"a"}', '{"a": }', '[1 2]', '{"a": b}', '"open', '{"a": 1} x', '{,}', '/*'])('refuses %j', (text) => {
    expect(readJsonText(text)).toMatchObject({ ok: false })
  })

  it('refuses nesting that would overflow the caller’s stack', () => {
    expect(readJsonText(`${'['.repeat(500)}x${']'.repeat(500)}`)).toMatchObject({ ok: false })
  })
})

describe('readTypedValue', () => {
  it.each<[string, Record<string, unknown> | undefined, unknown]>([
    ['5', undefined, '5'],
    ['5', { type: 'string' }, '5'],
    ['5', { type: 'integer' }, 5],
    [' 5 ', { type: 'number' }, 5],
    ['5.5', { type: 'integer' }, '5.5'],
    ['True', { type: 'boolean' }, true],
    ['yes', { type: 'boolean' }, 'yes'],
    ['null', { type: ['string', 'null'] }, null],
    ['[1]', { anyOf: [{ type: 'array' }, { type: 'string' }] }, [1]],
    ['[1', { anyOf: [{ type: 'array' }, { type: 'string' }] }, '[1'],
    ['{"a": 1}', { type: 'string' }, '{"a": 1}'],
    ['{"a": 1}', {}, { a: 1 }],
    ['plain', {}, 'plain'],
    ['1', { enum: ['1', '2'] }, '1'],
    ['1', { enum: [1, 2] }, 1],
    ['12345678901234567890', { type: 'integer' }, '12345678901234567890'],
  ])('reads %j by %j', (text, schema, value) => {
    expect(readTypedValue(text, schema)).toEqual(value)
  })
})

describe('DeclaredTools', () => {
  it('Q30 a name is matched only if exactly one tool fits', () => {
    const declared = new DeclaredTools([...tools, tool('Read'), tool('read'), tool('get-weather')])
    expect(declared.resolve('search')).toBe('search')
    expect(declared.resolve('functions.search:3')).toBe('search')
    expect(declared.resolve('SEARCH')).toBe('search')
    expect(declared.resolve('write\\_file')).toBe('write_file')
    expect(declared.resolve('READ')).toBeUndefined()
    expect(declared.resolve('Read')).toBe('Read')
    expect(declared.resolve('GET_WEATHER')).toBeUndefined()
    expect(declared.resolve('searches')).toBeUndefined()
    expect(declared.resolve('constructor')).toBeUndefined()
  })
})
