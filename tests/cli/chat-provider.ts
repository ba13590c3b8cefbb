import { onTestFinished } from 'vitest'
import type { MockProvider, MockProviderOptions } from '../../src/testing/index.ts'
import { startStrictProvider } from '../models/rules/strict-provider.ts'

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
