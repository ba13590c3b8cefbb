import { createModel } from '../../src/index.ts'

// Creating a model sends nothing and loads no SDK.
const models = [
  createModel('ollama/qwen3:8b'),
  createModel({ provider: 'openai', model: 'gpt-6.1-sol', maxRetries: 5 }),
  createModel({ provider: 'custom', model: 'my-model', baseURL: 'http://localhost:8000/v1', contextWindow: 32_768 }),
]
for (const { provider, model } of models) console.log(`${provider}/${model}`)
