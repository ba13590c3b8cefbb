import { AgentRunner, createModel, defineTool } from 'toolloop'

const weather = defineTool({
  name: 'weather',
  description: 'The weather of a city.',
  parameters: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
  execute: ({ city }) => `It is 21 °C in ${city}.`,
})

/** Returns the text of a run in which the model may call the tool. */
export async function ask(model: string, baseURL: string): Promise<string> {
  const [provider = '', name = ''] = model.split('/')
  const runner = new AgentRunner({ model: createModel({ provider, model: name, baseURL, apiKey: 'none' }), tools: [weather] })
  let answer = ''
  for await (const text of runner.stream('How is the weather in Berlin?').text) answer += text
  return answer
}
