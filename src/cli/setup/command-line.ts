import type { Flags } from '../flags.ts'
import type { CliIO } from '../terminal/terminal.ts'

/** Returns the command that started this program. Used in messages, so that people can copy it. */
export function commandOf({ npm_lifecycle_event: script }: CliIO['env']): string {
  if (script === 'start') return 'npm start --'
  return script === 'npx' ? 'npx toolloop' : 'toolloop'
}

/** Replaces `toolloop` in a text by the command that started this program. */
export function withOwnCommand(text: string, env: CliIO['env']): string {
  return text.replaceAll(/(?<!npx |[\w./@-])toolloop(?= [a-z"-])/g, commandOf(env))
}

/** Returns the `toolloop runs decide` command for a run. It repeats the options of the command that started the run. */
export function decideCommand(runId: string, flags: Flags, env: CliIO['env']): string {
  const {
    model,
    baseUrl,
    tools = [],
    builtinTools,
    workspace,
    skills = [],
    unsandboxed,
    codeMode,
    preview,
    toolCalling,
    instructions,
    journal,
  } = flags
  const values = { model, 'base-url': baseUrl, workspace, 'tool-calling': toolCalling, instructions, journal }
  const options = [
    ...Object.entries(values).flatMap(([name, value]) => (value === undefined ? [] : [`--${name}`, value])),
    ...tools.flatMap((file) => ['--tools', file]),
    ...skills.flatMap((folder) => ['--skills', folder]),
    ...(builtinTools ? [] : ['--no-builtin-tools']),
    ...(unsandboxed ? ['--unsandboxed'] : []),
    ...(codeMode ? ['--code-mode'] : []),
    ...(preview ? ['--preview'] : []),
  ]
  return [commandOf(env), 'runs', 'decide', runId, ...options.map(shellWord)].join(' ')
}

/** Quotes a word for a shell. */
export function shellWord(text: string): string {
  return /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`
}
