/** Over a model in memory: our loop, and one written by hand. What a loop costs apart from its transport. */
import { AgentRunner } from '../../src/index.ts'
import type { ChatModel } from '../../src/models/chat-model.ts'
import { addTool, type Loop, prompt, runByHand } from './loops.ts'
import { answer } from './peers.ts'

interface Message {
  role: string
  content?: unknown
}

/** What a model says after so many results. */
function sayAfter(round: number, rounds: number) {
  const calls = round < rounds ? [{ id: `call_${round}`, name: 'add', json: `{"a":${round},"b":1}` }] : []
  return { text: calls.length === 0 ? answer : '', calls }
}

function resultsIn(messages: readonly Message[]): number {
  return messages.filter(({ role }) => role === 'tool').length
}

export const handWrittenInMemory: Loop = async ({ rounds }) => {
  const messages: Message[] = [{ role: 'user', content: prompt }]
  const ask = async () => sayAfter(resultsIn(messages), rounds)
  while (true) {
    const { text, calls } = await ask()
    if (calls.length === 0) return text.length
    messages.push({ role: 'assistant', content: calls })
    for (const { name, json } of calls) messages.push({ role: 'tool', content: String(runByHand(name, json)) })
  }
}

function modelInMemory(rounds: number): ChatModel {
  return {
    provider: 'memory',
    model: 'bench',
    capabilities: { nativeTools: true },
    generate: async ({ messages }) => {
      const { text, calls } = sayAfter(resultsIn(messages), rounds)
      return {
        text,
        toolCalls: calls.map(({ id, name, json }) => ({ id, type: 'function', function: { name, arguments: json } })),
        finishReason: calls.length === 0 ? 'stop' : 'tool_calls',
        usage: { inputTokens: 20, outputTokens: 10, totalTokens: 30 },
      }
    },
  }
}

const runners = new Map<number, AgentRunner>()

export const oursInMemory: Loop = async ({ rounds }) => {
  const runner = runners.get(rounds) ?? new AgentRunner({ model: modelInMemory(rounds), tools: [addTool], maxIterations: rounds + 2 })
  runners.set(rounds, runner)
  return (await runner.run(prompt)).output.length
}
