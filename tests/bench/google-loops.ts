/** Over Gemini's generateContent: our loop, and one written by hand on `fetch`. */
import { definitions, type Loop, oursWith, prompt, runByHand } from './loops.ts'

export const oursOverGoogle: Loop = oursWith({ provider: 'google', model: 'gemini-bench', apiKey: 'key' })

const functionDeclarations = definitions.map(({ function: { name, description, parameters } }) => ({
  name,
  description,
  parametersJsonSchema: parameters,
}))

interface Part {
  text?: string
  functionCall?: { name: string; args: object }
  thoughtSignature?: string
}

interface Chunk {
  candidates: { content: { parts: Part[] } }[]
}

export const handWrittenGoogle: Loop = async ({ url, stream, onText }) => {
  const contents: object[] = [{ role: 'user', parts: [{ text: prompt }] }]
  while (true) {
    const method = stream ? 'streamGenerateContent?alt=sse' : 'generateContent'
    const response = await fetch(`${url}/v1/models/gemini-bench:${method}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'x-goog-api-key': 'key' },
      body: JSON.stringify({ contents, tools: [{ functionDeclarations }] }),
    })
    if (!response.ok || response.body === null) throw new Error(`HTTP ${response.status}`)
    let text = ''
    const calls: Part[] = []
    const take = ({ candidates }: Chunk) => {
      for (const part of candidates[0]?.content.parts ?? []) {
        if (part.functionCall !== undefined) calls.push(part)
        else if (part.text) {
          text += part.text
          onText?.(part.text)
        }
      }
    }
    if (stream) {
      const decoder = new TextDecoder()
      let rest = ''
      for await (const bytes of response.body) {
        const lines = (rest + decoder.decode(bytes, { stream: true })).split('\r\n')
        rest = lines.pop() ?? ''
        for (const line of lines) if (line.startsWith('data: ')) take(JSON.parse(line.slice(6)))
      }
    } else take(JSON.parse(await response.text()))
    if (calls.length === 0) return text.length
    contents.push({ role: 'model', parts: text === '' ? calls : [{ text }, ...calls] })
    const parts = calls.map(({ functionCall: { name, args } = { name: '', args: {} } }) => ({
      functionResponse: { name, response: { output: String(runByHand(name, JSON.stringify(args))) } },
    }))
    contents.push({ role: 'user', parts })
  }
}
