import { clip, messageOf, stackOf } from '../core/errors.ts'
import type { JsonObject } from '../core/messages.ts'
import { redactText, secretTexts } from '../core/redaction/redact.ts'
import type { AnyTool } from './tool.ts'

// Texts for the model that concern a single call and don't depend on a run. Texts about runs are in `agent/run-texts.ts`.

/**
 * Maximum number of known names to list in the error about an unknown name. Thousands of names would be longer than the rest of the
 * conversation.
 */
const mostNames = 100

/**
 * Returns the result of a call to an unknown tool. If there are very many names, names that share a word with the unknown name come first.
 */
export function notFoundText(name: string, names: readonly string[]): string {
  if (names.length === 0) return `Tool not found: ${harmless(clip(name))}. No tools are available.`
  const words =
    clip(name)
      .toLowerCase()
      .match(/[a-z0-9]{3,}/g) ?? []
  const isLike = (other: string) => words.some((word) => other.toLowerCase().includes(word))
  const listed =
    names.length <= mostNames ? names : [...names.filter(isLike), ...names.filter((other) => !isLike(other))].slice(0, mostNames)
  const more = names.length > listed.length ? ` and ${names.length - listed.length} more` : ''
  return `Tool not found: ${harmless(clip(name))}. Available tools: ${listed.join(', ')}${more}.`
}

export function unreadableArgumentsText(tool: string, problem: string, received: string): string {
  return `Arguments of tool \`${tool}\` could not be read: ${harmless(problem)}. Expected one JSON object. Received: ${harmless(received)}`
}

/**
 * Breaks up control tokens, because a model would imitate them or mistake them for its own tokens:
 * https://github.com/anomalyco/opencode/issues/37297
 */
function harmless(text: string): string {
  return text.replace(/<(?=[|｜])|(?<=[|｜])>/g, '')
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

/** Appended to the result text of a call that timed out or was cancelled, unless its tool only reads. */
export const mayHaveTakenEffectText = 'It may have taken effect.'
export const notTakenEffectText = 'It had not taken effect when this was checked.'

export function tookEffectText(result: string): string {
  return `It has taken effect. Its result: ${result}`
}

export function unaskedText(tool: string): string {
  return `Tool \`${tool}\` needs an approval, and nobody was asked. It was not run.`
}

export function clientToolText(tool: string): string {
  return `Tool \`${tool}\` is not run here: its caller runs it.`
}

const silentFailureText = 'The tool failed without saying why.'

/** Returns the fields to log for a failure, without the secrets in the call's arguments. */
export function loggedFailure({ tool, args }: { tool: AnyTool; args: JsonObject }, thrown: unknown): object {
  if (thrown === undefined) return {}
  const secrets = secretTexts(args, new Set(tool.secrets))
  const stack = stackOf(thrown)
  return { error: redactText(messageOf(thrown), secrets), ...(stack === undefined ? {} : { stack: redactText(stack, secrets) }) }
}

const stackLine = /^\s+at .*(:\d+:\d+\)?|\((native|index \d+)\)|<anonymous>\)?)\r?$/

/** Returns the text that the model sees for a thrown value: its message, without stack traces and without folders of this machine. */
export function failureText(thrown: unknown): string {
  const lines = messageOf(thrown).toWellFormed().replaceAll('file://', '').split('\n')
  let text = lines.filter((line) => !stackLine.test(line)).join('\n')
  // `node:os` is loaded here, because importing a built-in module loads it completely, and importing this package must stay cheap.
  const { homedir } = process.getBuiltinModule('node:os')
  for (const folder of [process.cwd(), homedir()]) if (folder.length > 1) text = withoutFolder(text, folder)
  return text.trim() === '' ? silentFailureText : text
}

/** Converts `folder/file` to `file`, and the folder itself to `.`. A folder's name inside a longer path or word stays unchanged. */
function withoutFolder(text: string, folder: string): string {
  if (!text.includes(folder)) return text
  const path = new RegExp(`(?<![\\w./\\\\-])${folder.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&')}(?:[/\\\\](?=\\w|\\.|-)|(?!\\.?[\\w-]))`, 'g')
  return text.replace(path, (found) => (/[/\\]$/.test(found) && found.length > folder.length ? '' : '.'))
}
