import { describe, expect, it } from 'vitest'
import { createModel } from '../../src/models/create-model.ts'
import { testModel } from '../../src/testing/index.ts'
import { refuseIllegal } from './rules/strict-provider.ts'

const options = { wire: 'gemini-generate-content', refuse: refuseIllegal } as const
const settings = { provider: 'google', model: 'gemini-mock', apiKey: 'key-for-tests', maxRetryDelayMs: 2000 }

// Some cases wait for a second; the others run meanwhile.
const runner = { describe, it: it.concurrent, expect }

testModel(
  'S2-57 the Google driver, Gemini API',
  (server, { maxRetries }) => createModel({ ...settings, baseURL: server.url, maxRetries }),
  runner,
  options,
)
