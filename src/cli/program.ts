import { Command, CommanderError, Help, type Option } from 'commander'
import { messageOf, ToolloopError } from '../core/errors.ts'
import { nearestName } from '../core/nearest-name.ts'
import { redactText } from '../core/redaction/redact.ts'
import { readable } from '../core/text/visible.ts'
import { version } from '../core/version.ts'
import { describeExitCodes, EXIT_FAILED, EXIT_OK, EXIT_USAGE } from './exit-codes.ts'
import { createOptions, type Flags } from './flags.ts'
import { withOwnCommand } from './setup/command-line.ts'
import { isClosedPipe } from './terminal/interrupts.ts'
import type { CliIO } from './terminal/terminal.ts'
import { wrapWords } from './terminal/wrap-words.ts'

interface CommandSpec {
  description: string
  arguments?: readonly [name: string, description: string][]
  options: readonly (keyof Flags)[]
  /** Runs the command and resolves with the exit code. Loads the command's module first. */
  run(flags: Flags, io: CliIO, args: readonly string[], program: Command): Promise<number>
}

/** Minimum number of columns for wrapping. In a narrower terminal, this program doesn't wrap lines. */
const roomForHelp = 19

const logging = ['verbose', 'quiet'] as const
const sources = ['tools', 'builtinTools', 'workspace', 'skills', 'unsandboxed'] as const
const bounds = [
  'maxIterations',
  'toolCalling',
  'codeMode',
  'instructions',
  'deadline',
  'timeout',
  'stream',
  'yes',
  'preview',
  'plain',
] as const
const agent = ['model', 'baseUrl', ...sources, ...bounds, ...logging] as const

/** All commands by name. For example, `tools list` is the command `list` of the group `tools`. */
const commands = {
  run: {
    description: 'answer one prompt (the default command)',
    arguments: [['[prompt...]', 'what to ask']],
    options: [...agent, 'json', 'events', 'record', 'journal', 'session'],
    run: async (flags, io, words) => (await import('./commands/run.ts')).run(words, flags, io),
  },
  chat: {
    description: 'hold a conversation',
    options: [...agent, 'session', 'resume'],
    run: async (flags, io) => (await import('./commands/chat.ts')).chat(flags, io),
  },
  replay: {
    description: 'replay a recorded run, and report where it first differs',
    arguments: [['<file>', 'what `toolloop run --record` wrote']],
    options: ['liveModel', 'liveTools', 'model', 'baseUrl', ...sources, 'instructions', 'record', 'json', ...logging],
    run: async (flags, io, [file = '']) => (await import('./commands/replay.ts')).replay(file, flags, io),
  },
  mcp: {
    description: 'serve the tools to MCP clients over standard input and output, or over HTTP',
    options: [...sources, 'timeout', 'http', 'host', 'port', ...logging],
    run: async (flags, io) => (await import('./commands/mcp/mcp.ts')).mcp(flags, io),
  },
  'mcp login': {
    description: 'sign in to an MCP server of the configuration in a browser',
    arguments: [['<name>', 'the server, by its name in `mcp.servers`']],
    options: ['config', ...logging],
    run: async (flags, io, [name = '']) => (await import('./commands/mcp/mcp-login.ts')).mcpLogin(name, flags, io),
  },
  'mcp logout': {
    description: 'forget the sign-in to an MCP server of the configuration',
    arguments: [['<name>', 'the server, by its name in `mcp.servers`']],
    options: ['config'],
    run: async (flags, io, [name = '']) => (await import('./commands/mcp/mcp-logout.ts')).mcpLogout(name, flags, io),
  },
  serve: {
    description: 'serve the agent over HTTP: an OpenAI-compatible API, runs and an admin page',
    options: ['model', 'baseUrl', 'tools', 'config', 'host', 'port', 'signInLink', ...logging],
    run: async (flags, io) => (await import('./commands/serve.ts')).serve(flags, io),
  },
  completion: {
    description: 'print a script that makes a shell complete commands and options',
    arguments: [
      ['<shell>', 'bash, zsh or fish'],
      ['[words...]', 'used by that script'],
    ],
    options: [],
    run: async (_flags, io, [shell = '', ...line], program) =>
      (await import('./commands/completion.ts')).completion(shell, line, program, io),
  },
  doctor: {
    description: 'check what is set up and which model a run would use',
    options: ['model', 'baseUrl', 'json'],
    run: async (flags, io) => (await import('./commands/doctor.ts')).doctor(flags, io),
  },
  init: {
    description: 'write a small project: an agent, its tools, a test and a configuration',
    arguments: [['[folder]', 'where (default: the current folder)']],
    options: [],
    run: async (_flags, io, [folder = '.']) => (await import('./commands/init.ts')).init(folder, io),
  },
  'runs list': {
    description: 'list the runs of a journal, the newest first',
    options: ['journal', 'status', 'stopReason', 'session', 'model', 'process', 'metadata', 'limit', 'json', 'quiet'],
    run: async (flags, io) => (await import('./commands/runs.ts')).listRuns(flags, io),
  },
  'runs show': {
    description: 'show the messages and calls of a run, and what it waits for',
    arguments: [['<run>', 'its id']],
    options: ['journal', 'json'],
    run: async (flags, io, [runId = '']) => (await import('./commands/runs.ts')).showRecorded(runId, flags, io),
  },
  'runs decide': {
    description: 'decide what a run waits for, and continue it',
    arguments: [['<run>', 'its id']],
    options: [...agent, 'journal', 'call', 'reject', 'answer', 'json', 'events'],
    run: async (flags, io, [runId = '']) => (await import('./commands/runs.ts')).decideRun(runId, flags, io),
  },
  'runs resume': {
    description: 'continue a run that a process has abandoned',
    arguments: [['<run>', 'its id']],
    options: [...agent, 'journal', 'json', 'events'],
    run: async (flags, io, [runId = '']) => (await import('./commands/runs.ts')).resumeRun(runId, flags, io),
  },
  'runs export': {
    description: 'print all of a run as JSON, without secrets',
    arguments: [['<run>', 'its id']],
    options: ['journal', 'record'],
    run: async (flags, io, [runId = '']) => (await import('./commands/runs-export.ts')).exportRun(runId, flags, io),
  },
  'runs cancel': {
    description: 'end a run, even one that waits',
    arguments: [['<run>', 'its id']],
    options: ['journal'],
    run: async (flags, io, [runId = '']) => (await import('./commands/runs.ts')).cancelRun(runId, flags, io),
  },
  'tools list': {
    description: 'list the tools a run would have',
    options: [...sources, 'json', ...logging],
    run: async (flags, io) => (await import('./commands/tools.ts')).listTools(flags, io),
  },
  'tools call': {
    description: 'call a tool',
    arguments: [
      ['<name>', 'the tool'],
      ['[json]', 'its arguments, as a JSON object (default: {})'],
    ],
    options: [...sources, 'timeout', 'json', ...logging],
    run: async (flags, io, [name = '', json = '{}']) => (await import('./commands/tools.ts')).callTool(name, json, flags, io),
  },
  'skills list': {
    description: 'list the Skills that were found',
    options: ['skills', 'json'],
    run: async (flags, io) => (await import('./commands/skills.ts')).listSkills(flags, io),
  },
  'skills validate': {
    description: 'report what is wrong with a Skill',
    arguments: [['<path>', 'its folder, or a folder of Skills']],
    options: ['json'],
    run: async (flags, io, [path = '']) => (await import('./commands/skills.ts')).validateSkills(path, flags, io),
  },
  'skills run': {
    description: 'run a script of a Skill in the sandbox',
    arguments: [
      ['<skill>', 'the name of the Skill, or its folder'],
      ['<script>', 'a path inside its folder, such as scripts/convert.py'],
      ['[args...]', 'arguments of the script; put them after `--` if they start with a hyphen'],
    ],
    options: ['skills', 'workspace', 'unsandboxed', 'timeout', 'json', ...logging],
    run: async (flags, io, [skill = '', script = '', ...args]) =>
      (await import('./commands/skills.ts')).runSkill(skill, script, args, flags, io),
  },
} satisfies Record<string, CommandSpec>

const groups = new Map([
  ['runs', 'list, show, decide, resume, export or cancel the runs of a journal: those of `toolloop run --journal`'],
  ['tools', 'list tools, or call one without a model'],
  ['skills', 'list, validate or run Agent Skills: from --skills, the project and your home folder'],
])

/** Runs the command line in this process, and ends the process with the command's exit code. */
export async function runProgram(args: readonly string[]): Promise<void> {
  const { stdin, stdout, stderr, env } = process
  let failure: Error | undefined
  stdout.on('error', (error) => {
    if (!isClosedPipe(error)) failure ??= error
  })
  // If stderr is broken, errors can't be reported, so the errors of stderr are ignored.
  stderr.on('error', () => {})
  let code = await runCommand(args, { stdin, stdout, stderr, env, cwd: process.cwd() })
  // Waits until stdout and stderr are written, because on some systems pipes are written asynchronously.
  await Promise.all(
    [stdout, stderr].map((stream) => new Promise((resolve) => (stream.writable ? stream.write('', resolve) : resolve(undefined)))),
  )
  if (failure !== undefined) {
    stderr.write(`error: standard output can't be written: ${failure.message}\n`)
    code ||= EXIT_FAILED
  }
  // The command is done, but tools may have left connections and timers open, which would keep the process alive.
  process.exit(code)
}

/** Runs a command line. Resolves with its exit code. */
export async function runCommand(args: readonly string[], io: CliIO): Promise<number> {
  let code = EXIT_OK
  const program = createProgram(io, (result) => {
    code = result
  })
  try {
    await program.parseAsync(args, { from: 'user' })
    return code
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode === 0 ? EXIT_OK : EXIT_USAGE
    return reportFailure(error, io, program.opts<Flags>().verbose === true)
  }
}

/**
 * Reports an error in one line. An option, file or module that can't be used is a usage error; anything else means that the command failed.
 */
function reportFailure(error: unknown, io: CliIO, verbose: boolean): number {
  const isUsage = ToolloopError.isInstance(error) && error.fault === 'programmer'
  const message = redactText(withOwnCommand(messageOf(error), io.env))
  io.stderr.write(fitted(`error: ${io.stderr.isTTY ? readable(message) : message}\n`, io.stderr))
  if (verbose && error instanceof Error) io.stderr.write(`${error.stack}\n${error.cause instanceof Error ? `${error.cause.stack}\n` : ''}`)
  return isUsage ? EXIT_USAGE : EXIT_FAILED
}

function createProgram(io: CliIO, done: (code: number) => void): Command {
  const program = new Command('toolloop')
    .description('Runs a tool-using agent: asks a model and runs the tools it calls until it answers or a limit is reached.')
    .version(version, '-V, --version')
    .usage('[options] [prompt…]\n       toolloop chat|serve|init|replay|runs|tools|skills|mcp|doctor|completion [options]')
    .argument(
      '[prompt...]',
      'what to ask; `-`, or no prompt with piped input, reads it from standard input; no prompt on a terminal starts a chat',
    )
    .configureOutput({
      writeOut: (text) => void io.stdout.write(fitted(withOwnCommand(text, io.env), io.stdout)),
      writeErr: (text) => void io.stderr.write(fitted(withOwnCommand(text, io.env), io.stderr)),
      // Turns off commander's own wrapping, which fails if there is little space beside the options.
      ...(io.stdout.isTTY === true && { getOutHelpWidth: () => Number.MAX_SAFE_INTEGER }),
      ...(io.stderr.isTTY === true && { getErrHelpWidth: () => Number.MAX_SAFE_INTEGER }),
    })
    .showHelpAfterError('(toolloop --help lists the options)')
    .helpCommand(true)
    .exitOverride()
    .action(async (words: string[]) => {
      refuseMistypedCommand(words, program)
      await (opensChat(words, program, io) ? start('chat', commands.chat, []) : start('run', commands.run, words))
    })
  const start = async (name: string, command: CommandSpec, args: readonly string[]): Promise<void> => {
    checkOptions(program, name, command)
    done(await command.run(program.opts<Flags>(), io, args, program))
  }
  for (const option of createOptions()) program.addOption(option)
  program.addHelpText('after', `\n${examples}\n\nExit codes\n${describeExitCodes()}`)
  for (const [name, spec] of Object.entries<CommandSpec>(commands)) {
    const [group = '', own] = name.split(' ')
    const command = own === undefined ? program.command(name) : groupOf(program, group).command(own)
    command.description(spec.description)
    for (const [argument, about] of spec.arguments ?? []) command.argument(argument, about)
    const visibleOptions = (of: Command) => [...program.options.filter((option) => takes(spec, option)), ...new Help().visibleOptions(of)]
    command.configureHelp({ visibleOptions }).action(() => start(name, spec, command.args))
  }
  return program
}

/** Wraps lines to the width of the terminal. For a file or pipe, returns them unchanged. */
function fitted(text: string, { isTTY, columns = 80 }: CliIO['stdout']): string {
  if (isTTY !== true) return text
  return text
    .split('\n')
    .flatMap((line) => wrapWords(line, Math.max(roomForHelp, columns - 1)))
    .join('\n')
}

function groupOf(program: Command, name: string): Command {
  return program.commands.find((one) => one.name() === name) ?? program.command(name).description(groups.get(name) ?? '')
}

/** Whether to open a chat: on a terminal, `toolloop` without arguments means `toolloop chat`. */
function opensChat(words: readonly string[], program: Command, { stdin, stdout, stderr }: CliIO): boolean {
  const { json, events } = program.opts<Flags>()
  return words.length === 0 && !json && !events && [stdin, stdout, stderr].every(({ isTTY }) => isTTY)
}

/**
 * Rejects a word that is nearly a command, and a command whose first word is mistyped. Without this check, the words would be sent as a
 * prompt.
 */
function refuseMistypedCommand(words: readonly string[], program: Command): void {
  const [word = '', second] = words
  if (!/^[\w-]+$/.test(word)) return
  const commands = program.commands.filter((command) => second === undefined || command.commands.some((one) => one.name() === second))
  const meant = nearestName(word, [...commands.map((command) => command.name()), ...(second === undefined ? ['help'] : [])])
  if (meant === undefined) return
  program.error(`error: unknown command '${word}'\n(Did you mean ${meant}? To send it as a prompt: toolloop run ${words.join(' ')})`)
}

/** Refuses options that have no meaning for the command. Without this check, they would be ignored. */
function checkOptions(program: Command, name: string, command: CommandSpec): void {
  for (const option of program.options) {
    if (program.getOptionValueSource(option.attributeName()) === 'cli' && !takes(command, option))
      program.error(`error: \`toolloop ${name}\` does not take ${option.flags}`)
  }
  const { json, events } = program.opts<Flags>()
  if (json && events) program.error('error: expected one of --json and --events, got both')
}

function takes({ options }: CommandSpec, option: Option): boolean {
  return options.some((name) => name === option.attributeName())
}

const examples = `Examples
  toolloop "How many TypeScript files are in this project?"
  toolloop -m openai/gpt-6.1-sol "Which of these tests are slow, and why?"
  toolloop -m llama3.2 --base-url http://localhost:11434/v1 "Sum up README.md"
  git diff | toolloop -i "Review this change." > review.md
  toolloop --tools ./my-tools.ts --json "What is the weather in Tokyo?" | jq -r .output
  toolloop chat -m deepseek/deepseek-flash
  toolloop chat --session plans       # starts or continues the conversation plans
  toolloop chat --resume              # offers the conversations of this folder
  toolloop run --record sum.json "How much is 17 * 23?" && toolloop replay sum.json
  toolloop tools call calculate '{"expression": "2 ** 64"}'
  toolloop skills run csv-tools scripts/total.py -- --column price prices.csv
  toolloop mcp --tools ./my-tools.ts --no-builtin-tools
  toolloop run --journal runs.sqlite "Pay Ada back." && toolloop runs list --journal runs.sqlite
  toolloop serve --port 8080
  toolloop doctor
  toolloop run chart       # a one-word prompt that looks like a mistyped command

The answer goes to standard output, everything else to standard error.

Without --model, the first of these that is set or found decides: TOOLLOOP_MODEL, \`model\` in ./toolloop.yaml or \
./config/toolloop.yaml, a provider's API key in the environment, a model server on this machine (Ollama, LM Studio, \
vLLM), the demo model. \`toolloop doctor\` shows which one.

Environment
  TOOLLOOP_MODEL    the model to use without --model
  OPENAI_API_KEY…   a provider's key; config/providers.yaml lists all names
  OLLAMA_HOST, LMSTUDIO_HOST, VLLM_HOST  the addresses of these servers, if not the default ports on this machine
  TOOLLOOP_HISTORY  the file of earlier prompts, instead of ~/.toolloop/history; empty: neither prompts nor chats are kept
  TOOLLOOP_JOURNAL  the journal of toolloop run and toolloop runs without --journal
  TOOLLOOP_TOKEN    the token of toolloop serve; without it a random one is printed
  NO_COLOR, FORCE_COLOR  turn colors off or on`
