import { describe, expect, it } from 'vitest'
import { isThere, load, questions, startAgent, token, versionOf } from './agent-service.ts'

/** Asks the questions one after the other, the last in the conversation of the one before. Each answer is a text. */
type Ask = (question: string) => Promise<string>

const own = {
  name: 'own',
  description: 'Prints.',
  parameters: { type: 'object', properties: { prefix: { type: 'string' } }, required: ['prefix'], additionalProperties: false },
}
const runOwn = ({ prefix }: { prefix: string }) => `${prefix}42`

interface Library {
  packages: string[]
  open(baseURL: string, url: string): Promise<Ask>
}

/** `ai`, with a model of one of its providers. */
const aiWith =
  (model: (baseURL: string) => Promise<unknown>): Library['open'] =>
  async (baseURL) => {
    const { generateText, jsonSchema, isStepCount, stepCountIs, tool } = await load('ai')
    const tools = { own: tool({ description: own.description, inputSchema: jsonSchema(own.parameters), execute: runOwn }) }
    const used = await model(baseURL)
    let messages: object[] = []
    return async (question) => {
      messages = question === 'AGAIN' ? messages : []
      messages.push({ role: 'user', content: question })
      const { text, response } = await generateText({ model: used, messages, tools, stopWhen: (isStepCount ?? stepCountIs)(5) })
      messages.push(...response.messages)
      return text
    }
  }

const libraries: Library[] = [
  {
    packages: ['ai', '@ai-sdk/openai'],
    open: aiWith(async (baseURL) => (await load('@ai-sdk/openai')).createOpenAI({ baseURL, apiKey: token })('toolloop')),
  },
  {
    packages: ['ai', '@ai-sdk/open-responses'],
    open: aiWith(async (baseURL) =>
      (await load('@ai-sdk/open-responses')).createOpenResponses({ name: 'toolloop', url: `${baseURL}/responses`, apiKey: token })(
        'toolloop',
      ),
    ),
  },
  {
    packages: ['ai', '@ai-sdk/openai-compatible'],
    open: aiWith(async (baseURL) =>
      (await load('@ai-sdk/openai-compatible')).createOpenAICompatible({ name: 'toolloop', baseURL, apiKey: token })('toolloop'),
    ),
  },
  {
    packages: ['@openai/agents', 'openai'],
    open: async (baseURL) => {
      const { Agent, OpenAIProvider, Runner, tool } = await load('@openai/agents')
      const tools = [tool({ ...own, strict: true, execute: runOwn })]
      const agent = new Agent({ name: 'client', instructions: 'Help.', model: 'toolloop', tools })
      const modelProvider = new OpenAIProvider({ baseURL, apiKey: token, useResponses: true })
      const runner = new Runner({ modelProvider, tracingDisabled: true })
      let history: object[] = []
      return async (question) => {
        const { finalOutput, history: all } = await runner.run(agent, [
          ...(question === 'AGAIN' ? history : []),
          { role: 'user', content: question },
        ])
        history = all
        return String(finalOutput)
      }
    },
  },
  {
    packages: ['openai'],
    open: async (baseURL) => {
      const { OpenAI } = await load('openai')
      const client = new OpenAI({ baseURL, apiKey: token })
      const tools = [{ type: 'function', strict: false, ...own }]
      let previous: string | undefined
      return async (question) => {
        const previous_response_id = question === 'AGAIN' ? previous : undefined
        let response = await client.responses.create({ model: 'toolloop', input: question, tools, previous_response_id })
        const calls = response.output.filter(
          ({ type, name }: { type: string; name?: string }) => type === 'function_call' && name === 'own',
        )
        const [call] = calls
        if (call !== undefined) {
          const output = runOwn(JSON.parse(call.arguments))
          const input = [{ type: 'function_call_output', call_id: call.call_id, output }]
          response = await client.responses.create({ model: 'toolloop', input, tools, previous_response_id: response.id })
        }
        previous = response.id
        return response.output_text
      }
    },
  },
  {
    packages: ['@langchain/openai'],
    open: async (baseURL) => {
      const { ChatOpenAI } = await load('@langchain/openai')
      const model = new ChatOpenAI({ model: 'toolloop', apiKey: token, configuration: { baseURL } }).bindTools([
        { type: 'function', function: own },
      ])
      let messages: unknown[] = []
      return async (question) => {
        messages = [...(question === 'AGAIN' ? messages : []), { role: 'user', content: question }]
        let answer = await model.invoke(messages)
        const [call] = answer.tool_calls ?? []
        if (call !== undefined) {
          messages.push(answer, { role: 'tool', tool_call_id: call.id, content: runOwn(call.args) })
          answer = await model.invoke(messages)
        }
        messages.push(answer)
        return answer.text
      }
    },
  },
  {
    packages: ['@ag-ui/client'],
    open: async (_baseURL, url) => {
      const { HttpAgent } = await load('@ag-ui/client')
      const open = (threadId: string) => new HttpAgent({ url: `${url}/agui`, threadId, headers: { authorization: `Bearer ${token}` } })
      let agent = open('first')
      return async (question) => {
        if (question !== 'AGAIN') agent = open(question)
        agent.addMessage({ id: crypto.randomUUID(), role: 'user', content: question })
        await agent.runAgent({ tools: [own] })
        const call = agent.messages.at(-1)?.toolCalls?.find(({ function: { name } }: { function: { name: string } }) => name === 'own')
        if (call !== undefined) {
          const content = runOwn(JSON.parse(call.function.arguments))
          agent.addMessage({ id: crypto.randomUUID(), role: 'tool', toolCallId: call.id, content })
          await agent.runAgent({ tools: [own] })
        }
        return String(agent.messages.at(-1)?.content)
      }
    },
  },
]

describe('libraries of other vendors, with the service as their model', () => {
  for (const { packages, open } of libraries) {
    const names = packages.map(versionOf).join(', ')
    it.skipIf(!packages.every(isThere))(`E1.7 ${names}: a greeting, a tool of its own, the agent's tool, a second turn`, async () => {
      await using agent = await startAgent()
      const ask = await open(`${agent.url}/v1`, agent.url)
      for (const [question, answer] of Object.entries(questions)) expect(await ask(question)).toMatch(answer)
    })
  }
})
