import { readFile, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import type { MockProviderOptions } from '../../src/testing/index.ts'
import { startStrictProvider } from '../models/rules/strict-provider.ts'
import { hasTerminal, startOnTerminal } from './pseudo-terminal.ts'
import { tempFolder } from './temp-folder.ts'

async function provider(options: MockProviderOptions) {
  const mock = await startStrictProvider(options)
  onTestFinished(() => mock.close())
  const sent = (request: number) =>
    ((mock.requests.at(request)?.body.messages ?? []) as { content: string }[]).map(({ content }) => content)
  return { mock, sent, model: ['--no-builtin-tools', '-m', 'custom/mock-model', '--base-url', mock.baseURL] }
}

describe.skipIf(!hasTerminal)('a chat on a terminal', () => {
  it('is kept: --resume and /sessions offer all of the folder, with first lines and age', async () => {
    const { sent, model } = await provider({ script: ['Rome.', 'Twelve.', 'Then Paris.', 'Hello.', 'Thirteen.'] })
    const cwd = await tempFolder()
    for (const [prompt, answer] of [
      ['Plan a trip.\\\rwith a dog', 'Rome.'],
      ['Count the files.', 'Twelve.'],
    ] as const) {
      const chat = startOnTerminal(['chat', ...model], { cwd })
      await chat.shows('> ')
      chat.type(`${prompt}\r`)
      await chat.shows(answer)
      expect(await chat.leaves()).toBe(0)
    }
    expect((await stat(join(cwd, '.toolloop/sessions.sqlite'))).mode & 0o077).toBe(0)
    expect(await readFile(join(cwd, '.toolloop/.gitignore'), 'utf8')).toBe('*\n')
    const chat = startOnTerminal(['chat', ...model, '--resume'], { cwd, columns: 70 })
    await chat.displays('Continue which conversation?\n❯ Count the files.')
    await chat.displays('  Plan a trip.                                  just now · 2 messages\n')
    chat.type('\x1b[B')
    await chat.displays('❯ Plan a trip.')
    chat.type('\r')
    await chat.displays('continues after 2 messages; /history shows them\n>')
    chat.type('And then?\r')
    await chat.shows('Then Paris.')
    expect(sent(2)).toEqual(['Plan a trip.\nwith a dog', 'Rome.', 'And then?'])
    await chat.shows('tokens in')
    chat.type('/new\r')
    await chat.displays('a new conversation')
    chat.type('Hi.\r')
    await chat.shows('Hello.')
    expect(sent(3)).toEqual(['Hi.'])
    await chat.shows('tokens in', 2)
    chat.type('/sessions\r')
    await chat.displays('❯ Hi.')
    chat.type('coun')
    await chat.displays('Continue which conversation?\n❯ Count the files.')
    chat.type('\r')
    await chat.shows('continues after 2 messages', 2)
    chat.type('And now?\r')
    await chat.shows('Thirteen.')
    expect(sent(4)).toEqual(['Count the files.', 'Twelve.', 'And now?'])
    await chat.shows('tokens in', 3)
    chat.type('/sessions\r')
    await chat.shows('Continue which conversation?', 3)
    chat.type('\x1b')
    await chat.shows('\x1b[J> ')
    expect(await chat.leaves()).toBe(0)
  })

  it('leaves nothing in its folder if nothing was said, or if TOOLLOOP_HISTORY is empty', async () => {
    const { model } = await provider({ script: ['Hello.'] })
    const cwd = await tempFolder()
    const chat = startOnTerminal(['chat', ...model], { cwd, env: { TOOLLOOP_HISTORY: '' } })
    await chat.shows('> ')
    chat.type('/sessions\r')
    await chat.displays('none yet')
    chat.type('Hi.\r')
    await chat.shows('Hello.')
    expect(await chat.leaves()).toBe(0)
    const silent = startOnTerminal(['chat', ...model], { cwd, env: { HOME: join(cwd, 'home') } })
    await silent.shows('> ')
    silent.type('/sessions\r')
    await silent.displays('none yet')
    expect(await silent.leaves()).toBe(0)
    await expect(stat(join(cwd, '.toolloop'))).rejects.toThrow('ENOENT')
  })

  it('continues without being kept in a folder that can’t be written to', async () => {
    const { sent, model } = await provider({ script: ['Hello Ann.', 'Ann.'] })
    const cwd = await tempFolder({ '.toolloop': 'a file' })
    const chat = startOnTerminal(['chat', ...model], { cwd })
    await chat.shows('> ')
    chat.type('I am Ann.\r')
    await chat.shows('this chat is not kept: ')
    await chat.shows('tokens in')
    chat.type('Who am I?\r')
    await chat.shows('tokens in', 2)
    expect(sent(1)).toEqual(['I am Ann.', 'Hello Ann.', 'Who am I?'])
    expect(await chat.leaves()).toBe(0)
  })

  it('says what it has taken and how full its context is, and continues from a summary after /compact', async () => {
    const { sent, model } = await provider({ script: ['Rome.', 'You want to see Rome.', 'Then Paris.'] })
    const cwd = await tempFolder({
      'toolloop.yaml': `providers:\n  custom: { models: [{ match: mock, contextWindow: 1000, price: { input: 1000, output: 1000 } }] }\n`,
    })
    const chat = startOnTerminal(['chat', ...model, '-i', 'Be brief.'], { cwd })
    await chat.shows('> ')
    chat.type('/cost\r')
    await chat.displays('nothing was spent yet')
    chat.type('/compact\r')
    await chat.displays('nothing said yet')
    chat.type('Where to?\r')
    await chat.shows('tokens in')
    chat.type('/cost\r')
    await chat.shows(/1 answer in [\d.]+ m?s · 1 request · [\d,]+ tokens in, [\d,]+ out · \$\d/)
    chat.type('/context\r')
    await chat.displays('of 1,000 (')
    await chat.displays('· 0 tools 0 · 2 messages ')
    chat.type('/compact\r')
    await chat.displays('2 messages are now a summary')
    chat.type('And then?\r')
    await chat.shows('Then Paris.')
    expect(sent(1).at(-1)).toMatch(/^Summarize this conversation/)
    expect(sent(2)).toEqual(['Be brief.', 'Summary of our conversation so far:\n\nYou want to see Rome.', 'And then?'])
    await chat.shows('tokens in', 2)
    chat.type('/cost\r')
    await chat.shows('3 answers in')
    chat.type('/clear\r')
    await chat.shows('\x1b[H\x1b[2J')
    chat.type('/history\r')
    await chat.displays('nothing said yet')
    expect(await chat.leaves()).toBe(0)
  })

  it('/model offers the models that can be used here, and suggests a name', async () => {
    const { mock } = await provider({ script: ['Hello.'] })
    const yaml = `models:\n  large: { provider: custom, model: big, baseURL: "${mock.baseURL}" }\n  small: custom/tiny\n`
    const cwd = await tempFolder({ 'toolloop.yaml': yaml })
    const chat = startOnTerminal(['chat', '--no-builtin-tools'], { cwd })
    await chat.shows('> ')
    chat.type('/model larg\r')
    await chat.displays('(did you mean `large`?)')
    chat.type('/modle\r')
    await chat.displays('(did you mean `/model`?)')
    chat.type('/model\r')
    await chat.displays('Use which model?\n❯ large ')
    await chat.displays('custom/big · configured\n  small ')
    await chat.displays('  demo ')
    chat.type('\r')
    await chat.displays('model: custom/big')
    chat.type('Hi.\r')
    await chat.shows('Hello.')
    expect(mock.requests[0]?.body.model).toBe('big')
    expect(await chat.leaves()).toBe(0)
  })
})
