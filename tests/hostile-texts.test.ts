import { describe, expect, it } from 'vitest'
import { findQuoted } from '../src/agent/text-calls/quoted-calls.ts'
import { readRefusedCalls } from '../src/agent/text-calls/refused-calls.ts'
import { MarkdownWriter } from '../src/cli/terminal/markdown/markdown-writer.ts'
import type { ChatMessage } from '../src/core/messages.ts'
import { dialectNames, findDialect } from '../src/dialects/index.ts'
import { providerError } from '../src/models/errors/provider-error.ts'
import { excerptOf } from '../src/service/config/inline-secrets.ts'
import { interpolate } from '../src/service/config/interpolate.ts'
import { servePage } from '../src/service/routes/page.ts'
import { PrivateFiles } from '../src/tools/builtin/files/private-files.ts'
import { ToolNames } from '../src/tools/call/written-name.ts'
import { ToolRegistry } from '../src/tools/registry.ts'
import { ShownMessages } from '../src/ui/ag-ui/shown-messages.ts'
import { structured } from '../src/ui/structured.ts'
import { read, tools } from './dialects/read.ts'

/** The length for which a regular expression that tries every split would take minutes. */
const length = 300_000
const blanks = ' '.repeat(length)
const context = { provider: 'p', model: 'm', secrets: [] }
const refused = (text: string) => readRefusedCalls({ request: { messages: [], tools }, tools: new ToolRegistry() }, text)

const cases: Readonly<Record<string, () => unknown>> = {
  'a tool name with blanks in it': () => expect(new ToolNames(['a']).meantBy(`a${blanks}b`)).toBeUndefined(),
  'an action input with blanks in it': () => read(`Action: search\nAction Input: a${blanks}b`, { dialect: 'react' }),
  'a number that is none': () => read(`<tool_call>{"a": ${'1'.repeat(length)}x}</tool_call>`, { dialect: 'hermes' }),
  'an attribute that is full of tag ends': () => read(`<invoke name="${'>'.repeat(length)}`, { dialect: 'invoke' }),
  'a call that a provider refused': () => refused(`<function=search ${blanks}{}${blanks}x`).then((meant) => expect(meant).toBeUndefined()),
  'a result with a text that does not end': () => structured(`1234567890123456"${'\\"'.repeat(length)}`),
  'the code of a provider’s error': () =>
    providerError({ body: { error: { message: 'x', code: 'insufficient_'.repeat(length) } } }, context),
  'an error page of titles': () => providerError({ status: 502, body: '<title '.repeat(length) }, context),
  'a variable that does not end': () => expect(interpolate('${'.repeat(length), {}).value).toBe('${'.repeat(length)),
  'a line of the configuration': () => excerptOf('-'.repeat(length), 1, 1),
  'the name of a file': () => new PrivateFiles('/tmp').includes(`/tmp/a${blanks}b`),
}

describe('X7 linear time in the length of the text is needed for', () => {
  it.each(Object.entries(cases))('%s', async (_, takes) => void (await takes()))

  it.each(dialectNames)('%s for names with blanks in them', (dialect) => {
    for (const call of [`{"name": "a${blanks}b", "arguments": {}}`, `[a${blanks}b(c=1)]`, `<function=a${blanks}b>`])
      for (const opener of ['', '<tool_call>', '[TOOL_CALLS]']) read(`${opener}${call}`, { dialect })
  })

  it('many calls in a conversation with as many results', () => {
    const callOf = (query: string) => ({
      id: query,
      type: 'function' as const,
      function: { name: 'search', arguments: JSON.stringify({ query }) },
    })
    const markup = (query: string) => `<tool_call>{"name": "search", "arguments": {"query": "${query}"}}</tool_call>`
    const queries = Array.from({ length: 10_000 }, (_, at) => `q${at}`)
    const messages: ChatMessage[] = [
      { role: 'user', content: queries.slice(0, 300).map(markup).join('\n') },
      { role: 'assistant', content: '', toolCalls: queries.map((query) => callOf(`own ${query}`)) },
    ]
    const calls = queries.map((query) => ({ ...callOf(query), asText: true as const, written: markup(query) }))
    expect(findQuoted(calls, { messages, tools, dialect: findDialect('hermes') }).size).toBe(300)
  })

  it.each(['=', '1. ', '> ', '| a '])('an endless line of %j for the terminal, one character at a time', (unit) => {
    const writer = new MarkdownWriter({ style: (_, text) => text, columns: () => 80 })
    for (const character of unit.repeat(500_000 / unit.length)) writer.push(character)
    writer.end()
  })

  it('many calls in one message of an AG-UI stream', () => {
    const shown = new ShownMessages([])
    for (let at = 0; at < 150_000; at++) {
      shown.add({ type: 'TOOL_CALL_START', toolCallId: `c${at}`, toolCallName: 'search', parentMessageId: 'm' })
      shown.add({ type: 'TOOL_CALL_ARGS', toolCallId: `c${at}`, delta: '{}' })
    }
    expect(shown.discardStep()).toEqual([])
  })

  it('the address of a file of the admin page', async () => {
    const name = `0.${'0-0-'.repeat(500)}!`
    await expect(servePage(name, new Request(`http://localhost/admin/${name}`))).rejects.toMatchObject({ status: 404 })
  })
})
