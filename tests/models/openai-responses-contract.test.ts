import { describe, expect, it } from 'vitest'
import { createModel } from '../../src/models/create-model.ts'
import { testModel } from '../../src/testing/index.ts'
import { refuseIllegal } from './rules/strict-provider.ts'

const options = { wire: 'responses', refuse: refuseIllegal } as const
const settings = { provider: 'openai-responses', model: 'gpt-mock', apiKey: 'test-key', maxRetryDelayMs: 2000 }

// Some cases wait for a second; the others run meanwhile.
const runner = { describe, it: it.concurrent, expect }

testModel('the Responses driver', ({ baseURL }, { maxRetries }) => createModel({ ...settings, baseURL, maxRetries }), runner, options)
