import { stat } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import type { MockProvider, MockProviderOptions } from '../../src/testing/index.ts'
import { startStrictProvider } from '../models/rules/strict-provider.ts'
import { runCli } from './start-cli.ts'
import { tempFolder } from './temp-folder.ts'

async function provider(options: MockProviderOptions) {
  const mock = await startStrictProvider(options)
  onTestFinished(() => mock.close())
  return { mock, args: ['chat', '--no-builtin-tools', '-m', 'custom/mock-model', '--base-url', mock.baseURL] }
}

describe('a named conversation', () => {
  const messagesOf = (mock: MockProvider) =>
    mock.requests.map(({ body }) => (body.messages as { content: string }[]).map(({ content }) => content))

  it('continues after its process has ended, also with another command; /reset deletes it', async () => {
    const { mock, args } = await provider({ script: ['Hello Ann.', 'You are Ann.', 'Ann.', 'Who?'] })
    const cwd = await tempFolder()
    const [, ...model] = args
    const say = (input: string) => runCli([...args, '--session', 'plans'], { cwd, input })
    await say('I am Ann.')
    expect(await say('Who am I?\n/history')).toMatchObject({
      stdout: 'You are Ann.\n',
      stderr: expect.stringMatching(/plans: continues after 2 messages(.*\n)+ {2}user: I am Ann\./),
    })
    await runCli(['run', ...model, '--session', 'plans', 'My name?'], { cwd })
    expect((await say('/reset\nAnd now?')).stderr).toContain('forgot 6 messages')
    expect(messagesOf(mock)).toEqual([
      ['I am Ann.'],
      ['I am Ann.', 'Hello Ann.', 'Who am I?'],
      ['I am Ann.', 'Hello Ann.', 'Who am I?', 'You are Ann.', 'My name?'],
      ['And now?'],
    ])
    expect((await stat(join(cwd, '.toolloop/sessions.sqlite'))).mode & 0o077).toBe(0)
  })

  it('is one of many', async () => {
    const { mock, args } = await provider({ script: ['One.', 'Two.'] })
    const cwd = await tempFolder()
    for (const name of ['a', 'b']) await runCli([...args, '--session', name], { cwd, input: name })
    expect(messagesOf(mock)).toEqual([['a'], ['b']])
  })
})
