import type { ToolDefinition } from '../../../tools/tool.ts'

/** What the demo is, said wherever a user could take it for more. */
export const whatItIs = "I am toolloop's built-in demo model: a small set of rules, no language model, no key, no network."

/** How to get a real one. */
export const howToUpgrade =
  'For a real model, set OPENAI_API_KEY and use `--model openai/gpt-5.2`, or run a local one with Ollama and use `--model ollama/<name>`.'

const abilities: [tool: string, example: string][] = [
  ['list_files', 'How many TypeScript files are under src, which is the longest, and what is its line count times 37?'],
  ['list_files', 'Are there more Markdown files under docs or tests?'],
  ['search_files', 'Which files under src mention “TODO”?'],
  ['read_file', 'Show the first 10 lines of README.md.'],
  ['calculate', 'What is 15% of 240?'],
  ['current_time', 'What day is it in Tokyo?'],
  ['fetch_url', 'Fetch https://example.com and tell me its title.'],
]

/** What can be asked with the tools on offer: examples, and how to call a tool by name. */
export function whatItCan(tools: readonly ToolDefinition[]): string {
  const offered = new Set(tools.map(({ function: { name } }) => name))
  const examples = abilities.filter(([tool]) => offered.has(tool)).map(([, example]) => `- ${example}`)
  const own = tools.filter(({ function: { name } }) => !abilities.some(([tool]) => tool === name))
  const calls = own.slice(0, 3).map((tool) => `- ${exampleCall(tool)}`)
  if (examples.length + calls.length === 0) return 'I answer by calling tools, and none that I know are offered to me here.'
  const intro =
    examples.length > 0
      ? 'With the tools offered here I can answer questions such as:'
      : 'I can call the tools offered here when they are named:'
  return [
    intro,
    ...examples,
    ...(calls.length > 0 && examples.length > 0 ? ['and call other tools when they are named:'] : []),
    ...calls,
  ].join('\n')
}

const placeholders = new Map(Object.entries({ number: '1', integer: '1', boolean: 'true', array: '[]', object: '{}' }))

/** A call of a tool with its required arguments left open. */
function exampleCall({ function: { name, parameters } }: ToolDefinition): string {
  const properties: unknown = parameters?.properties
  const required: unknown = parameters?.required
  const all = typeof properties === 'object' && properties !== null ? Object.entries(properties) : []
  const shown = all.filter(([key]) => !Array.isArray(required) || required.includes(key)).slice(0, 4)
  const args = shown.map(([key, property]) => {
    const type: unknown = typeof property === 'object' && property !== null && 'type' in property ? property.type : undefined
    return `${JSON.stringify(key)}: ${(typeof type === 'string' ? placeholders.get(type) : undefined) ?? '"…"'}`
  })
  return args.length === 0 ? `call ${name}` : `call ${name} with {${args.join(', ')}}`
}
