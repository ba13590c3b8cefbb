import type { Command, Option } from 'commander'
import { ToolloopError } from '../../core/errors.ts'
import { EXIT_OK } from '../exit-codes.ts'
import { type CliIO, Terminal } from '../terminal/terminal.ts'

/** Shells run this command to get the completions at the cursor. It prints one completion per line: the word, a tab, and a description. */
const words = 'toolloop completion words --'

const scripts = {
  bash: `_toolloop() {
  local IFS=$'\\n'
  COMPREPLY=($(compgen -W "$(${words} "\${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null | cut -f1)" -- "\${COMP_WORDS[COMP_CWORD]}"))
}
complete -o default -F _toolloop toolloop
`,
  zsh: `#compdef toolloop
_toolloop() {
  local -a found
  found=("\${(@f)$(${words} "\${(@)words[2,CURRENT]}" 2>/dev/null | sed -e 's/:/\\\\:/g' -e 's/\\t/:/')}")
  if [[ -n $found ]]; then _describe toolloop found; else _files; fi
}
compdef _toolloop toolloop
`,
  fish: `complete -c toolloop -a '(${words} (commandline -opc)[2..] (commandline -ct) 2>/dev/null)'
`,
} as const

/**
 * `toolloop completion SHELL` prints a script that makes a shell complete commands and options. The script runs `toolloop completion words
 * -- …`, which prints the possible completions of a line. Resolves with the exit code.
 */
export async function completion(shell: string, line: readonly string[], program: Command, io: CliIO): Promise<number> {
  const terminal = new Terminal(io)
  if (shell === 'words') for (const { word, about } of candidates(program, line)) terminal.print(`${word}\t${about}`)
  else if (Object.hasOwn(scripts, shell)) terminal.print(scripts[shell as keyof typeof scripts].trimEnd())
  else throw new ToolloopError('invalid_option', `Expected one of ${Object.keys(scripts).join(', ')}, got \`${shell}\``)
  return EXIT_OK
}

interface Candidate {
  word: string
  about: string
}

/** Returns the possible completions. Returns an empty list if a file name or free text is expected. */
function candidates(program: Command, line: readonly string[]): Candidate[] {
  const [typed, last = ''] = [line.slice(0, -1), line.at(-1)]
  const { command, awaits } = readLine(program, typed)
  const found =
    awaits !== undefined
      ? (awaits.argChoices ?? []).map((word) => ({ word, about: awaits.description }))
      : last.startsWith('-')
        ? optionsOf(command).map(({ long, short, description }) => ({ word: long ?? short ?? '', about: description }))
        : command.commands.map((one) => ({ word: one.name(), about: one.description() }))
  return found.filter(({ word }) => word.startsWith(last))
}

/** Returns the command that the typed words select. If the last word is an option that needs a value, also returns this option. */
function readLine(program: Command, typed: readonly string[]): { command: Command; awaits?: Option | undefined } {
  let command = program
  let awaits: Option | undefined
  for (const word of typed) {
    const isValue = awaits !== undefined && (awaits.required || !word.startsWith('-'))
    awaits = isValue
      ? undefined
      : program.options.find(({ long, short, required, optional }) => [long, short].includes(word) && (required || optional))
    if (!isValue && !word.startsWith('-')) command = command.commands.find((one) => one.name() === word) ?? command
  }
  return { command, awaits }
}

function optionsOf(command: Command): readonly Option[] {
  return command.createHelp().visibleOptions(command)
}
