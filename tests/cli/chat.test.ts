import { setImmediate } from 'node:timers/promises'
import { afterEach, describe, expect, it, onTestFinished } from 'vitest'
import { chat } from '../../src/cli/commands/chat.ts'
import { runCommand } from '../../src/cli/program.ts'
import type { MockProvider, MockProviderOptions } from '../../src/testing/index.ts'
import { startStrictProvider } from '../models/rules/strict-provider.ts'
import { type FakeIO, fakeIO } from './fake-io.ts'
import { shownOn } from './shown-on.ts'
import { runCli } from './start-cli.ts'
import { tempFolder } from './temp-folder.ts'

const ctrlC = '\x03'
const ctrlD = '\x04'
const choices = '[y]es [N]o [e]dit [a]lways ne[v]er [w]hy not '

async function provider(options: MockProviderOptions) {
  const mock = await startStrictProvider(options)
  onTestFinished(() => mock.close())
  return { mock, args: ['chat', '--no-builtin-tools', '-m', 'custom/mock-model', '--base-url', mock.baseURL] }
}

/** Runs a command in this process with this input. */
async function piped(args: string[], cwd: string, input = '') {
  const io = fakeIO({ cwd })
  io.stdin.end(input)
  return { code: await runCommand(args, io), stdout: io.out(), stderr: io.err() }
}

/** Resolves when stdout and stderr together contain `text` `times` times. */
async function shows(io: FakeIO, text: string, times = 1): Promise<void> {
  await expect.poll(() => `${io.out()}${io.err()}`.split(text).length - 1, { interval: 5 }).toBeGreaterThanOrEqual(times)
}

/** Resolves when the screen shows `text`, on one line or several. */
async function displays(io: FakeIO, text: string): Promise<void> {
  const shown = () => shownOn(io.err(), { rows: 24, columns: 80 }).join('\n')
  await expect.poll(shown, { interval: 5 }).toContain(text)
}

describe('toolloop chat with piped input', () => {
  it('answers one prompt per line, and remembers the conversation', async () => {
    const { mock, args } = await provider({ script: ['Hello Ann.', 'You are Ann.'] })
    const { code, stdout, stderr } = await runCli(args, { cwd: await tempFolder(), input: 'I am Ann.\n\nWho am I?' })
    expect({ code, stdout }).toEqual({ code: 0, stdout: 'Hello Ann.\nYou are Ann.\n' })
    expect(stderr).toBe('model: custom/mock-model (--model)\n')
    expect(mock.requests[1]?.body.messages).toEqual([
      { role: 'user', content: 'I am Ann.' },
      { role: 'assistant', content: 'Hello Ann.' },
      { role: 'user', content: 'Who am I?' },
    ])
  })

  it('continues after a failed run, and exits with its code', async () => {
    const { mock, args } = await provider({ script: ['Back again.'], faults: [{ status: 401 }] })
    const io = fakeIO({ cwd: await tempFolder() })
    io.stdin.end('One\nTwo\n')
    expect(await runCommand(args, io)).toBe(5)
    expect(io.err()).toMatch(/model error: .*\(unauthorized\)\n$/)
    expect(io.out()).toBe('Back again.\n')
    expect(mock.requests).toHaveLength(2)
  })
})

describe('a named conversation', () => {
  const messagesOf = (mock: MockProvider) =>
    mock.requests.map(({ body }) => (body.messages as { content: string }[]).map(({ content }) => content))

  it('is continued by --resume, the latest first; /sessions lists all', async () => {
    const { mock, args } = await provider({ script: ['One.', 'Two.', 'Three.'] })
    const cwd = await tempFolder()
    const say = async (more: string[], input: string) => {
      const io = fakeIO({ cwd })
      io.stdin.end(input)
      return { code: await runCommand([...args, ...more], io), out: io.out(), err: io.err() }
    }
    expect(await say(['--resume'], 'x')).toMatchObject({ code: 2, err: expect.stringContaining('--session NAME') })
    await say(['--session', 'a'], 'first')
    await say(['--session', 'b'], 'second')
    const resumed = await say(['--resume'], 'third\n/sessions')
    expect(resumed.err).toContain('b: continues after 2 messages')
    expect(resumed.err).toMatch(/ {2}b {2}\S+ \S+ {2}4 messages\n {2}a {2}\S+ \S+ {2}2 messages\n$/)
    expect(messagesOf(mock).at(-1)).toEqual(['second', 'Two.', 'third'])
    expect((await say(['--resume', '--session', 'a'], '')).code).toBe(2)
  })

  it('continues if a call needs an approval that nobody can give: the call does not run, and every prompt is answered', async () => {
    const tools = "export const t = { name: 'wipe', description: '', parameters: {}, approval: true, execute: () => 'wiped' }"
    const wipe = { toolCalls: [{ name: 'wipe', arguments: {} }] }
    const { mock, args } = await provider({ script: [wipe, 'Two.', wipe, 'Four.'] })
    const cwd = await tempFolder({ 't.mjs': tools })
    const chat = [...args, '-t', 't.mjs', '--session', 'plans']
    const { code, stdout, stderr } = await piped(chat, cwd, 'wipe\nsecond\n')
    expect({ code, stdout }).toEqual({ code: 8, stdout: 'Two.\n' })
    expect(stderr).toContain('paused: 1 call to be decided: wipe (needs an approval)\nnobody was here to decide')
    const run = await piped(['run', ...chat.slice(1), 'wipe it'], cwd)
    expect(run).toMatchObject({ code: 8, stderr: expect.stringContaining('--journal FILE keeps a run for later\n') })
    expect(await piped(chat, cwd, 'fourth\n')).toMatchObject({ code: 0, stdout: 'Four.\n' })
    expect(JSON.stringify(mock.requests)).not.toContain('wiped')
  })

  it('sends nothing while a run of a journal waits in it, and says how to decide; `runs decide` continues both', async () => {
    const tools = "export const t = { name: 'wipe', description: '', parameters: {}, approval: true, execute: () => 'wiped' }"
    const wipe = { toolCalls: [{ name: 'wipe', arguments: {} }] }
    const { mock, args } = await provider({ script: [wipe, 'Wiped.', 'Yes.', wipe] })
    const cwd = await tempFolder({ 't.mjs': tools })
    const [, ...model] = [...args, '-t', 't.mjs']
    const begin = () => piped(['run', ...model, '--session', 'plans', '--journal', 'j', 'wipe'], cwd)
    expect((await begin()).code).toBe(8)
    const waits = await piped(['chat', ...model, '--session', 'plans'], cwd, 'one\ntwo\n')
    expect(waits).toMatchObject({
      code: 8,
      stdout: '',
      stderr: expect.stringMatching(/toolloop runs decide run_\S+ .*\nnothing was sent\n$/),
    })
    expect(mock.requests).toHaveLength(1)
    const [, id = ''] = /runs decide (run_\S+)/.exec(waits.stderr) ?? []
    const decided = await piped(['runs', 'decide', id, ...model, '--journal', 'j', '--yes'], cwd)
    expect(decided).toMatchObject({ code: 0, stdout: 'Wiped.\n' })
    await piped(['chat', ...model, '--session', 'plans'], cwd, 'Done?\n')
    expect(messagesOf(mock).at(-1)).toEqual(['wipe', null, 'wiped', 'Wiped.', 'Done?'])
    expect((await begin()).code).toBe(8)
    const waiting = await piped(['runs', 'list', '--journal', 'j', '--status', 'waiting', '--json'], cwd)
    const [{ runId }] = JSON.parse(waiting.stdout)
    expect(await piped(['runs', 'cancel', runId, '--journal', 'j'], cwd)).toMatchObject({ code: 0, stderr: '' })
  })
})

describe('a call in a chat', () => {
  it('has a number, under which it is shown completely', async () => {
    const tools = "export const t = { name: 'look', description: '', parameters: {}, execute: () => 'one\\ntwo' }"
    const { args } = await provider({ script: [{ toolCalls: [{ name: 'look', arguments: { text: `a\nb${'c'.repeat(200)}` } }] }, 'Seen.'] })
    const io = fakeIO({ cwd: await tempFolder({ 't.mjs': tools }) })
    io.stdin.end('Look.\n/show 1\n/show\n/show 2\n')
    expect(await runCommand([...args, '-t', 't.mjs'], io)).toBe(0)
    expect(io.err()).toMatch(/✓ look [\d.]+ m?s · 7 B \[1\]\n/)
    expect(
      io.err().match(/1 look · ok [\d.]+ m?s\n\{\n {2}"text": ‹2 lines›\n│a\n│bc{77}\n┊c{78}\n┊c{45}\n\}\nresult: 2 lines\none\ntwo\n/g),
    ).toHaveLength(2)
    expect(io.err()).toContain('expected the number of a call, up to 1\n')
  })
})

describe('slash commands', () => {
  it('show and change the chat without asking the model', async () => {
    const tools = "export const t = { name: 'look_up', description: 'Finds it.\\nMore.', parameters: {}, approval: true }"
    const { mock, args } = await provider({ script: ['First.', 'Second.'] })
    const io = fakeIO({ cwd: await tempFolder({ 't.mjs': tools }) })
    const lines = [
      '/tools',
      '/history',
      'One',
      '/history',
      '/model',
      '/model custom/other',
      '/model nowhere/x',
      '/reset',
      'Two',
      '/help',
      '/hlep',
      '/typo',
      '/quit',
      'Three',
    ]
    io.stdin.end(`${lines.join('\n')}\n`)
    expect(await runCommand([...args, '-t', 't.mjs'], io)).toBe(1)
    expect(io.out()).toBe('First.\nSecond.\n')
    expect(mock.requests.map(({ body }) => [body.model, body.messages])).toEqual([
      ['mock-model', [{ role: 'user', content: 'One' }]],
      ['other', [{ role: 'user', content: 'Two' }]],
    ])
    const said = io.err()
    for (const text of [
      '  look_up (needs approval)  Finds it.\n',
      'nothing said yet\n',
      '  user: One\n  assistant: First.\n',
      'model: custom/mock-model\n',
      'model: custom/other\n',
      'error: ',
      'forgot 2 messages\n',
      '  /model [provider/name]  choose the model, or change it to this one\n',
      'unknown command /hlep (did you mean `/help`?); /help lists them.',
      'unknown command /typo; /help lists them.',
    ]) {
      expect(said).toContain(text)
    }
  })
})

describe('toolloop chat on a terminal', () => {
  let ended: Promise<number> | undefined
  afterEach(() => ended)

  it('H30 Ctrl-C stops the current answer; pressed twice at the prompt, it ends the chat', async () => {
    const { mock, args } = await provider({ script: [{ text: 'Thinking about', hang: true }, 'Here I am.'] })
    const io = fakeIO({ tty: true, cwd: await tempFolder(), env: { NO_COLOR: '1' } })
    ended = runCommand(args, io)
    await shows(io, '> ')
    io.stdin.write('One\r')
    await shows(io, 'Thinking about')
    io.stdin.write(ctrlC)
    await shows(io, 'aborted')
    io.stdin.write('Two\r')
    await shows(io, 'Here I am.')
    await mock.waitForEnd(2)
    // The part before it was stopped belongs to the conversation.
    expect(mock.requests[1]?.body.messages).toEqual([
      { role: 'user', content: 'One' },
      { role: 'assistant', content: 'Thinking about' },
      { role: 'user', content: 'Two' },
    ])
    expect(io.err()).toMatch(/\d+ m?s · \d+ tokens in, \d+ out\n/)
    await shows(io, '> ', 3)
    io.stdin.write(`half a prompt${ctrlC}${ctrlC}`)
    await shows(io, 'Ctrl-C again')
    io.stdin.write(ctrlC)
    expect(await ended).toBe(0)
    expect(mock.requests).toHaveLength(2)
  })

  it('Tab completes a command', async () => {
    const { args } = await provider({ script: [] })
    const io = fakeIO({ tty: true, cwd: await tempFolder(), env: { NO_COLOR: '1' } })
    ended = runCommand(args, io)
    await shows(io, '> ')
    io.stdin.write('/hi\t')
    await shows(io, '/history')
    io.stdin.write('\r')
    await shows(io, 'nothing said yet')
    io.stdin.write(ctrlD)
    expect(await ended).toBe(0)
  })

  it('keys pressed during a wait are no prompts and answer no question: they become the next line', async () => {
    const tools = "export const t = { name: 'wipe', description: '', parameters: {}, approval: true, execute: () => 'wiped' }"
    const [asked, answered] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
    const wipe = { toolCalls: [{ name: 'wipe', arguments: { disk: 1 } }] }
    const { mock, args } = await provider({
      script: [{ before: asked.promise, ...wipe }, { before: answered.promise, text: 'Too bad.' }, 'Done.'],
    })
    const io = fakeIO({ tty: true, cwd: await tempFolder({ 't.mjs': tools }), env: { NO_COLOR: '1' } })
    ended = runCommand([...args, '-t', 't.mjs'], io)
    await shows(io, '> ')
    io.stdin.write('Wipe it.\r')
    await mock.waitForRequest()
    io.stdin.write('y\r')
    await setImmediate()
    asked.resolve()
    await shows(io, `run wipe {"disk":1}? ${choices}`)
    io.stdin.write('n')
    await mock.waitForRequest(2)
    io.stdin.write('yes\r')
    io.stdin.write(`\x7f\x7f${ctrlD}\x1b[200~\ttab\r\n/last\x07\r\n\x1b[201~`)
    await displays(io, '> y\n  ye    tab\n  /last')
    answered.resolve()
    await shows(io, 'tokens in')
    await displays(io, '> y\n  ye    tab\n  /last')
    io.stdin.write('\r')
    await shows(io, 'Done.')
    await shows(io, '> ', 3)
    io.stdin.write(ctrlD)
    expect(await ended).toBe(0)
    expect(mock.requests.map(({ body }) => (body.messages as { content: string }[]).at(-1)?.content)).toEqual([
      'Wipe it.',
      'The call to `wipe` was refused.',
      'y\nye\ttab\n/last',
    ])
  })

  it('a paste is one text, and only Enter sends it', async () => {
    const { mock, args } = await provider({ script: ['Done.'] })
    const io = fakeIO({ tty: true, cwd: await tempFolder(), env: { NO_COLOR: '1', TERM: 'dumb' } })
    ended = runCommand(args, io)
    await shows(io, '> ')
    // In two pieces, with the marks cut as well.
    io.stdin.write('\x1b[200')
    await setImmediate()
    io.stdin.write('~/first\r\nsec')
    await setImmediate()
    io.stdin.write('ond\u2028third\x1b[2J\n\x1b[201~')
    await shows(io, '/first\r\n  second\r\n  third[2J')
    io.stdin.write('\r')
    await shows(io, 'Done.')
    await shows(io, '> ', 2)
    io.stdin.write(ctrlD)
    expect(await ended).toBe(0)
    expect(mock.requests.map(({ body }) => body.messages)).toEqual([[{ role: 'user', content: '/first\nsecond\nthird[2J' }]])
    // Such a terminal would show the request to mark pastes.
    expect(io.err()).not.toContain('2004')
  })

  it('asks before it runs a call that needs approval', async () => {
    const tools = "export const t = { name: 'wipe', description: '', parameters: {}, approval: true, execute: () => 'wiped' }"
    const wipe = { toolCalls: [{ name: 'wipe', arguments: { disk: 1 } }] }
    const { mock, args } = await provider({ script: [wipe, 'Too bad.', wipe, 'Done.'] })
    const io = fakeIO({ tty: true, cwd: await tempFolder({ 't.mjs': tools }), env: { NO_COLOR: '1' } })
    ended = runCommand([...args, '-t', 't.mjs'], io)
    await shows(io, '> ')
    io.stdin.write('Wipe it.\r')
    await shows(io, `run wipe {"disk":1}? ${choices}`)
    io.stdin.write('w')
    await shows(io, 'why not? ')
    io.stdin.write('that is the wrong disk\r')
    await shows(io, 'Too bad.')
    await shows(io, '> ', 2)
    io.stdin.write('Really.\r')
    await shows(io, choices, 2)
    io.stdin.write('y')
    await shows(io, 'Done.')
    await shows(io, '> ', 3)
    io.stdin.write(ctrlD)
    expect(await ended).toBe(0)
    expect(JSON.stringify(mock.requests[1]?.body.messages)).toContain('that is the wrong disk')
    expect(JSON.stringify(mock.requests[3]?.body.messages)).toContain('wiped')
  })
})

it('refuses invalid options', async () => {
  const io = fakeIO({ cwd: await tempFolder() })
  await expect(chat({ builtinTools: false, stream: true, model: 'nowhere/x' }, io)).rejects.toMatchObject({ code: 'unknown_provider' })
})
