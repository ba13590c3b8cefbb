import { describe, expect, it } from 'vitest'
import { createModel } from '../../src/models/create-model.ts'
import { testModel } from '../../src/testing/index.ts'
import { refuseIllegal } from './rules/strict-provider.ts'

const options = { wire: 'anthropic-messages', refuse: refuseIllegal } as const
const settings = { provider: 'anthropic', model: 'claude-mock', apiKey: 'sk-ant-test', maxRetryDelayMs: 2000 }

// Some cases wait for a second; the others run meanwhile.
const runner = { describe, it: it.concurrent, expect }

testModel(
  'the Anthropic driver',
  (server, { maxRetries }) => createModel({ ...settings, baseURL: server.url, maxRetries }),
  runner,
  options,
)
