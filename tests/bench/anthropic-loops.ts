/** Over the Messages API: our loop, and one written by hand on `fetch`. */
import { definitions, type Loop, oursWith, prompt, runByHand } from './loops.ts'

export const oursOverAnthropic: Loop = oursWith({ provider: 'anthropic', model: 'bench', apiKey: 'sk-ant-bench' })

const tools = definitions.map(({ function: { name, description, parameters } }) => ({ name, description, input_schema: parameters }))

interface Block {
  type: string
  text?: string
  id?: string
  name?: string
  input?: object
}

interface StreamEvent {
  type: string
  index: number
  content_block: Block
  delta: { type: string; text: string; partial_json: string }
}

export const handWrittenAnthropic: Loop = async ({ url, stream, onText }) => {
  const messages: object[] = [{ role: 'user', content: prompt }]
  while (true) {
    const response = await fetch(`${url}/v1/messages`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'x-api-key': 'key', 'anthropic-version': '2023-06-01' },
      body: JSON.stringify({ model: 'bench', max_tokens: 32_000, messages, tools, stream }),
    })
    if (!response.ok || response.body === null) throw new Error(`HTTP ${response.status}`)
    let text = ''
    let content: Block[] = []
    const json: string[] = []
    const take = ({ type, index, content_block: block, delta }: StreamEvent) => {
      if (type === 'content_block_start') {
        content[index] = block
        json[index] = ''
      } else if (type === 'content_block_delta' && delta.type === 'text_delta') {
        text += delta.text
        onText?.(delta.text)
      } else if (type === 'content_block_delta') json[index] += delta.partial_json
    }
    if (stream) {
      const decoder = new TextDecoder()
      let rest = ''
      for await (const bytes of response.body) {
        const lines = (rest + decoder.decode(bytes, { stream: true })).split('\n')
        rest = lines.pop() ?? ''
        for (const line of lines) if (line.startsWith('data: ')) take(JSON.parse(line.slice(6)))
      }
      content = content.map((block, index) =>
        block.type === 'text' ? { ...block, text } : { ...block, input: JSON.parse(json[index] || '{}') },
      )
    } else {
      content = JSON.parse(await response.text()).content
      text = content.map((block) => block.text ?? '').join('')
    }
    const calls = content.filter(({ type }) => type === 'tool_use')
    if (calls.length === 0) return text.length
    messages.push({ role: 'assistant', content })
    const results = calls.map(({ id, name = '', input }) => ({
      type: 'tool_result',
      tool_use_id: id,
      content: String(runByHand(name, JSON.stringify(input))),
    }))
    messages.push({ role: 'user', content: results })
  }
}
