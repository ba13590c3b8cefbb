import { clip } from '../core/errors.ts'

// What a model is told of its calls, where no run is needed to tell it. Sentences of runs are in `agent/told.ts`.

/** A name that is not there is answered with those that are; with thousands, the answer would be longer than anything else in the conversation. */
const mostNames = 100

/** What a call to a tool that is not there gets as its result. Of very many names, those first that have a word in common with it. */
export function notFoundText(name: string, names: readonly string[]): string {
  if (names.length === 0) return `Tool not found: ${clip(name)}. No tools are available.`
  const words =
    clip(name)
      .toLowerCase()
      .match(/[a-z0-9]{3,}/g) ?? []
  const isLike = (other: string) => words.some((word) => other.toLowerCase().includes(word))
  const listed =
    names.length <= mostNames ? names : [...names.filter(isLike), ...names.filter((other) => !isLike(other))].slice(0, mostNames)
  const more = names.length > listed.length ? ` and ${names.length - listed.length} more` : ''
  return `Tool not found: ${clip(name)}. Available tools: ${listed.join(', ')}${more}.`
}

export function unreadableArgumentsText(tool: string, problem: string, received: string): string {
  return `Arguments of tool \`${tool}\` could not be read: ${problem}. Expected one JSON object. Received: ${received}`
}

export function invalidArgumentsText(tool: string, problems: readonly string[]): string {
  return `Invalid arguments for tool \`${tool}\`: ${problems.join('; ')}. Correct them and call it again.`
}

export function checkTimedOutText(tool: string, milliseconds: number): string {
  return `Tool \`${tool}\` was not run: checking its arguments timed out after ${milliseconds} ms.`
}

export function timedOutText(tool: string, milliseconds: number): string {
  return `Tool \`${tool}\` timed out after ${milliseconds} ms.`
}

export function cancelledText(tool: string): string {
  return `Tool \`${tool}\` was cancelled: the run ended before it finished.`
}

export function unaskedText(tool: string): string {
  return `Tool \`${tool}\` needs an approval, and nobody was asked. It was not run.`
}

export function clientToolText(tool: string): string {
  return `Tool \`${tool}\` is not run here: its caller runs it.`
}

export const silentFailureText = 'The tool failed without saying why.'
