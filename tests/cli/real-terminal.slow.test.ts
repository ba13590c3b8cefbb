import { execFileSync } from 'node:child_process'
import { readFileSync, readlinkSync } from 'node:fs'
import { stripVTControlCharacters } from 'node:util'
import { describe, expect, it, onTestFinished } from 'vitest'
import type { MockProviderOptions } from '../../src/testing/index.ts'
import { startStrictProvider } from '../models/rules/strict-provider.ts'
import { hasTerminal, startOnTerminal } from './pseudo-terminal.ts'
import { shownOn } from './shown-on.ts'
import { tempFolder } from './temp-folder.ts'

const choices = '[y]es [N]o [e]dit [a]lways ne[v]er [w]hy not'

const pasted = (text: string) => `\x1b[200~${text}\x1b[201~`

const askingTool = `import { ask } from 'toolloop'
export const book = { name: 'book', description: '', parameters: {}, execute: (_args, { answer }) => answer === undefined
  ? ask({ about: { message: 'For whom?' }, schema: { type: 'object', required: ['name', 'seats'], properties: {
      name: { type: 'string', title: 'Name' }, seats: { type: 'integer' }, window: { type: 'boolean', default: true } } } })
  : JSON.stringify(answer) }`

async function provider(options: MockProviderOptions) {
  const mock = await startStrictProvider(options)
  onTestFinished(() => mock.close())
  const prompts = () => mock.requests.map(({ body }) => (body.messages as { content: string }[]).at(-1)?.content)
  return { mock, prompts, model: ['--no-builtin-tools', '-m', 'custom/mock-model', '--base-url', mock.baseURL] }
}

describe.skipIf(!hasTerminal)('a real terminal', () => {
  it('makes a paste of five lines one request, which only Enter sends', async () => {
    const { prompts, model } = await provider({ script: ['Read it.', 'And that.'] })
    const chat = startOnTerminal(['chat', ...model], { cwd: await tempFolder() })
    await chat.shows('\x1b[?2004h')
    await chat.shows('> ')
    chat.type(pasted('Explain:\r\n\tfirst\rsecond\n\nfifth\r'))
    await chat.displays('> Explain:\n      first\n  second\n\n  fifth')
    expect(prompts()).toEqual([])
    chat.type(' Now.\r')
    await chat.shows('Read it.')
    expect(await chat.leaves()).toBe(0)
    expect(prompts()).toEqual(['Explain:\n\tfirst\nsecond\n\nfifth Now.'])
    expect(chat.screen().lastIndexOf('\x1b[?2004l')).toBeGreaterThan(chat.screen().lastIndexOf('\x1b[?2004h'))
  })

  it('never sends keys pressed during an answer: they become the next line, to be edited', async () => {
    const held = Promise.withResolvers<void>()
    const { prompts, mock, model } = await provider({ script: [{ before: held.promise, text: 'First answer.' }, 'Second answer.'] })
    const chat = startOnTerminal(['chat', ...model], { cwd: await tempFolder() })
    await chat.shows('> ')
    // In one piece, of which a terminal without marked pastes would send the first lines.
    chat.type(`one\rtwo\rthrr\x7fee\r${pasted('four\nfive\n')}`)
    await mock.waitForRequest()
    await chat.displays('> two\n  three\n  four\n  five')
    held.resolve()
    await chat.displays('tokens in, 4 out\n> two\n  three\n  four\n  five')
    expect(prompts()).toEqual(['one'])
    chat.type('!\r')
    await chat.shows('Second answer.')
    expect(await chat.leaves()).toBe(0)
    expect(prompts()).toEqual(['one', 'two\nthree\nfour\nfive!'])
  })

  it('shows text typed during an answer below it, and only Enter makes it the next prompt', async () => {
    const held = Promise.withResolvers<void>()
    const { prompts, mock, model } = await provider({
      script: [{ text: 'First words', hang: true }, { before: held.promise, text: 'Second answer.' }, 'Third answer.'],
    })
    const chat = startOnTerminal(['chat', ...model], { cwd: await tempFolder(), columns: 40 })
    await chat.shows('> ')
    chat.type('one\r')
    await chat.displays('> one\nFirst words')
    chat.type('no, this: ')
    await chat.displays('> one\nFirst words\n> no, this:')
    // Interrupted to say something else.
    chat.type('\x03')
    await chat.displays('aborted\n> no, this:')
    chat.type('two\r')
    await mock.waitForRequest(2)
    chat.type('three')
    await chat.displays('> no, this: two\n> three')
    chat.resize(40, 30)
    chat.type('\r')
    await chat.displays('> no, this: two\nnext: three')
    chat.type('four')
    await chat.displays('next: three\n> four')
    held.resolve()
    await chat.displays('Second answer.')
    await chat.displays('> three\nThird answer.')
    await chat.displays('out\n> four')
    chat.type('\x15')
    expect(await chat.leaves()).toBe(0)
    expect(prompts()).toEqual(['one', 'no, this: two', 'three'])
  })

  it('gives back text entered during an answer if the answer is interrupted', async () => {
    const { prompts, mock, model } = await provider({ script: [{ text: 'Thinking', hang: true }] })
    const chat = startOnTerminal(['chat', ...model], { cwd: await tempFolder() })
    await chat.shows('> ')
    chat.type('one\r')
    await mock.waitForRequest()
    for (const [keys, shown] of [
      ['two', '> two'],
      ['\r', 'next: two'],
      ['three', '> three'],
      ['\x03', 'aborted\n> two\n  three'],
    ] as const) {
      chat.type(keys)
      await chat.displays(shown)
    }
    chat.type('\x15\x7f\x15')
    expect(await chat.leaves()).toBe(0)
    expect(prompts()).toEqual(['one'])
  })

  it('ends the chat after the current answer on Ctrl-D', async () => {
    const held = Promise.withResolvers<void>()
    const { mock, model } = await provider({ script: [{ before: held.promise, text: 'The answer.' }] })
    const chat = startOnTerminal(['chat', ...model], { cwd: await tempFolder() })
    await chat.shows('> ')
    chat.type('one\r')
    await mock.waitForRequest()
    chat.type('\x04')
    await chat.shows('the chat ends after this answer')
    held.resolve()
    expect(await chat.ended).toBe(0)
    expect(chat.screen()).toContain('The answer.')
  })

  it.each([20, 40, 80, 200])('wraps notes, answers and questions between words on %i columns', async (columns) => {
    const text = 'Words of an answer that is longer than any of these screens, '.repeat(5).trim()
    const { model } = await provider({ script: [{ text, toolCalls: [{ name: 'wipe', arguments: { disk: 1 } }] }, 'Refused.'] })
    const tools = "export const t = { name: 'wipe', description: '', parameters: {}, approval: true, execute: () => 'wiped it' }"
    const chat = startOnTerminal(['chat', ...model, '-t', 't.mjs'], { cwd: await tempFolder({ 't.mjs': tools }), columns })
    await chat.shows('> ')
    chat.type('/help\r')
    await chat.shows('> ', 2)
    chat.type('wipe\r')
    await chat.displays('[w]hy not')
    const asking = shownOn(chat.screen(), { rows: 40, columns })
    chat.type('n')
    await chat.displays('Refused.')
    expect(await chat.leaves()).toBe(0)
    const lines = [...asking, ...shownOn(chat.screen(), { rows: 40, columns })]
    expect(lines.filter((line) => line.length >= columns)).toEqual([])
    const words = new Set(lines.flatMap((line) => line.split(/[\s,.;:()]+/)))
    for (const word of ['attaches', 'backslash', 'forget', 'conversation', 'searches', 'longer', 'screens', '[e]dit'])
      expect([...words].join(' ')).toContain(word)
  })

  it('stops an answer on Ctrl-C, even during a paste without an end; Ctrl-D ends the chat; the terminal is restored', async () => {
    const { mock, model } = await provider({ script: [{ text: 'Thinking about', hang: true }] })
    const chat = startOnTerminal(['chat', ...model], { cwd: await tempFolder() })
    await chat.shows('> ')
    chat.type('one\r\x1b[200~never ends')
    await chat.shows('Thinking about')
    chat.type('\x03')
    await chat.shows('aborted')
    await mock.waitForEnd(1)
    await chat.shows('> ', 2)
    expect(await chat.leaves()).toBe(0)
    expect(chat.screen().lastIndexOf('\x1b[?2004l')).toBeGreaterThan(chat.screen().lastIndexOf('\x1b[?2004h'))
  })

  it.skipIf(process.platform !== 'linux').each(['SIGTSTP', 'SIGSTOP'] as const)(
    'reads keys as before after it was stopped by %s and continued',
    async (signal) => {
      const { prompts, model } = await provider({ script: ['Read it.'] })
      const chat = startOnTerminal(['chat', ...model], { cwd: await tempFolder() })
      await chat.shows('> ')
      chat.type('on')
      await chat.displays('> on')
      const pid = chat.pid()
      const terminal = readlinkSync(`/proc/${pid}/fd/0`)
      const modes = () => execFileSync('stty', ['-a', '-F', terminal], { encoding: 'utf8' })
      process.kill(pid, signal)
      await expect.poll(() => readFileSync(`/proc/${pid}/stat`, 'utf8')).toMatch(/\) T /)
      if (signal === 'SIGTSTP') expect(modes()).not.toContain('-icanon')
      // Like a shell that has the terminal now.
      execFileSync('stty', ['sane', '-F', terminal])
      process.kill(pid, 'SIGCONT')
      await expect.poll(modes).toContain('-icanon')
      chat.type('e\r')
      await chat.shows('Read it.')
      expect(await chat.leaves()).toBe(0)
      expect(prompts()).toEqual(['one'])
    },
  )

  it('sends Ctrl-C to the program that edits a call, not to the chat', async () => {
    const { model } = await provider({ script: [{ toolCalls: [{ name: 'wipe', arguments: { disk: 1 } }] }, 'Refused.'] })
    const tools = "export const t = { name: 'wipe', description: '', parameters: {}, approval: true, execute: () => 'wiped it' }"
    const cwd = await tempFolder({ 't.mjs': tools })
    // A single program: some shells lose a signal that arrives while they start the next one.
    const chat = startOnTerminal(['chat', ...model, '-t', 't.mjs'], { cwd, env: { EDITOR: 'tail -f' } })
    await chat.shows('> ')
    chat.type('wipe it\r')
    await chat.shows(choices)
    chat.type('e')
    await chat.displays('{\n  "disk": 1\n}')
    chat.type('\x03')
    await chat.displays(`tail -f ended with SIGINT\nrun wipe {"disk":1}? ${choices}`)
    chat.type('n')
    await chat.shows('Refused.')
    expect(await chat.leaves()).toBe(0)
  })

  it.each([
    ['a chat', ['chat']],
    ['a single run', ['Wipe it.']],
  ])('returns to the question on Ctrl-C in the arguments, in %s', async (_where, args) => {
    const { mock, model } = await provider({ script: [{ toolCalls: [{ name: 'wipe', arguments: { disk: 1 } }] }, 'Refused.'] })
    const tools = "export const t = { name: 'wipe', description: '', parameters: {}, approval: true, execute: () => 'wiped it' }"
    const env = { EDITOR: '', VISUAL: '' }
    const terminal = startOnTerminal([...args, ...model, '-t', 't.mjs'], { cwd: await tempFolder({ 't.mjs': tools }), env })
    const isChat = args[0] === 'chat'
    if (isChat) {
      await terminal.shows('> ')
      terminal.type('wipe it\r')
    }
    await terminal.shows(choices)
    terminal.type('e')
    await terminal.displays('"disk": 1')
    terminal.type('\x03')
    await terminal.shows(choices, 2)
    terminal.type('w')
    await terminal.shows('why not? ')
    terminal.type('wrong disk\r')
    await terminal.shows('Refused.')
    expect(await (isChat ? terminal.leaves() : terminal.ended)).toBe(0)
    expect(JSON.stringify(mock.requests[1]?.body.messages)).toContain('wrong disk')
  })

  it('approves nothing by a yes pressed before the question', async () => {
    const held = Promise.withResolvers<void>()
    const wipe = { toolCalls: [{ name: 'wipe', arguments: { disk: 1 } }] }
    const { mock, model } = await provider({ script: [{ before: held.promise, ...wipe }, 'Refused.'] })
    const tools = "export const t = { name: 'wipe', description: '', parameters: {}, approval: true, execute: () => 'wiped it' }"
    const terminal = startOnTerminal([...model, '-t', 't.mjs', 'Wipe it.'], { cwd: await tempFolder({ 't.mjs': tools }) })
    await mock.waitForRequest()
    terminal.type('y\ry\r')
    await terminal.shows('y\r\ny\r\n')
    held.resolve()
    await terminal.shows(`run wipe {"disk":1}? ${choices}`)
    terminal.type('w')
    await terminal.shows('why not? ')
    terminal.type('wrong disk\r')
    await terminal.shows('Refused.')
    expect(await terminal.ended).toBe(0)
    expect(JSON.stringify(mock.requests[1]?.body.messages)).toContain('wrong disk')
  })

  it('shows a call that does not fit the screen page by page, and runs it as shown', async () => {
    const script = `${'x'.repeat(3_000)}\u202e${' '.repeat(4_000)}; rm -rf ~`
    const { mock, model } = await provider({ script: [{ toolCalls: [{ name: 'sh', arguments: { token: 'hunter2', script } }] }, 'Done.'] })
    const tools =
      "export const t = { name: 'sh', description: '', parameters: {}, approval: true, execute: (args) => JSON.stringify(args) }"
    const terminal = startOnTerminal([...model, '-t', 't.mjs', 'Do it.'], {
      cwd: await tempFolder({ 't.mjs': tools }),
      rows: 24,
      columns: 80,
    })
    await terminal.shows('more lines of arguments: [M]ore [n]o [w]hy not ')
    expect(terminal.screen()).not.toContain('rm -rf')
    for (let pages = 1; pages < 5; pages++) {
      terminal.type('\r')
      await terminal.shows(/more lines? of arguments: \[|run sh\? \[y/g, pages + 1)
    }
    await terminal.shows(`run sh? ${choices}`)
    expect(terminal.screen()).toContain('"token": "hunter2"')
    expect(terminal.screen()).toContain('x‹U+202E›')
    expect(terminal.screen().replaceAll('\r\n', '')).toContain('; rm -rf ~"')
    terminal.type('y')
    await terminal.shows('Done.')
    expect(await terminal.ended).toBe(0)
    const [result] = ((mock.requests[1]?.body.messages ?? []) as { content: string }[]).slice(-1)
    expect(JSON.parse(result?.content ?? '')).toEqual({ token: 'hunter2', script })
  })

  it.each([
    ['Ctrl-D', '\x04', 0, 'Not then.'],
    ['Ctrl-C', '\x03', 130, 'aborted'],
  ])('approves nothing if %s ends a question', async (_key, key, code, said) => {
    const { model } = await provider({ script: [{ toolCalls: [{ name: 'wipe', arguments: {} }] }, 'Not then.'] })
    const tools =
      "export const t = { name: 'wipe', description: '', parameters: {}, approval: true, execute: () => console.log('wiped it') }"
    const terminal = startOnTerminal([...model, '-t', 't.mjs', 'Wipe.'], { cwd: await tempFolder({ 't.mjs': tools }) })
    await terminal.shows(`run wipe {}? ${choices}`)
    terminal.type(key)
    await terminal.shows(said)
    expect(await terminal.ended).toBe(code)
    expect(terminal.screen()).not.toContain('wiped it')
  })

  it('asks a tool’s question like an approval, field by field, and the run continues', async () => {
    const { mock, model } = await provider({ script: [{ toolCalls: [{ name: 'book', arguments: {} }] }, 'Booked.'] })
    const cwd = await tempFolder({ 't.mjs': askingTool })
    const chat = startOnTerminal(['chat', ...model, '-t', 't.mjs', '--session', 'trip'], { cwd })
    await chat.shows('> ')
    chat.type('Book.\r')
    await chat.asks('Name, /no refuses:')
    chat.type('Ann\r')
    await chat.asks('seats, /no refuses:')
    chat.type('two\r')
    await chat.shows('expected an integer')
    chat.type('2\r')
    await chat.asks('window (true, false; default true), /no refuses:')
    chat.type('\r')
    await chat.shows('Booked.')
    expect(await chat.leaves()).toBe(0)
    expect(JSON.stringify(mock.requests[1]?.body.messages)).toContain(
      JSON.stringify(JSON.stringify({ name: 'Ann', seats: 2 })).slice(1, -1),
    )
  })

  it('ends the run on Ctrl-C at a question, and the next prompt continues the conversation', async () => {
    const { mock, model } = await provider({ script: [{ toolCalls: [{ name: 'book', arguments: {} }] }, 'As you like.'] })
    const cwd = await tempFolder({ 't.mjs': askingTool })
    const chat = startOnTerminal(['chat', ...model, '-t', 't.mjs', '--session', 'trip'], { cwd })
    await chat.shows('> ')
    chat.type('Book.\r')
    await chat.asks('Name, /no refuses:')
    chat.type('\x03')
    await chat.shows('aborted')
    await chat.shows('> ', 2)
    chat.type('Never mind.\r')
    await chat.shows('As you like.')
    expect(await chat.leaves()).toBe(0)
    const sent = (mock.requests.at(-1)?.body.messages ?? []) as { role: string; content: string }[]
    expect(sent.map(({ role }) => role)).toEqual(['user', 'assistant', 'tool', 'user'])
    expect(sent.at(-1)?.content).toBe('Never mind.')
  })

  it('shows a replaced text, and a file that would be replaced, as diffs before it asks', async () => {
    const edit = { name: 'edit', arguments: { path: 'a.txt', old_string: 'one\ntwo', new_string: 'one\nTWO' } }
    const write = { name: 'write', arguments: { content: 'milk\neggs\n' } }
    const { model } = await provider({ script: [{ toolCalls: [edit] }, { toolCalls: [write] }, 'Done.'] })
    const tools = `import { readFile } from 'node:fs/promises'
export const edit = { name: 'edit', description: '', parameters: {}, approval: true, execute: () => 'edited' }
export const write = { name: 'write', description: '', parameters: {}, execute: () => 'written',
  approval: async ({ content }) => ({ about: { before: await readFile('list.txt', 'utf8'), after: content } }) }`
    const terminal = startOnTerminal([...model, '-t', 't.mjs', 'Edit.'], {
      cwd: await tempFolder({ 't.mjs': tools, 'list.txt': 'milk\nbread\n' }),
    })
    await terminal.shows(`run edit? ${choices}`)
    await terminal.displays('{\n  "path": "a.txt"\n}\n  one\n- two\n+ TWO')
    terminal.type('y')
    await terminal.shows(`"}? ${choices}`)
    await terminal.displays('  milk\n- bread\n+ eggs')
    terminal.type('n')
    await terminal.shows('Done.')
    expect(await terminal.ended).toBe(0)
  })

  it('edits arguments in EDITOR before they run, and shows the change', async () => {
    const { mock, model } = await provider({ script: [{ toolCalls: [{ name: 'pay', arguments: { euros: 250 } }] }, 'Done.'] })
    const tools = `export const t = { name: 'pay', description: '', parameters: {}, approval: true, execute: ({ euros }) => 'paid ' + euros }`
    const terminal = startOnTerminal([...model, '-t', 't.mjs', 'Pay.'], {
      cwd: await tempFolder({ 't.mjs': tools }),
      env: { EDITOR: 'sed -i s/250/20/' },
    })
    await terminal.shows(`run pay {"euros":250}? ${choices}`)
    terminal.type('e')
    await terminal.shows(`run pay {"euros":20}? ${choices}`)
    await terminal.displays('-   "euros": 250\n+   "euros": 20')
    terminal.type('y')
    await terminal.shows('Done.')
    expect(await terminal.ended).toBe(0)
    expect(JSON.stringify(mock.requests[1]?.body.messages)).toContain('paid 20')
  })

  it('edits a prompt of several lines (Alt-Enter, Ctrl-J, or a backslash) as a whole, in a window of any size', async () => {
    const { prompts, model } = await provider({ script: ['Read it.'] })
    const chat = startOnTerminal(['chat', ...model], { cwd: await tempFolder(), rows: 10, columns: 60 })
    await chat.shows('> ')
    chat.type('one\x1b\rtwo\nthree\\\rfour')
    await chat.displays('> one\n  two\n  three\n  four')
    chat.type('\x1b[A\x1b[A\x1b[A!')
    await chat.displays('> one!\n  two\n  three\n  four')
    chat.resize(10, 30)
    chat.type(' and this is longer than the window')
    await chat.displays('> one! and this is longer tha\n  n the window\n  two')
    chat.type('\r')
    await chat.shows('Read it.')
    expect(await chat.leaves()).toBe(0)
    expect(prompts()).toEqual(['one! and this is longer than the window\ntwo\nthree\nfour'])
  })

  it('offers prompts of an earlier chat by Up and by search', async () => {
    const { prompts, model } = await provider({ script: ['One.', 'Two.', 'Three.', 'Four.'] })
    const cwd = await tempFolder()
    const say = async (keys: string[], answers: string[]) => {
      const chat = startOnTerminal(['chat', ...model], { cwd })
      for (const [at, key] of keys.entries()) {
        await chat.shows('> ', at + 1)
        chat.type(key)
        await chat.shows(answers[at] ?? '')
      }
      expect(await chat.leaves()).toBe(0)
    }
    await say(['first\x1b\rline\r', 'second\r'], ['One.', 'Two.'])
    await say(['\x1b[A\x1b[A\x1b[B\x1b[A again\r', '\x12lin\x12\r'], ['Three.', 'Four.'])
    expect(prompts()).toEqual(['first\nline', 'second', 'first\nline again', 'first\nline'])
  })

  it('completes a file with Tab and attaches it; gives the prompt back if it can’t be attached', async () => {
    const { prompts, model } = await provider({ script: ['Read it.'] })
    const chat = startOnTerminal(['chat', ...model], { cwd: await tempFolder({ 'notes/first.md': 'It is blue.', '.env': 'KEY=1' }) })
    await chat.shows('> ')
    chat.type('Colour? @no\tfi\t@.env\r')
    await chat.shows("@.env can't be attached")
    await chat.displays('> Colour? @notes/first.md @.env')
    chat.type('\x17\x7f\x7f\r')
    await chat.shows('attached notes/first.md')
    await chat.shows('Read it.')
    expect(await chat.leaves()).toBe(0)
    expect(prompts()).toEqual(['Colour? @notes/first.md \n\n<file path="notes/first.md">\nIt is blue.\n</file>'])
  })

  it('renders an answer’s Markdown in colors as it arrives; with --plain, NO_COLOR or a file it is written unchanged', async () => {
    const text = '# Plan\n\n- **one** `x`\n\n| a | b |\n|---|---|\n| 1 | 2 |\n'
    const { model } = await provider({ script: [text, text, text] })
    const cwd = await tempFolder()
    const shown = async (args: string[], env: Record<string, string>) => {
      const terminal = startOnTerminal(['run', ...model, ...args, 'Plan.'], { cwd, env })
      await terminal.shows('tokens in')
      expect(await terminal.ended).toBe(0)
      return terminal.screen().replaceAll('\r\n', '\n')
    }
    const rendered = await shown([], { NO_COLOR: '' })
    expect(stripVTControlCharacters(rendered)).toContain('Plan\n\n• one x\n\na │ b\n')
    expect(rendered).toContain('• \x1b[1mone\x1b[22m \x1b[36mx\x1b[39m\n')
    expect(rendered).toContain('──┼──')
    expect(rendered).not.toContain('**')
    expect(await shown(['--plain'], { NO_COLOR: '' })).toContain(text)
    expect(await shown([], {})).toContain(text)
  })

  it('shows the last call completely on Ctrl-O, above what is being typed', async () => {
    const tools = "export const t = { name: 'look', description: '', parameters: {}, execute: () => 'one\\ntwo' }"
    const { prompts, model } = await provider({ script: [{ toolCalls: [{ name: 'look', arguments: {} }] }, 'Seen.', 'Good.'] })
    const chat = startOnTerminal(['chat', ...model, '-t', 't.mjs'], { cwd: await tempFolder({ 't.mjs': tools }) })
    await chat.shows('> ')
    chat.type('Look.\r')
    await chat.shows('Seen.')
    await chat.shows('> ', 2)
    chat.type('And\x0f now?')
    await chat.displays('result: 2 lines\none\ntwo\n> And now?')
    chat.type('\r')
    await chat.shows('Good.')
    expect(await chat.leaves()).toBe(0)
    expect(prompts().at(-1)).toBe('And now?')
  })

  it('opens the chat for a plain toolloop, which shows what works here', async () => {
    const terminal = startOnTerminal([], { cwd: await tempFolder({ 'a.ts': 'one\n' }), rows: 100 })
    await terminal.shows('/help lists the commands')
    await terminal.shows('> ')
    const shown = () => shownOn(terminal.screen(), { rows: 100, columns: 100 }).join('\n')
    expect(shown()).toMatch(/^demo model \(no key found\) — see toolloop doctor\nfolder: \/.*\ntools: list_files, .*calculate/)
    expect(shown().replaceAll('\n', ' ')).toContain('set the key of a provider, such as OPENAI_API_KEY, or start Ollama; toolloop doctor')
    const [, examples = ''] = /\ntry: (.*?)\na language model/s.exec(shown()) ?? []
    const prompts = examples.replaceAll(/\n\s*/g, ' ').split(' · ')
    expect(prompts).toHaveLength(3)
    for (const [at, prompt] of prompts.entries()) {
      terminal.type(`${prompt}\r`)
      await terminal.shows('tokens in', at + 1)
    }
    expect(terminal.screen()).not.toContain('I can’t answer')
    expect(terminal.screen()).not.toContain("I can't answer")
    expect(shown().split('\n✓ ').length).toBeGreaterThan(3)
    terminal.type('/quit\r')
    expect(await terminal.ended).toBe(0)
  })

  it('names commands as they are called in a clone', async () => {
    const env = { npm_lifecycle_event: 'start' }
    const chat = startOnTerminal([], { cwd: await tempFolder(), env })
    await chat.displays('demo model (no key found) — see npm start -- doctor\n')
    expect(await chat.leaves()).toBe(0)
    const help = startOnTerminal(['--help'], { cwd: await tempFolder(), env })
    expect(await help.ended).toBe(0)
    expect(help.screen()).toContain('npm start -- chat|serve|init|')
    expect(help.screen()).toContain('  npm start -- doctor\r\n')
    expect(help.screen()).not.toMatch(/(^|[\s`])toolloop (chat|serve|run|doctor|init|"|-)/)
  })
})
