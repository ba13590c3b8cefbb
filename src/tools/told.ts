import { clip, messageOf, stackOf } from '../core/errors.ts'
import type { JsonObject } from '../core/messages.ts'
import { redactText, secretTexts } from '../core/redaction/redact.ts'
import type { AnyTool } from './tool.ts'

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

/** Behind the end of a call that timed out or was cancelled, if its tool does more than read. */
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

/** What the log may know of a failure: everything but the secrets the call carried. */
export function loggedFailure({ tool, args }: { tool: AnyTool; args: JsonObject }, thrown: unknown): object {
  if (thrown === undefined) return {}
  const secrets = secretTexts(args, new Set(tool.secrets))
  const stack = stackOf(thrown)
  return { error: redactText(messageOf(thrown), secrets), ...(stack === undefined ? {} : { stack: redactText(stack, secrets) }) }
}

const stackLine = /^\s+at .*(:\d+:\d+\)?|\((native|index \d+)\)|<anonymous>\)?)\r?$/

/** What the model is told of a thrown value: its message, without stack traces and without this machine's folders. */
export function failureText(thrown: unknown): string {
  const lines = messageOf(thrown).toWellFormed().replaceAll('file://', '').split('\n')
  let text = lines.filter((line) => !stackLine.test(line)).join('\n')
  // Importing Node's own modules loads all of each; importing this package is to cost next to nothing.
  const { homedir } = process.getBuiltinModule('node:os')
  for (const folder of [process.cwd(), homedir()]) if (folder.length > 1) text = withoutFolder(text, folder)
  return text.trim() === '' ? silentFailureText : text
}

/** `folder/file` becomes `file`, the folder itself `.`; not where its name is only a part of a longer path or word. */
function withoutFolder(text: string, folder: string): string {
  if (!text.includes(folder)) return text
  const path = new RegExp(`(?<![\\w./\\\\-])${folder.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&')}(?:[/\\\\](?=\\w|\\.|-)|(?!\\.?[\\w-]))`, 'g')
  return text.replace(path, (found) => (/[/\\]$/.test(found) && found.length > folder.length ? '' : '.'))
}
