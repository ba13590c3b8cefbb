import { onTestFinished } from 'vitest'
import type { MockProvider, MockProviderOptions } from '../../src/testing/index.ts'
import { startStrictProvider } from '../models/rules/strict-provider.ts'
import { startOnTerminal, type TerminalOptions } from './pseudo-terminal.ts'
import { tempFolder } from './temp-folder.ts'

interface ChatProvider {
  mock: MockProvider
  /** The texts of the messages in a request. */
  sent(request: number): string[]
  /** The flags that make a chat ask this provider, without built-in tools. */
  model: string[]
}

/** Starts a provider for a chat, until the test has finished. */
export async function startChatProvider(options: MockProviderOptions): Promise<ChatProvider> {
  const mock = await startStrictProvider(options)
  onTestFinished(() => mock.close())
  const sent = (request: number) =>
    ((mock.requests.at(request)?.body.messages ?? []) as { content: string }[]).map(({ content }) => content)
  return { mock, sent, model: ['--no-builtin-tools', '-m', 'custom/mock-model', '--base-url', mock.baseURL] }
}

/** Starts a chat with its own provider on a terminal, in a new folder with these files, and waits until it asks for a prompt. */
export async function startTerminalChat(
  script: MockProviderOptions['script'],
  { args = [], files, ...terminal }: Omit<TerminalOptions, 'cwd'> & { args?: readonly string[]; files?: Record<string, string> } = {},
) {
  const provider = await startChatProvider({ script })
  const cwd = await tempFolder(files)
  const chat = startOnTerminal(['chat', ...provider.model, ...args], { cwd, ...terminal })
  await chat.shows('> ')
  return { ...provider, chat, cwd }
}
