import type { Flags } from '../flags.ts'

/** The command that decides a run, with the options of the command that started it. */
export function decideCommand(runId: string, flags: Flags): string {
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
  return ['toolloop runs decide', runId, ...options.map(shellWord)].join(' ')
}

/** Quotes a word for a shell. */
export function shellWord(text: string): string {
  return /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`
}
