import { describe, expect, it } from 'vitest'
import { createModel } from '../../src/models/create-model.ts'
import { testModel } from '../../src/testing/index.ts'

testModel(
  'the Chat Completions driver',
  (server, { maxRetries }) =>
    createModel({ provider: 'custom', model: 'mock-model', baseURL: server.baseURL, maxRetries, maxRetryDelayMs: 2000 }),
  { describe, it, expect },
)

testModel(
  'the Chat Completions driver over the built-in fetch',
  (server, { maxRetries }) =>
    createModel({ provider: 'custom', model: 'mock-model', baseURL: server.baseURL, maxRetries, maxRetryDelayMs: 2000, fetch }),
  { describe, it, expect },
)
