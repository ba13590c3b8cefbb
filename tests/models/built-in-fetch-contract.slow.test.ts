import { describe, expect, it } from 'vitest'
import { createModel } from '../../src/models/create-model.ts'
import { testModel } from '../../src/testing/index.ts'
import { refuseIllegal } from './rules/strict-provider.ts'

// Each driver's own contract file tests the default transport.

// Some cases wait for a second; the others run meanwhile.
const runner = { describe, it: it.concurrent, expect }
const refuse = refuseIllegal
const settings = { apiKey: 'key-for-tests', maxRetryDelayMs: 2000, fetch }

testModel(
  'the Chat Completions driver over the built-in fetch',
  ({ baseURL }, { maxRetries }) => createModel({ ...settings, provider: 'custom', model: 'mock-model', baseURL, maxRetries }),
  runner,
  { refuse },
)

testModel(
  'the Responses driver over the built-in fetch',
  ({ baseURL }, { maxRetries }) => createModel({ ...settings, provider: 'responses-compatible', model: 'gpt-mock', baseURL, maxRetries }),
  runner,
  { wire: 'responses', refuse },
)

testModel(
  'the Anthropic driver over the built-in fetch',
  ({ baseURL }, { maxRetries }) => createModel({ ...settings, provider: 'anthropic', model: 'claude-mock', baseURL, maxRetries }),
  runner,
  { wire: 'anthropic-messages', refuse },
)

testModel(
  'S2-57 the Google driver, Vertex AI, over the built-in fetch',
  ({ url }, { maxRetries }) => createModel({ ...settings, provider: 'vertex', model: 'gemini-mock', baseURL: url, maxRetries }),
  runner,
  { wire: 'gemini-generate-content', refuse },
)
