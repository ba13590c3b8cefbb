import { messageOf } from '../core/errors.ts'
import { redactText, secretTexts } from '../core/logger.ts'
import type { PreparedCall } from './arguments.ts'
import { silentFailureText } from './told.ts'

/** What the log may know of a failure: everything but the secrets the call carried. */
export function loggedFailure({ tool, args }: Pick<PreparedCall, 'tool' | 'args'>, thrown: unknown): object {
  if (thrown === undefined) return {}
  const secrets = secretTexts(args, new Set(tool.secrets))
  const stack = stackOf(thrown)
  return { error: redactText(messageOf(thrown), secrets), ...(stack === undefined ? {} : { stack: redactText(stack, secrets) }) }
}

function stackOf(thrown: unknown): string | undefined {
  try {
    return thrown instanceof Error && typeof thrown.stack === 'string' ? thrown.stack : undefined
  } catch {
    return undefined // A getter or a proxy that throws: then there is no stack to show.
  }
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
