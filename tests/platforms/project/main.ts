import { ask } from './ask.ts'

async function main(): Promise<void> {
  for (const model of ['openai/gpt-5.2', 'anthropic/claude-opus-4-5']) console.log(await ask(model, process.env.BASE_URL ?? ''))
}
void main()
