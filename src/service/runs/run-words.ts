import type { OutcomeSummary, RunHead } from './stored-run.ts'

/** Characters of an answer that a run is found by. */
const mostOfAnswer = 2_000

/** What a run is found by besides its title, a line for each, in lower case: `tool:search` finds those that called that tool. */
export function wordsOf(id: string, { caller, agent }: Pick<RunHead, 'caller' | 'agent'>, summary?: OutcomeSummary): string {
  const { tools = [], output = '', error } = summary ?? {}
  const lines = [id, `user:${caller.name}`, `model:${agent}`, ...tools.map((tool) => `tool:${tool}`), output.slice(0, mostOfAnswer)]
  if (error !== undefined) lines.push(error.code, error.message.slice(0, mostOfAnswer))
  return lines.join('\n').toLowerCase()
}
