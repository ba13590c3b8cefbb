import { type MockProvider, type MockProviderOptions, type MockScriptRequest, startMockProvider } from '../../../src/testing/index.ts'
import { refuseAnthropicMessage } from './anthropic-messages.ts'
import { refuseChatCompletion } from './chat-completions.ts'
import { refuseGeminiRequest } from './gemini-generate-content.ts'
import { refuseResponse } from './responses.ts'

const rules = {
  'chat-completions': refuseChatCompletion,
  responses: refuseResponse,
  'anthropic-messages': refuseAnthropicMessage,
  'gemini-generate-content': refuseGeminiRequest,
}

/** What the real provider would refuse about a request, in its words; undefined for a legal one. */
export function refuseIllegal({ wire, body }: MockScriptRequest): string | undefined {
  return rules[wire](body)
}

/** The mock provider with the real ones' rules: a test that sends a broken request fails, whatever the script answers. */
export function startStrictProvider(options: MockProviderOptions = {}): Promise<MockProvider> {
  return startMockProvider({ refuse: refuseIllegal, ...options })
}
