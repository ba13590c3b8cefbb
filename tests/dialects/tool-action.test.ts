import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { createTextToolParser, dialectNames, findDialect, generateToolPrompt, parseToolCalls } from '../../src/dialects/index.ts'
import { BaseTool, convertToOpenAITool, defineTool, type ToolDefinition } from '../../src/tools/tool.ts'
import { cuts, read as readWith, summarize, tool } from './read.ts'

const read = (pieces: string | readonly string[]) => readWith(pieces, { dialect: 'tool-action', tools: [] })

describe('tool-action', () => {
  it('S1-1 S1-2 the default parser reads <tool_action> tags', () => {
    const parser = createTextToolParser()
    const { calls } = summarize([...parser.push('<tool_action name="list-files"></tool_action>'), ...parser.end()])
    expect(calls).toEqual([{ name: 'list-files', arguments: {} }])
  })

  it.each([
    ['CJK', '<tool_action name="查询"><城市 value="上海" /><天数 value="3" /></tool_action>', '查询', { 城市: '上海', 天数: '3' }],
    ['hyphens', '<tool_action name="log-in"><user-name value="ann" /></tool_action>', 'log-in', { 'user-name': 'ann' }],
    ['dots', '<tool_action name="db.get"><row.id value="9"/></tool_action>', 'db.get', { 'row.id': '9' }],
    ['Cyrillic', '<tool_action name="поиск"><запрос value="чай"/></tool_action>', 'поиск', { запрос: 'чай' }],
    ['digits and underscores', '<tool_action name="f_2"><_a1 value="x"/></tool_action>', 'f_2', { _a1: 'x' }],
  ])('S1-3 parameter names may be %s', (_, text, name, args) => {
    expect(read(text).calls).toEqual([{ name, arguments: args }])
  })

  it('S1-3 a parameter named like a field of every object is data', () => {
    const [call] = read('<tool_action name="f"><__proto__ value="1" /><hasOwnProperty value="2" /></tool_action>').calls
    expect(Object.entries(call?.arguments ?? {})).toEqual([
      ['__proto__', '1'],
      ['hasOwnProperty', '2'],
    ])
    expect(Object.getPrototypeOf(call?.arguments)).toBe(Object.prototype)
  })

  it.each([
    '<tool_action name="f"><q value="1" />',
    '<tool_action name="f"><q value="1" /></tool_action',
    '<tool_action name="f"><q value="1" /></tool_actions>',
    '<tool_action name="f"><q value="</tool_action>',
  ])('S1-4 S1-9 S1-11 a tag without its whole closing tag is text: %s', (text) => {
    expect(read(`Well, ${text}`)).toMatchObject({ calls: [], text: `Well, ${text}` })
  })

  it.each([
    '<tool_action name="vector-search"><query value="读取文件" /><limit value="5" /></tool_action>',
    '<tool_action\n  name="vector-search"\n>\n\t<query   value="读取文件"/>\r\n  <limit value = "5" />\n</tool_action >',
    "<tool_action name='vector-search'><query value='读取文件' /><limit value='5' /></tool_action>",
  ])('S1-5 reads values as strings and ignores blanks: %j', (text) => {
    expect(read(text)).toMatchObject({ calls: [{ name: 'vector-search', arguments: { query: '读取文件', limit: '5' } }], text: '' })
  })

  it('S1-5 a declared schema determines how a value is read', () => {
    const tools = [tool('vector-search', { query: 'string', limit: 'integer' })]
    const text = '<tool_action name="vector-search"><query value="7" /><limit value="5" /></tool_action>'
    expect(readWith(text, { dialect: 'tool-action', tools }).calls).toEqual([
      { name: 'vector-search', arguments: { query: '7', limit: 5 } },
    ])
  })

  it('S1-7 several tags are reported in order, with the text between them', () => {
    const text = 'First <tool_action name="one"><a value="1"/></tool_action> then <tool_action name="two"></tool_action> end.'
    const { calls, order, text: out } = read(text)
    expect(calls.map(({ name }) => name)).toEqual(['one', 'two'])
    expect(order).toEqual(['text', 'call:one', 'text', 'call:two', 'text'])
    expect(out).toBe('First  then  end.')
  })

  it('S1-8 a tag that can’t be read leaves its neighbors intact', () => {
    const text =
      '<tool_action name="one"></tool_action><tool_action name="two"><oops<</tool_action><tool_action name="three"></tool_action>'
    expect(read(text)).toMatchObject({
      calls: [{ name: 'one' }, { name: 'three' }],
      text: '<tool_action name="two"><oops<</tool_action>',
    })
  })

  it('S1-10 an unclosed tag waits, and becomes one call', () => {
    const parser = createTextToolParser({ dialect: 'tool-action' })
    expect(parser.push('Yes. <tool_action name="f"><q value="a b')).toEqual([{ type: 'text', text: 'Yes. ' }])
    expect(parser.push('c" />')).toEqual([])
    expect(parser.push('   \n')).toEqual([])
    expect(parser.push('</tool_action>')).toEqual([{ type: 'call', name: 'f', arguments: { q: 'a bc' } }])
    expect(parser.end()).toEqual([])
  })

  it('S1-12 the piece that completes a tag reports it', () => {
    const text = '<tool_action name="f"><q value="1" /></tool_action>'
    for (let at = 1; at < text.length; at++) {
      const parser = createTextToolParser({ dialect: 'tool-action' })
      expect(parser.push(text.slice(0, at))).toEqual([])
      expect(parser.push(text.slice(at))).toEqual([{ type: 'call', name: 'f', arguments: { q: '1' } }])
    }
  })

  it('S1-13 S1-14 text outside is passed on, a tag’s content never', () => {
    const text = 'a <b>bold</b> <tool_action name="f"><q value="secret" /></tool_action> 1 < 2 &amp; done'
    for (const pieces of cuts(text)) {
      const parser = createTextToolParser({ dialect: 'tool-action' })
      let out = ''
      for (const piece of pieces) for (const event of parser.push(piece)) if (event.type === 'text') out += event.text
      for (const event of parser.end()) if (event.type === 'text') out += event.text
      expect(out).toBe('a <b>bold</b>  1 < 2 &amp; done')
    }
  })

  it('S1-15a S1-15b S1-15c pieces that join to a doubled quote are read', () => {
    const parser = createTextToolParser({ dialect: 'tool-action' })
    expect(parser.push('思考: 我需要搜索...<tool_action name="')).toEqual([{ type: 'text', text: '思考: 我需要搜索...' }])
    expect(parser.push('vector-search"><query value="test"')).toEqual([])
    expect(parser.push('" /></tool_action>接下来...')).toEqual([
      { type: 'call', name: 'vector-search', arguments: { query: 'test' }, repairs: ['doubled quote'] },
      { type: 'text', text: '接下来...' },
    ])
  })

  it('S1-16 a piece without a tag is passed on at once; only a real prefix is held back', () => {
    const parser = createTextToolParser({ dialect: 'tool-action' })
    const text = (piece: string): string => summarize(parser.push(piece)).text
    expect(text('你好，')).toBe('你好，')
    expect(text('<p>x</p> a<')).toBe('<p>x</p> a')
    expect(text('b <tool')).toBe('<b ')
    expect(text('_')).toBe('')
    expect(text('kit> <<tool_actio')).toBe('<tool_kit> <')
    expect(text('ns>')).toBe('<tool_actio' + 'ns>')
  })

  it.each([
    ['entities', '<q value="&lt;a href=&quot;x&quot;&gt; &amp; &#20320;&#x597d;" />', { q: '<a href="x"> & 你好' }],
    ['ampersands that are none', '<q value="a&b &nope; &#xzz; x?y=1&copy=2" />', { q: 'a&b &nope; &#xzz; x?y=1&copy=2' }],
    ['angle brackets', '<q value="if (a < b && c > d) {}" />', { q: 'if (a < b && c > d) {}' }],
    ['line breaks', '<q value="one\n  two\n" />', { q: 'one\n  two\n' }],
    ['unescaped quotes', '<q value="say "hi" twice" /><r value="{"a": ["b"]}" />', { q: 'say "hi" twice', r: '{"a": ["b"]}' }],
    ['quotes at the end', '<q value="he said "go"" />', { q: 'he said "go"' }],
    ['a paired tag', '<q value="x"></q><r value="y"> </r>', { q: 'x', r: 'y' }],
    ['the value as content', '<q>a &lt; b</q>', { q: 'a < b' }],
    ['param tags', '<param name="my key" value="1" /><param value="2" />', { 'my key': '1', param: '2' }],
    ['an empty value', '<q value="" />', { q: '' }],
    ['no value', '<q />', { q: '' }],
    ['JSON', ' {"q": "x"} ', { q: 'x' }],
  ])('S1-5 reads %s', (_, body, args) => {
    const text = `<tool_action name="f">${body}</tool_action>`
    for (const pieces of cuts(text)) expect(read(pieces)).toMatchObject({ calls: [{ name: 'f', arguments: args }], text: '' })
  })

  it.each([
    '<tool_actions name="f"></tool_actions>',
    '<tool_action_list name="f"></tool_action_list>',
    '<tool_action>no name</tool_action>',
    '<tool_action name="   "></tool_action>',
    '</tool_action>',
    '<tool_action name="f" <q value="1" /></tool_action>',
  ])('S1-13 text that only resembles a tag stays text: %s', (text) => {
    for (const pieces of cuts(text)) expect(read(pieces)).toMatchObject({ calls: [], text })
  })

  it('S1-9 an abandoned tag is text, the next one a call', () => {
    const { calls, text } = read('<tool_action name="a"><q value="1" /> no: <tool_action name="b"><q value="2" /></tool_action>')
    expect(calls).toEqual([{ name: 'b', arguments: { q: '2' } }])
    expect(text).toBe('<tool_action name="a"><q value="1" /> no: ')
  })

  describe('quoted', () => {
    const tag = '<tool_action name="f"></tool_action>'
    it.each([
      ['in a fence', `\`\`\`xml\n${tag}\n\`\`\`\n`],
      ['in a longer fence', `\`\`\`\`\n\`\`\`\n${tag}\n\`\`\`\`\n`],
      ['in tildes', `~~~\n${tag}\n~~~\n`],
      ['in backticks', `Write \`${tag}\` to call it.`],
      ['while thinking', `<think>maybe ${tag}</think>`],
    ])('a tag %s is text', (_, text) => {
      for (const pieces of cuts(text)) expect(read(pieces)).toMatchObject({ calls: [], text })
    })

    it('is a call again after the fence', () => {
      expect(read(`\`\`\`\nx\n\`\`\`\n${tag}`).calls).toHaveLength(1)
      expect(read(`Three \`\`\` in a line open no fence.\n${tag}`).calls).toHaveLength(1)
      expect(read(`<think>hm</think>${tag}`).calls).toHaveLength(1)
    })

    it('is a call with fencedTags: run', () => {
      expect(readWith(`\`\`\`xml\n${tag}\n\`\`\``, { dialect: 'tool-action', fencedTags: 'run' }).calls).toHaveLength(1)
    })
  })
})

describe('generateToolPrompt', () => {
  it('S1-34 accepts tools as well as their definitions, and so does the parser', () => {
    class Greet extends BaseTool<{ name: string }> {
      readonly name = 'greet'
      readonly description = 'Greets somebody.'
      readonly parameters = z.object({ name: z.string() })
      override execute({ name }: { name: string }): string {
        return `Hello ${name}`
      }
    }
    const ping = defineTool({ name: 'ping', description: 'Pings.', execute: () => 'pong' })
    const tools = [new Greet(), ping]
    const definitions = tools.map(convertToOpenAITool)
    for (const dialect of dialectNames) {
      expect(generateToolPrompt(tools, dialect)).toBe(generateToolPrompt(definitions, dialect))
      expect(generateToolPrompt([new Greet(), convertToOpenAITool(ping)], dialect)).toBe(generateToolPrompt(definitions, dialect))
      const [call] = parseToolCalls(findDialect(dialect).renderCalls([{ name: 'greet', arguments: { name: '7' } }]), { dialect, tools })
      expect(call).toMatchObject({ type: 'call', name: 'greet', arguments: { name: '7' } })
    }
    const loose: ToolDefinition = { type: 'function', function: { name: 'greet', parameters: { ...definitions[0]?.function.parameters } } }
    const schema: object = z.object({ name: z.string() })
    const zod: ToolDefinition = { type: 'function', function: { name: 'greet', parameters: schema as Record<string, unknown> } }
    expect(generateToolPrompt([zod])).toBe(generateToolPrompt([loose]))
  })

  const definition = {
    type: 'function' as const,
    function: {
      name: 'vector-search',
      description: 'Searches documents.',
      parameters: {
        type: 'object',
        properties: { query: { type: 'string', description: 'What to look for.' }, limit: { type: 'integer', description: 'How many.' } },
        required: ['query'],
      },
    },
  }

  it('S1-34 S1-35 contains names, descriptions, and each parameter’s type and whether it is required', () => {
    const prompt = generateToolPrompt([definition, tool('ping')])
    expect(prompt).toContain('vector-search')
    expect(prompt).toContain('Searches documents.')
    expect(prompt).toMatch(/query \(string, required\).*What to look for\./)
    expect(prompt).toMatch(/limit \(integer, optional\).*How many\./)
    expect(prompt).toContain('ping')
  })

  it('S1-36 contains an example that the parser reads, and no code fence', () => {
    const prompt = generateToolPrompt([definition])
    expect(prompt).not.toContain('```')
    const { calls } = readWith(prompt, { dialect: 'tool-action', tools: [definition] })
    expect(calls.map(({ name }) => name)).toEqual(['vector-search'])
    expect(Object.keys(calls[0]?.arguments ?? {})).toEqual(['query'])
  })

  it('S1-37 says so if there are no tools', () => {
    const prompt = generateToolPrompt([])
    expect(prompt).toContain('No tool is available.')
    expect(prompt).not.toContain('<tool_action')
  })
})
