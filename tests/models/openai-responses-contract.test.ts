import { describe, expect, it } from 'vitest'
import { createModel } from '../../src/models/create-model.ts'
import { testModel } from '../../src/testing/index.ts'

const wire = 'responses'
const settings = { provider: 'openai-responses', model: 'gpt-mock', apiKey: 'test-key', maxRetryDelayMs: 2000 }

testModel(
  'the Responses driver',
  ({ baseURL }, { maxRetries }) => createModel({ ...settings, baseURL, maxRetries }),
  { describe, it, expect },
  { wire },
)

testModel(
  'the Responses driver over the built-in fetch',
  ({ baseURL }, { maxRetries }) => createModel({ ...settings, provider: 'responses-compatible', baseURL, maxRetries, fetch }),
  { describe, it, expect },
  { wire },
)
