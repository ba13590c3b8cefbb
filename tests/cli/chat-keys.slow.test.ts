import { stripVTControlCharacters } from 'node:util'
import { describe, expect, it } from 'vitest'
import { startChatProvider, startTerminalChat } from './chat-provider.ts'
import { hasTerminal, startOnTerminal } from './pseudo-terminal.ts'
import { tempFolder } from './temp-folder.ts'

describe.skipIf(!hasTerminal)('Esc', () => {
  it('ends an answer, and leaves what is being typed', async () => {
    const { mock, sent, chat } = await startTerminalChat([{ text: 'Thinking about', hang: true }, 'Here I am.'])
    chat.type('One\r')
    await chat.shows('Thinking about')
    chat.type('tw')
    await chat.displays('> tw')
    chat.type('\x1b')
    await chat.displays('aborted\n> tw')
    await mock.waitForEnd(1)
    chat.type('o\r')
    await chat.shows('Here I am.')
    expect(sent(1)).toEqual(['One', 'Thinking about', 'two'])
    expect(await chat.leaves()).toBe(0)
  })

  it.each([
    ['is kept', {}],
    ['is not kept', { TOOLLOOP_HISTORY: '' }],
  ])('pressed twice, edits the last prompt in place of the old one in a chat that %s', async (_what, env: Record<string, string>) => {
    const { sent, chat } = await startTerminalChat(['Rome.', 'Twelve.', 'Thirteen.', 'Paris.'], {
      files: { 'a.md': 'Text of a file.' },
      env,
    })
    chat.type('Where to?\r')
    await chat.shows('tokens in')
    chat.type('Count @a.md\r')
    await chat.shows('tokens in', 2)
    chat.type('\x1b')
    await chat.displays('(Esc again edits your last prompt)')
    chat.type('\x1b')
    await chat.displays('Ctrl-C leaves both)\n> Count @a.md')
    chat.type(' again\r')
    await chat.shows('Thirteen.')
    const file = '\n\n<file path="a.md">\nText of a file.\n</file>'
    expect(sent(2)).toEqual(['Where to?', 'Rome.', `Count @a.md again${file}`])
    await chat.shows('tokens in', 3)
    // Quickly, and then left alone.
    chat.type('\x1b\x1b')
    await chat.displays('Ctrl-C leaves both)\n> Count @a.md again')
    chat.type('\x03')
    await chat.displays('Ctrl-C leaves both)\n>')
    chat.type('And then?\r')
    await chat.shows('Paris.')
    expect(sent(3)).toEqual(['Where to?', 'Rome.', `Count @a.md again${file}`, 'Thirteen.', 'And then?'])
    expect(await chat.leaves()).toBe(0)
  })
})

describe.skipIf(!hasTerminal)('a line with !', () => {
  it('runs a command in the folder of the tools; the model sees its output with the next prompt', async () => {
    const { sent, chat } = await startTerminalChat(['I see.', 'And?'], {
      args: ['-w', 'work'],
      files: { 'work/one.txt': '', 'work/two.txt': '' },
    })
    chat.type('!ls; printf no-end; exit 3\r')
    await chat.displays('one.txt\ntwo.txt\nno-end\nexit 3\nthe model sees this with your next prompt')
    chat.type('!echo sk-abcdefghijklmnopqrstuvwxyz0123456789 >&2\r')
    await chat.shows('with your next prompt', 2)
    chat.type('What is there?\r')
    await chat.shows('I see.')
    const [prompt = ''] = sent(0)
    expect(prompt).toContain(
      'What is there?\n\n<command line="ls; printf no-end; exit 3" ending="exit 3">\none.txt\ntwo.txt\nno-end\n</command>',
    )
    expect(prompt).not.toContain('abcdefghijklmnop')
    await chat.shows('tokens in')
    chat.type('Thanks.\r')
    await chat.shows('And?')
    expect(sent(1).at(-1)).toBe('Thanks.')
    expect(await chat.leaves()).toBe(0)
  })

  it('is ended by Ctrl-C with what it has started, and does not wait for what it leaves running', async () => {
    const { chat } = await startTerminalChat([])
    chat.type('!(sleep 5; echo late) & echo started\r')
    await chat.shows('with your next prompt')
    chat.type('!echo begun; sleep 600; echo never\r')
    await chat.displays('begun\n')
    chat.type('\x03')
    await chat.displays('ended by SIGTERM')
    expect(await chat.leaves()).toBe(0)
    expect(chat.screen()).not.toContain('\nnever')
  })
})

describe.skipIf(!hasTerminal)('a call on a terminal', () => {
  const tools = `
    const of = (name, result) => ({ name, description: '', parameters: {}, effect: 'read', execute: () => result })
    export const look = of('look', Array.from({ length: 9 }, (_, at) => 'line ' + at).join('\\n'))
    export const find = of('find', { total: 2, files: [{ name: 'a' }, { name: 'b' }], next: { page: 2 } })
    export const fail = { ...of('fail'), execute: () => { throw new Error('no such file') } }
    export const edit = of('edit', 'changed')
  `
  const script = [
    { toolCalls: [{ name: 'look', arguments: { path: 'a.ts' } }] },
    { toolCalls: [{ name: 'find', arguments: {} }] },
    { toolCalls: [{ name: 'fail', arguments: {} }] },
    { toolCalls: [{ name: 'edit', arguments: { path: 'a.ts', old_string: 'one\ntwo', new_string: 'one\nthree' } }] },
    'Done.',
  ]

  it('has one line with its time, and the start of its result: two lines, folded JSON, what an edit changes', async () => {
    const { chat } = await startTerminalChat(script, { args: ['-t', 't.mjs'], files: { 't.mjs': tools }, env: { NO_COLOR: '' } })
    chat.type('Go.\r')
    await chat.shows('tokens in')
    const shown = stripVTControlCharacters(chat.screen()).replaceAll(/[\d.]+ m?s · (\d+ B)?/g, 'N · ')
    expect(shown).not.toContain('→')
    for (const lines of [
      '✓ look {"path":"a.ts"} N ·  [1]\r\n  line 0\r\n  line 1 … 7 more lines: Ctrl-O\r\n',
      '✓ find {} N ·  [2]\r\n  {"total":2,"files":[… 2],"next":{… 1}} … 13 more lines: Ctrl-O\r\n',
      '✗ fail {} N · no such file [3]\r\n',
      ' [4]\r\n  - two\r\n  + three\r\n',
    ])
      expect(shown).toContain(lines)
    expect(chat.screen()).toContain('\x1b[31m- two\x1b[39m')
    expect(chat.screen()).toContain('\x1b[32m+ three\x1b[39m')
    chat.type('/show 2\r')
    await chat.displays('result: 14 lines\n{\n  "total": 2,\n  "files": [\n')
    chat.type('/show 1\r')
    await chat.displays('line 7\nline 8\n')
    expect(await chat.leaves()).toBe(0)
  })

  it('has the same line in a single run', async () => {
    const { model } = await startChatProvider({ script: [script[0] ?? '', 'Done.'] })
    const run = startOnTerminal(['run', ...model, '-t', 't.mjs', 'Go.'], { cwd: await tempFolder({ 't.mjs': tools }) })
    await run.displays('\n  line 0\n  line 1 … 7 more lines\nDone.')
    expect(await run.ended).toBe(0)
  })
})
