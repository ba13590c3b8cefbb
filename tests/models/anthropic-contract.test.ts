import { describe, expect, it } from 'vitest'
import { createModel } from '../../src/models/create-model.ts'
import { testModel } from '../../src/testing/index.ts'

const wire = 'anthropic-messages'
const settings = { provider: 'anthropic', model: 'claude-mock', apiKey: 'sk-ant-test', maxRetryDelayMs: 2000 }

// Some cases wait for a second: the others go on meanwhile.
const runner = { describe, it: it.concurrent, expect }

testModel('the Anthropic driver', (server, { maxRetries }) => createModel({ ...settings, baseURL: server.url, maxRetries }), runner, {
  wire,
})

testModel(
  'the Anthropic driver over the built-in fetch',
  (server, { maxRetries }) => createModel({ ...settings, baseURL: server.baseURL, maxRetries, fetch }),
  runner,
  { wire },
)
