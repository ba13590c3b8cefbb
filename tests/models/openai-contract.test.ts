import { describe, expect, it } from 'vitest'
import { createModel } from '../../src/models/create-model.ts'
import { testModel } from '../../src/testing/index.ts'
import { refuseIllegal } from './rules/strict-provider.ts'

// Some cases wait for a second; the others run meanwhile.
const runner = { describe, it: it.concurrent, expect }

testModel(
  'the Chat Completions driver',
  (server, { maxRetries }) =>
    createModel({ provider: 'custom', model: 'mock-model', baseURL: server.baseURL, maxRetries, maxRetryDelayMs: 2000 }),
  runner,
  { refuse: refuseIllegal },
)
