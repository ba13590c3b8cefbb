import { describe, expect, it } from 'vitest'
import { dialects } from '../../src/dialects/dialects.ts'
import { createTextToolParser, type Dialect, dialectNames, findDialect, jsonBody, parseToolCalls } from '../../src/dialects/index.ts'
import { cuts, read, summarize, tools } from './read.ts'

const oslo = { name: 'get_weather', arguments: { city: 'Oslo', days: 2 } }
const milk = { name: 'search', arguments: { query: 'milk', exact: true, tags: ['a', 'b'] } }
const ping = { name: 'ping', arguments: {} }
const json = '{"name": "get_weather", "arguments": {"city": "Oslo", "days": 2}}'
const bar = '｜'

/** The dialect, the case, the text, its calls, and the text outside. */
const cases: [string, string, string, unknown[], string][] = [
  ['hermes', 'one', `Sure.\n<tool_call>\n${json}\n</tool_call>`, [oslo], 'Sure.\n'],
  ['hermes', 'two tags', `<tool_call>${json}</tool_call>\n<tool_call>{"name": "ping", "arguments": {}}</tool_call>`, [oslo, ping], '\n'],
  ['hermes', 'two in a tag', `<tool_call>\n${json}\n{"name": "ping", "arguments": {}}\n</tool_call>`, [oslo, ping], ''],
  ['hermes', 'a list', `<tool_call>[${json}, {"name": "ping", "arguments": {}}]</tool_call>`, [oslo, ping], ''],
  [
    'hermes',
    'its own tag in a value',
    '<tool_call>{"name": "ping", "arguments": {"x": "</tool_call> <tool_call>"}}</tool_call>',
    [{ name: 'ping', arguments: { x: '</tool_call> <tool_call>' } }],
    '',
  ],
  [
    'hermes',
    'an unknown tool',
    '<tool_call>{"name": "fly", "arguments": {"to": "Mars"}}</tool_call>',
    [{ name: 'fly', arguments: { to: 'Mars' } }],
    '',
  ],
  ['hermes', 'tool_calls', `<tool_calls>[${json}]</tool_calls>`, [oslo], ''],
  ['hermes', 'Granite', `<|tool_call|>[${json}]`, [oslo], ''],
  ['hermes', 'Granite code', `<function_call> ${json} </function_call>`, [oslo], ''],
  ['hermes', 'Nemotron', `<TOOLCALL>[${json}]</TOOLCALL>`, [oslo], ''],
  ['hermes', 'LM Studio', `[TOOL_REQUEST]\n${json}\n[END_TOOL_REQUEST]`, [oslo], ''],
  ['hermes', 'a name as the key', '<tool_call>{"get_weather": {"city": "Oslo", "days": 2}}</tool_call>', [oslo], ''],
  ['hermes', 'no arguments', '<tool_call>{"name": "ping"}</tool_call>', [ping], ''],
  ['hermes', 'the form of another dialect', '<tool_call>\n<function=ping>\n</function>\n</tool_call>', [ping], ''],
  [
    'hermes',
    'the tag in prose',
    'The tag <tool_call> begins a call, </tool_call> ends it.',
    [],
    'The tag <tool_call> begins a call, </tool_call> ends it.',
  ],
  ['hermes', 'an empty tag', 'An empty <tool_call></tool_call> is none.', [], 'An empty <tool_call></tool_call> is none.'],
  [
    'qwen-coder',
    'values on lines of their own',
    'Now.\n<tool_call>\n<function=get_weather>\n<parameter=city>\nOslo\n</parameter>\n<parameter=days>\n2\n</parameter>\n</function>\n</tool_call>',
    [oslo],
    'Now.\n',
  ],
  [
    'qwen-coder',
    'types by schema',
    '<function=search><parameter=query>milk</parameter><parameter=exact>True</parameter><parameter=tags>["a", "b"]</parameter></function>',
    [milk],
    '',
  ],
  [
    'qwen-coder',
    'code as it is',
    '<function=write_file>\n<parameter=path>\na.html\n</parameter>\n<parameter=content>\n<p class="x">1 < 2 && "3"</p>\n\n</parameter>\n</function>',
    [{ name: 'write_file', arguments: { path: 'a.html', content: '<p class="x">1 < 2 && "3"</p>\n' } }],
    '',
  ],
  [
    'qwen-coder',
    'its own tags in a value',
    '<function=write_file><parameter=path>x</parameter><parameter=content>a </parameter> b </function> c <parameter=d>e</parameter></function>',
    [{ name: 'write_file', arguments: { path: 'x', content: 'a </parameter> b </function> c <parameter=d>e' } }],
    '',
  ],
  ['qwen-coder', 'Seed', '<seed:tool_call><function=ping></function></seed:tool_call>', [ping], ''],
  ['qwen-coder', 'JSON in the tag', `<tool_call>${json}</tool_call>`, [oslo], ''],
  ['qwen-coder', 'JSON arguments', '<function=get_weather>{"city": "Oslo", "days": 2}</function>', [oslo], ''],
  ['qwen-coder', 'the tag in prose', 'It is a <function> of time.', [], 'It is a <function> of time.'],
  [
    'glm',
    'pairs',
    '<tool_call>get_weather\n<arg_key>city</arg_key>\n<arg_value>Oslo</arg_value>\n<arg_key>days</arg_key>\n<arg_value>2</arg_value>\n</tool_call>',
    [oslo],
    '',
  ],
  [
    'glm',
    'no line breaks',
    '<tool_call>get_weather<arg_key>city</arg_key><arg_value>Oslo</arg_value><arg_key>days</arg_key><arg_value>2</arg_value></tool_call>',
    [oslo],
    '',
  ],
  ['glm', 'no arguments', '<tool_call>ping</tool_call>', [ping], ''],
  [
    'glm',
    'its own tags in a value',
    '<tool_call>write_file<arg_key>path</arg_key><arg_value>a </arg_value> or <arg_key> or </tool_call> b</arg_value><arg_key>content</arg_key><arg_value>c</arg_value></tool_call>',
    [{ name: 'write_file', arguments: { path: 'a </arg_value> or <arg_key> or </tool_call> b', content: 'c' } }],
    '',
  ],
  ['mistral', 'a list', `[TOOL_CALLS][${json}, {"name": "ping", "arguments": {}}]`, [oslo, ping], ''],
  ['mistral', 'a list and its end', `[TOOL_CALLS] [${json}] [/TOOL_CALLS] ok`, [oslo], '  ok'],
  ['mistral', 'names', '[TOOL_CALLS]get_weather[ARGS]{"city": "Oslo", "days": 2}[TOOL_CALLS]ping[ARGS]{}', [oslo, ping], ''],
  ['mistral', 'ids', '[TOOL_CALLS]get_weather[CALL_ID]a1b2c3d4e[ARGS]{"city": "Oslo", "days": 2}', [oslo], ''],
  ['mistral', 'a name alone', '[TOOL_CALLS]ping{}', [ping], ''],
  ['mistral', 'in prose', 'See [TOOL_CALLS] and [1].', [], 'See [TOOL_CALLS] and [1].'],
  [
    'salvage',
    'Cohere’s fence',
    `Plan.\nAction: \`\`\`json\n[{"tool_name": "get_weather", "parameters": {"city": "Oslo", "days": 2}}]\n\`\`\``,
    [oslo],
    'Plan.\n',
  ],
  [
    'json',
    'Cohere’s fence',
    `Action: \`\`\`json\n[{"tool_name": "get_weather", "parameters": {"city": "Oslo", "days": 2}}]\n\`\`\``,
    [oslo],
    'Action: ',
  ],
  ['salvage', 'functionary 3.2', '>>>all\nI look.\n>>>get_weather\n{"city": "Oslo", "days": 2}\n>>>ping\n{}', [oslo, ping], 'I look.\n\n'],
  ['salvage', 'a quotation', '>>>get_weather\n> is a tool', [], '>>>get_weather\n> is a tool'],
  ['salvage', 'functools', `functools[${json}, {"name": "ping", "arguments": {}}]`, [oslo, ping], ''],
  ['salvage', 'functools in prose', 'Use functools[x].', [], 'Use functools[x].'],
  ['salvage', 'GigaChat', `function call<|role_sep|>\n${json}`, [oslo], ''],
  ['salvage', 'GigaChat without its token', `function call${json}`, [oslo], ''],
  ['salvage', 'InternLM', `<|action_start|><|plugin|>\n${json}<|action_end|>`, [oslo], ''],
  [
    'salvage',
    'Step-3',
    `<${bar}tool_calls_begin${bar}><${bar}tool_call_begin${bar}>function<${bar}tool_sep${bar}><steptml:invoke name="get_weather"><steptml:parameter name="city">Oslo</steptml:parameter><steptml:parameter name="days">2</steptml:parameter></steptml:invoke><${bar}tool_call_end${bar}><${bar}tool_call_begin${bar}>function<${bar}tool_sep${bar}><steptml:invoke name="ping"></steptml:invoke><${bar}tool_call_end${bar}><${bar}tool_calls_end${bar}>`,
    [oslo, ping],
    '',
  ],
  ['salvage', 'tags of the tool’s name', '<get_weather>\n<city>Oslo</city>\n<days>2</days>\n</get_weather>', [oslo], ''],
  [
    'salvage',
    'tags in a value',
    '<search><query><b>x</b> </query> &lt;q></query></search>',
    [{ name: 'search', arguments: { query: '<b>x</b> </query> <q>' } }],
    '',
  ],
  ['salvage', 'a tag that is a word', 'The <search> box, or <ping>.', [], 'The <search> box, or <ping>.'],
  ['salvage', 'tags that are no arguments', '<search><q>x</q></search>', [], '<search><q>x</q></search>'],
  [
    'salvage',
    'DeepSeek R1',
    `<${bar}tool▁calls▁begin${bar}>function<${bar}tool▁sep${bar}>get_weather\n\`\`\`json\n{"city": "Oslo", "days": 2}\n\`\`\`<${bar}tool▁call▁end${bar}><${bar}tool▁calls▁end${bar}>`,
    [oslo],
    '',
  ],
  [
    'salvage',
    'DeepSeek with blanks',
    `<${bar}tool calls begin${bar}><${bar}tool call begin${bar}>get_weather<${bar}tool sep${bar}>{"city": "Oslo", "days": 2}<${bar}tool call end${bar}><${bar}tool calls end${bar}>`,
    [oslo],
    '',
  ],
  [
    'salvage',
    'Kimi in the singular',
    '<|tool_call_section_begin|><|tool_call_begin|>functions.get_weather:0<|tool_call_argument_begin|>{"city": "Oslo", "days": 2}<|tool_call_end|><|tool_call_section_end|>',
    [oslo],
    '',
  ],
  ['pythonic', 'a list', '[get_weather(city="Oslo", days=2), ping()]', [oslo, ping], ''],
  ['pythonic', 'literals', "[search(query='milk', exact=True, tags=['a', 'b'])]", [milk], ''],
  ['pythonic', 'behind a colon', 'Checking: [ping()]', [ping], 'Checking: '],
  ['pythonic', 'a line', 'I will call it.\nget_weather(city="Oslo", days=2)\n', [oslo], 'I will call it.\n\n'],
  ['pythonic', 'LFM2', '<|tool_call_start|>[get_weather(city="Oslo", days=2)]<|tool_call_end|>Looking.', [oslo], 'Looking.'],
  ['pythonic', 'LFM2 with JSON', `<|tool_call_start|>[${json}]<|tool_call_end|>`, [oslo], ''],
  ['pythonic', 'Llama 4', '<|python_start|>[ping()]<|python_end|>', [ping], ''],
  ['pythonic', 'Olmo', '<function_calls>\nping()\nget_weather(city="Oslo", days=2)\n</function_calls>', [ping, oslo], ''],
  ['pythonic', 'tool_code', '```tool_code\nprint(get_weather(city="Oslo", days=2))\n```', [oslo], ''],
  [
    'pythonic',
    'strings of every kind',
    `[write_file(path=r'C:\\new', content="""a "b"\n''c""" 'd' "\\u00e9\\x41\\n")]`,
    [{ name: 'write_file', arguments: { path: 'C:\\new', content: 'a "b"\n\'\'cdéA\n' } }],
    '',
  ],
  ['pythonic', 'a list in a fence', '```python\n[ping()]\n```', [ping], ''],
  ['pythonic', 'an unknown name', 'x = [fly(to="Mars")]\n[fly(to="Mars")]', [], 'x = [fly(to="Mars")]\n[fly(to="Mars")]'],
  ['pythonic', 'a line that goes on', 'search(query="x") finds things.', [], 'search(query="x") finds things.'],
  ['pythonic', 'arguments by position', 'ping(1)\n[search("milk")]', [], 'ping(1)\n[search("milk")]'],
  ['pythonic', 'code in a fence', '```python\nping()\n```\n', [], '```python\nping()\n```\n'],
  ['pythonic', 'lists and links', '[a, b] [x](y) [1] get', [], '[a, b] [x](y) [1] get'],
  [
    'invoke',
    'wrapped',
    'On it.\n<function_calls>\n<invoke name="get_weather">\n<parameter name="city">Oslo</parameter>\n<parameter name="days">2</parameter>\n</invoke>\n<invoke name="ping">\n</invoke>\n</function_calls>',
    [oslo, ping],
    'On it.\n',
  ],
  ['invoke', 'alone', '<invoke name="ping"></invoke>', [ping], ''],
  ['invoke', 'MiniMax', '<minimax:tool_call>\n<invoke name="ping">\n</invoke>\n</minimax:tool_call>', [ping], ''],
  [
    'invoke',
    'DSML',
    `<${bar}DSML${bar}function_calls>\n<${bar}DSML${bar}invoke name="get_weather">\n<${bar}DSML${bar}parameter name="city" string="true">Oslo</${bar}DSML${bar}parameter>\n<${bar}DSML${bar}parameter name="days" string="false">2</${bar}DSML${bar}parameter>\n</${bar}DSML${bar}invoke>\n</${bar}DSML${bar}function_calls>`,
    [oslo],
    '',
  ],
  [
    'invoke',
    'text that looks like a number',
    '<invoke name="search"><parameter name="query">42</parameter></invoke>',
    [{ name: 'search', arguments: { query: '42' } }],
    '',
  ],
  [
    'invoke',
    'function and param',
    '<functions><function name="get_weather"><params><param name="city" value="Oslo"/><param name="days">2</param></params></function></functions>',
    [oslo],
    '',
  ],
  [
    'salvage',
    'harmony',
    '<|channel|>commentary to=functions.get_weather <|constrain|>json<|message|>{"city": "Oslo", "days": 2}<|call|>',
    [oslo],
    '',
  ],
  [
    'salvage',
    'harmony, recipient first',
    '<|start|>assistant to=functions.ping<|channel|>commentary json<|message|>{}<|call|>',
    [ping],
    '',
  ],
  ['salvage', 'harmony without its tokens', 'commentary to=functions.get_weather {"city": "Oslo", "days": 2}', [oslo], ''],
  ['salvage', 'harmony with stray words', 'to=functions.ping 天天 json\n{}', [ping], ''],
  [
    'salvage',
    'harmony that only thinks',
    '<|channel|>analysis<|message|>Use {braces}?<|end|>',
    [],
    '<|channel|>analysis<|message|>Use {braces}?<|end|>',
  ],
  [
    'salvage',
    'Gemma',
    '<|tool_call>call:search{query:<|"|>mi"}lk<|"|>,tags:[<|"|>a<|"|>],filter:{x:{y:1}}}<tool_call|>',
    [{ name: 'search', arguments: { query: 'mi"}lk', tags: ['a'], filter: { x: { y: 1 } } } }],
    '',
  ],
  ['salvage', 'FunctionGemma', '<start_function_call>call:get_weather{city:<escape>Oslo<escape>,days:2}<end_function_call>', [oslo], ''],
  [
    'salvage',
    'DeepSeek V3.1',
    `<${bar}tool▁calls▁begin${bar}><${bar}tool▁call▁begin${bar}>ping<${bar}tool▁sep${bar}>{}<${bar}tool▁call▁end${bar}><${bar}tool▁calls▁end${bar}>`,
    [ping],
    '',
  ],
  [
    'salvage',
    'DeepSeek V3',
    `<${bar}tool▁call▁begin${bar}>function<${bar}tool▁sep${bar}>get_weather\n\`\`\`json\n{"city": "Oslo", "days": 2}\n\`\`\`<${bar}tool▁call▁end${bar}>`,
    [oslo],
    '',
  ],
  [
    'salvage',
    'Kimi',
    '<|tool_calls_section_begin|><|tool_call_begin|>functions.ping:0<|tool_call_argument_begin|>{}<|tool_call_end|><|tool_calls_section_end|>',
    [ping],
    '',
  ],
  ['salvage', 'tags of other dialects', `<tool_call>${json}</tool_call>`, [oslo], ''],
  ['salvage', 'nothing unmarked', `${json}\n[ping()]`, [], `${json}\n[ping()]`],
  ['react', 'JSON', 'Thought: rain?\nAction: get_weather\nAction Input: {"city": "Oslo", "days": 2}\n', [oslo], 'Thought: rain?\n\n'],
  ['react', 'text', 'Action: search\nAction Input: milk\nObservation: made up', [{ name: 'search', arguments: { query: 'milk' } }], '\n'],
  [
    'react',
    'a fence',
    'Action: search\nAction Input: ```json\n{"query": "milk"}\n```',
    [{ name: 'search', arguments: { query: 'milk' } }],
    '',
  ],
  ['react', 'no input', 'Action: search\nResult: none', [], 'Action: search\nResult: none'],
  ['react', 'an unknown tool', 'Action: go home\nAction Input: now', [], 'Action: go home\nAction Input: now'],
  ['react', 'a final answer', 'Thought: done\nFinal Answer: 42', [], 'Thought: done\nFinal Answer: 42'],
]

it('the names that are known without loading a dialect match the dialects', () => {
  expect(dialectNames).toEqual(dialects.map(({ name }) => name))
})

describe('formats', () => {
  it.each(cases)('Q32 %s: %s', (dialect, _, text, calls, outside) => {
    expect(read(text, { dialect })).toMatchObject({ calls, text: outside, rejected: [] })
    for (const pieces of cuts(text)) expect(read(pieces, { dialect })).toMatchObject({ calls, text: outside, rejected: [] })
  })

  it.each(dialectNames.filter((name) => name !== 'json'))('a call of %s in a fence or in backticks is text', (name) => {
    const written = findDialect(name).renderCalls([oslo])
    const fenced = `\`\`\`\n${written}\n\`\`\`\n`
    expect(read(fenced, { dialect: name })).toMatchObject({ calls: name === 'pythonic' ? [oslo] : [], rejected: [] })
    if (!written.includes('\n')) expect(read(`Write \`${written}\`.`, { dialect: name }).calls).toEqual([])
  })

  it('text before a call is passed on before the call is complete', () => {
    const parser = createTextToolParser({ dialect: 'hermes' })
    expect(summarize(parser.push('One moment. <tool_call>{"name": "pi')).text).toBe('One moment. ')
    expect(summarize(parser.push('ng", "arguments": {}}</tool_call>')).calls).toEqual([ping])
  })

  it('a custom dialect is data', () => {
    const mine: Dialect = {
      ...findDialect('hermes'),
      name: 'mine',
      envelopes: [{ open: ['«call»'], close: ['«end»'], read: jsonBody({ close: ['«end»'], open: ['«call»'] }) }],
    }
    const text = `Now «call»${json}«end»!`
    for (const pieces of cuts(text)) expect(read(pieces, { dialect: mine })).toMatchObject({ calls: [oslo], text: 'Now !' })
  })

  it('an unknown dialect is refused, and the error lists the known ones', () => {
    expect(() => createTextToolParser({ dialect: 'klingon' })).toThrow(/`dialect`.*tool-action, hermes, json/)
  })

  it('parseToolCalls reads a complete text', () => {
    expect(parseToolCalls('a <tool_action name="f"></tool_action> b')).toEqual([
      { type: 'text', text: 'a ' },
      { type: 'call', name: 'f', arguments: {} },
      { type: 'text', text: ' b' },
    ])
  })
})

describe('tool tags that are only mentioned', () => {
  const options = { dialect: 'salvage' } as const

  it('are text, and so is the rest of the answer, after at most a few thousand characters', () => {
    const parser = createTextToolParser({ tools, ...options })
    const text = `Write <get_weather><city> and then the name. ${'More words. '.repeat(500)}`
    const streamed = [...text].flatMap((character) => parser.push(character))
    expect(summarize(streamed).text.length).toBeGreaterThan(4000)
    const all = summarize([...streamed, ...parser.end()])
    expect(all).toMatchObject({ text, calls: [], rejected: [] })
  })

  it('are text at the end of the answer', () => {
    const text = 'Write <get_weather><city> and then the name.'
    for (const pieces of cuts(text)) expect(read(pieces, options)).toMatchObject({ text, calls: [], rejected: [] })
  })

  it('hide no call that follows', () => {
    const text = 'Not <get_weather><city> but: <get_weather><city>Oslo</city></get_weather>'
    for (const pieces of cuts(text)) expect(read(pieces, options).calls).toEqual([{ name: 'get_weather', arguments: { city: 'Oslo' } }])
    expect(
      read(`Not <get_weather><city>.\n<tool_call>${JSON.stringify({ name: 'ping', arguments: {} })}</tool_call>`, options).calls,
    ).toHaveLength(1)
  })

  it('are text in any number, in linear time', () => {
    const text = `Write ${'<get_weather><city><search><query> '.repeat(5000)}`
    expect(read(text, options)).toMatchObject({ text, calls: [], rejected: [] })
  })

  it('are an unfinished call at the start of a line, unless longer than any call', () => {
    expect(read('<get_weather>\n<city>Oslo', options).rejected).toHaveLength(1)
    expect(read(`<get_weather>\n<city>${'Oslo '.repeat(60_000)}`, options)).toMatchObject({ calls: [], rejected: [] })
  })
})
