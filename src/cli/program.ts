import { Command, CommanderError, Help, InvalidArgumentError, Option } from 'commander'
import { messageOf, ToolloopError } from '../core/errors.ts'
import { redactText } from '../core/logger.ts'
import { nearestName } from '../core/nearest-name.ts'
import { ownVersion } from '../core/own-package.ts'
import type { DoctorFlags } from './commands/doctor.ts'
import type { ServeFlags } from './commands/serve.ts'
import type { ToolsFlags } from './commands/tools.ts'
import { describeExitCodes, EXIT_FAILED, EXIT_OK, EXIT_USAGE } from './exit-codes.ts'
import type { AgentFlags, RunFlags } from './setup/agent-flags.ts'
import { isClosedPipe } from './terminal/interrupts.ts'
import type { CliIO } from './terminal/terminal.ts'

/** Which options a command takes, by the names commander gives them. All are the program's, so that they may stand before the command too. */
const toolOptions = ['tools', 'builtinTools', 'workspace', 'skills', 'unsandboxed']
const agentOptions = [
  'model',
  'baseUrl',
  ...toolOptions,
  'maxIterations',
  'toolCalling',
  'instructions',
  'deadline',
  'timeout',
  'stream',
  'yes',
  'verbose',
  'quiet',
]
const optionsOf: Record<string, ReadonlySet<string>> = {
  run: new Set([...agentOptions, 'json', 'events']),
  chat: new Set(agentOptions),
  mcp: new Set([...toolOptions, 'timeout', 'verbose', 'quiet']),
  serve: new Set(['model', 'baseUrl', 'tools', 'config', 'host', 'port', 'verbose', 'quiet']),
  doctor: new Set(['model', 'baseUrl', 'json']),
  'tools list': new Set([...toolOptions, 'json', 'verbose', 'quiet']),
  'tools call': new Set([...toolOptions, 'timeout', 'json', 'verbose', 'quiet']),
  'skills list': new Set(['skills', 'json']),
  'skills validate': new Set(['json']),
  'skills run': new Set(['skills', 'workspace', 'unsandboxed', 'timeout', 'json', 'verbose', 'quiet']),
}

/** Runs the command line on this process and ends it, with the command's exit code. */
export async function runProgram(args: readonly string[]): Promise<void> {
  const { stdin, stdout, stderr, env } = process
  let failure: Error | undefined
  stdout.on('error', (error) => {
    if (!isClosedPipe(error)) failure ??= error
  })
  // Without stderr there is nowhere left to say anything.
  stderr.on('error', () => {})
  let code = await runCommand(args, { stdin, stdout, stderr, env, cwd: process.cwd() })
  // On some systems pipes are written in the background.
  await Promise.all(
    [stdout, stderr].map((stream) => new Promise((resolve) => (stream.writable ? stream.write('', resolve) : resolve(undefined)))),
  )
  if (failure !== undefined) {
    stderr.write(`error: standard output can't be written: ${failure.message}\n`)
    code ||= EXIT_FAILED
  }
  // Tools may have left connections and timers behind; the command is done all the same.
  process.exit(code)
}

/** Runs one command line; resolves with its exit code. */
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
    return reportFailure(error, io, program.opts<AgentFlags>().verbose === true)
  }
}

/** An option, file or module that can't be used is told in one line; anything else is a fault of the command's own. */
function reportFailure(error: unknown, io: CliIO, verbose: boolean): number {
  const isUsage = ToolloopError.isInstance(error) && error.fault === 'programmer'
  io.stderr.write(`error: ${redactText(messageOf(error))}\n`)
  if (verbose && error instanceof Error) io.stderr.write(`${error.stack}\n${error.cause instanceof Error ? `${error.cause.stack}\n` : ''}`)
  return isUsage ? EXIT_USAGE : EXIT_FAILED
}

function createProgram(io: CliIO, done: (code: number) => void): Command {
  const program = new Command('toolloop')
    .description('Runs a tool-using agent: asks a model and runs the tools it calls until it answers or a limit is reached.')
    .version(ownVersion(), '-V, --version')
    .usage('[options] [prompt…]\n       toolloop chat|serve|tools|skills|mcp|doctor [options]')
    .argument(
      '[prompt...]',
      'what to ask; `-`, or no prompt with piped input, reads it from standard input; no prompt on a terminal starts a chat',
    )
    .configureOutput({ writeOut: (text) => void io.stdout.write(text), writeErr: (text) => void io.stderr.write(text) })
    .showHelpAfterError('(toolloop --help lists the options)')
    .helpCommand(true)
    .exitOverride()
    .action(async (words: string[]) => {
      refuseMistypedCommand(words, program)
      done(await (opensChat(words, program, io) ? startChat(program, io) : startRun(words, program, io)))
    })
  for (const option of createOptions()) program.addOption(option)
  program.addHelpText('after', `\n${examples}\n\nExit codes\n${describeExitCodes()}`)

  addCommand(program, 'run', 'answer one prompt (the default command)')
    .argument('[prompt...]', 'what to ask')
    .action(async (words: string[]) => done(await startRun(words, program, io)))
  addCommand(program, 'chat', 'hold a conversation, one prompt per line').action(async () => {
    done(await startChat(program, io))
  })
  addCommand(program, 'mcp', 'serve the tools to MCP clients over standard input and output').action(async () => {
    checkOptions(program, 'mcp')
    const { mcp } = await import('./commands/mcp.ts')
    done(await mcp(program.opts<AgentFlags>(), io))
  })
  addCommand(program, 'serve', 'serve the agent over HTTP: an OpenAI-compatible API, runs and an admin page').action(async () => {
    checkOptions(program, 'serve')
    const { serve } = await import('./commands/serve.ts')
    done(await serve(program.opts<ServeFlags>(), io))
  })
  addCommand(program, 'doctor', 'check what is set up and which model a run would use').action(async () => {
    checkOptions(program, 'doctor')
    const { doctor } = await import('./commands/doctor.ts')
    done(await doctor(program.opts<DoctorFlags>(), io))
  })
  addToolCommands(program, io, done)
  return program
}

/** Commands on tools and Skills alone, without a model. */
function addToolCommands(program: Command, io: CliIO, done: (code: number) => void): void {
  const group = (name: string, description: string) => program.command(name).description(description)
  const add = (parent: Command, name: string, description: string): Command => addCommand(program, name, description, parent)
  const flagsFor = (name: string): ToolsFlags => {
    checkOptions(program, name)
    return program.opts<ToolsFlags>()
  }
  const tools = group('tools', 'list tools, or call one without a model')
  add(tools, 'list', 'list the tools a run would have').action(async () => {
    const flags = flagsFor('tools list')
    done(await (await import('./commands/tools.ts')).listTools(flags, io))
  })
  add(tools, 'call', 'call a tool')
    .argument('<name>', 'the tool')
    .argument('[json]', 'its arguments, as a JSON object', '{}')
    .action(async (name: string, json: string) => {
      const flags = flagsFor('tools call')
      done(await (await import('./commands/tools.ts')).callTool(name, json, flags, io))
    })
  const skills = group('skills', 'list, validate or run Agent Skills: from --skills, the project and your home folder')
  add(skills, 'list', 'list the Skills that were found').action(async () => {
    const flags = flagsFor('skills list')
    done(await (await import('./commands/skills.ts')).listSkills(flags, io))
  })
  add(skills, 'validate', 'report what is wrong with a Skill')
    .argument('<path>', 'its folder, or a folder of Skills')
    .action(async (path: string) => {
      const flags = flagsFor('skills validate')
      done(await (await import('./commands/skills.ts')).validateSkills(path, flags, io))
    })
  add(skills, 'run', 'run a script of a Skill in the sandbox')
    .argument('<skill>', 'the name of the Skill, or its folder')
    .argument('<script>', 'a path inside its folder, such as scripts/convert.py')
    .argument('[args...]', 'arguments of the script; put them after `--` if they begin with a hyphen')
    .action(async (skill: string, script: string, args: string[]) => {
      const flags = flagsFor('skills run')
      done(await (await import('./commands/skills.ts')).runSkill(skill, script, args, flags, io))
    })
}

/** With nothing to answer and somebody there to ask, a bare `toolloop` is `toolloop chat`. */
function opensChat(words: readonly string[], program: Command, { stdin, stdout, stderr }: CliIO): boolean {
  const { json, events } = program.opts<RunFlags>()
  return words.length === 0 && !json && !events && [stdin, stdout, stderr].every(({ isTTY }) => isTTY)
}

/** One word that is nearly a command is no prompt, nor are words that are one but for a mistake in their first: nothing is sent then. */
function refuseMistypedCommand(words: readonly string[], program: Command): void {
  const [word = '', second] = words
  if (!/^[\w-]+$/.test(word)) return
  const commands = program.commands.filter((command) => second === undefined || command.commands.some((one) => one.name() === second))
  const meant = nearestName(word, [...commands.map((command) => command.name()), ...(second === undefined ? ['help'] : [])])
  if (meant === undefined) return
  program.error(`error: unknown command '${word}'\n(Did you mean ${meant}? To send it as a prompt: toolloop run ${words.join(' ')})`)
}

async function startChat(program: Command, io: CliIO): Promise<number> {
  checkOptions(program, 'chat')
  const { chat } = await import('./commands/chat.ts')
  return chat(program.opts<AgentFlags>(), io)
}

async function startRun(words: readonly string[], program: Command, io: CliIO): Promise<number> {
  checkOptions(program, 'run')
  const { run } = await import('./commands/run.ts')
  return run(words, program.opts<RunFlags>(), io)
}

function addCommand(program: Command, name: string, description: string, parent: Command = program): Command {
  const command = parent.command(name).description(description)
  const key = parent === program ? name : `${parent.name()} ${name}`
  const taken = (option: Option) => optionsOf[key]?.has(option.attributeName()) === true
  return command.configureHelp({ visibleOptions: (of) => [...program.options.filter(taken), ...new Help().visibleOptions(of)] })
}

/** Refuses options that mean nothing to the command, instead of ignoring them. */
function checkOptions(program: Command, name: string): void {
  for (const option of program.options) {
    const key = option.attributeName()
    if (program.getOptionValueSource(key) !== 'cli' || optionsOf[name]?.has(key)) continue
    program.error(`error: \`toolloop ${name}\` does not take ${option.flags}`)
  }
  if (program.opts<RunFlags>().json && program.opts<RunFlags>().events)
    program.error('error: expected one of --json and --events, got both')
}

function createOptions(): Option[] {
  return [
    new Option('-m, --model <provider/name>', 'the model (default: toolloop doctor shows it)'),
    new Option('--base-url <url>', 'where the model is served, such as http://localhost:8080/v1'),
    new Option('-t, --tools <file>', 'a .ts or .js module that exports tools; may be repeated').argParser(
      (file: string, earlier: string[] | undefined) => [...(earlier ?? []), file],
    ),
    new Option('--no-builtin-tools', 'leave out the built-in tools'),
    new Option('-w, --workspace <folder>', 'the folder the built-in tools may read (default: the current folder)'),
    new Option('-s, --skills <folder>', 'a folder of Agent Skills to trust and use; may be repeated').argParser(
      (folder: string, earlier: string[] | undefined) => [...(earlier ?? []), folder],
    ),
    new Option('--unsandboxed', 'run scripts of Skills without a sandbox where bubblewrap is not available'),
    new Option('-n, --max-iterations <n>', 'limit on model requests per run (default: 5)').argParser(parseCount),
    new Option('--tool-calling <form>', 'how the model calls tools: auto, native, tags, json or another dialect (default: auto)'),
    new Option('-i, --instructions <text>', 'the system prompt; @file reads it from a file'),
    new Option('--deadline <seconds>', 'time limit of the whole run').argParser(parseSeconds),
    new Option('--timeout <seconds>', 'time limit of one tool call (default: 30)').argParser(parseSeconds),
    new Option('-c, --config <file>', 'the configuration file (default: ./toolloop.yaml or ./config/toolloop.yaml)'),
    new Option('--host <address>', 'the address to listen on (default: 127.0.0.1)'),
    new Option('--port <n>', 'the port; 0 picks a free one (default: 8787)').argParser(parsePort),
    new Option('--no-stream', 'request whole responses instead of streams'),
    new Option('--json', 'print the result as one JSON object'),
    new Option('--events', 'print every event, then the result, each as a line of JSON'),
    new Option('-y, --yes', 'approve every call that needs an approval'),
    new Option('-v, --verbose', 'log everything to standard error'),
    new Option('-q, --quiet', 'print only the answer and errors'),
  ]
}

function parseCount(text: string): number {
  const count = Number(text)
  if (!Number.isInteger(count) || count < 1) throw new InvalidArgumentError(`Expected an integer ≥ 1, got \`${text}\`.`)
  return count
}

function parsePort(text: string): number {
  const port = text.trim() === '' ? Number.NaN : Number(text)
  if (!Number.isInteger(port) || port < 0 || port > 65_535)
    throw new InvalidArgumentError(`Expected a port from 0 to 65535, got \`${text}\`.`)
  return port
}

function parseSeconds(text: string): number {
  const seconds = text.trim() === '' ? Number.NaN : Number(text)
  if (!(seconds > 0)) throw new InvalidArgumentError(`Expected a number of seconds > 0, got \`${text}\`.`)
  return seconds
}

const examples = `Examples
  toolloop "How many TypeScript files are in this project?"
  toolloop -m openai/gpt-5.2 "Which of these tests are slow, and why?"
  toolloop -m llama3.2 --base-url http://localhost:11434/v1 "Sum up README.md"
  git diff | toolloop -i "Review this change." > review.md
  toolloop --tools ./my-tools.ts --json "What is the weather in Tokyo?" | jq -r .output
  toolloop chat -m deepseek/deepseek-chat
  toolloop tools call calculate '{"expression": "2 ** 64"}'
  toolloop skills run csv-tools scripts/total.py -- --column price prices.csv
  toolloop mcp --tools ./my-tools.ts --no-builtin-tools
  toolloop serve --port 8080
  toolloop doctor
  toolloop run chart       # a one-word prompt that looks like a mistyped command

The answer goes to standard output, everything else to standard error.

Without --model, the first of these that is set or found decides: TOOLLOOP_MODEL, \`model\` in ./toolloop.yaml or
./config/toolloop.yaml, a provider's API key in the environment, a model server on this machine (Ollama, LM Studio,
vLLM), the demo model. \`toolloop doctor\` shows which one.

Environment
  TOOLLOOP_MODEL   the model to use without --model
  OPENAI_API_KEY…  a provider's key; config/providers.yaml lists all names
  OLLAMA_HOST, LMSTUDIO_HOST, VLLM_HOST   the addresses of these servers, if not the default ports on this machine
  TOOLLOOP_TOKEN   the token of toolloop serve; without it a random one is printed
  NO_COLOR, FORCE_COLOR   turn colours off or on`
