import { examplesFor } from '../../models/demo/talk.ts'
import { type AnyTool, definitionsOf } from '../../tools/tool.ts'

const mostTools = 8
const mostExamples = 3

/**
 * Returns lines that say what a person can do in a new chat: the folder, the tools, examples that work there, and how to get a language
 * model.
 */
export function introduction(
  folder: string,
  tools: readonly AnyTool[],
  { isDemo, home }: { isDemo: boolean; home: string | undefined },
): string[] {
  const names = tools.map(({ name, approval }) => (approval ? `${name} (asks first)` : name))
  const more = names.length > mostTools ? `, … ${names.length - mostTools} more: /tools` : ''
  const where = home && folder.startsWith(`${home}/`) ? `~${folder.slice(home.length)}` : folder
  // Leaves out examples with a placeholder. Only the demo model understands examples that call a tool by name.
  const works = (text: string) => !text.includes('…') && (isDemo || !text.startsWith('call '))
  const examples = [...new Set(examplesFor(definitionsOf(tools)).map(({ text }) => text))].filter(works).slice(0, mostExamples)
  return [
    `folder: ${where}`,
    `tools: ${names.length === 0 ? 'none; --tools FILE adds some' : `${names.slice(0, mostTools).join(', ')}${more}`}`,
    ...(examples.length === 0 ? [] : [`try: ${examples.join(' · ')}`]),
    ...(isDemo
      ? ['a language model: set the key of a provider, such as OPENAI_API_KEY, or start Ollama; toolloop doctor shows what is found']
      : []),
  ]
}
