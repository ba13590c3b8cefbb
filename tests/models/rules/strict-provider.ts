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

/** The reason why the real provider would refuse a request, in its words. Undefined for a legal request. */
export function refuseIllegal({ wire, body }: MockScriptRequest): string | undefined {
  return rules[wire](body)
}

/** The mock provider with the rules of the real ones: a test that sends a broken request fails, whatever the script answers. */
export function startStrictProvider(options: MockProviderOptions = {}): Promise<MockProvider> {
  return startMockProvider({ refuse: refuseIllegal, ...options })
}
