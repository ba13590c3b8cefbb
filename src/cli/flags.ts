import { InvalidArgumentError, Option } from 'commander'
import type { RunProcess } from '../agent/journal/journal.ts'
import type { StopReason } from '../core/events.ts'
import { type RunStatus, runStatuses } from '../core/runs/run-states.ts'

/**
 * The options of a command line, as commander returns them. Options that were not given are absent, except for `builtinTools` and `stream`,
 * which default to true.
 */
export interface Flags {
  model?: string
  baseUrl?: string
  /** Paths of tool modules. */
  tools?: string[]
  /** Whether to offer the built-in tools. `--no-builtin-tools` makes it false. */
  builtinTools: boolean
  workspace?: string
  /** Whether the model writes scripts that call the tools. */
  codeMode?: boolean
  /** The folders that contain Skills. */
  skills?: string[]
  /** Whether scripts of Skills run without protection if they can't be isolated. */
  unsandboxed?: boolean
  maxIterations?: number
  /** How the model calls tools: `auto`, `native`, or the name of a dialect. */
  toolCalling?: string
  /** The instructions, or `@file` to read them from a file. */
  instructions?: string
  /** Time limit of a run, in seconds. */
  deadline?: number
  /** Time limit of a tool call, in seconds. */
  timeout?: number
  config?: string
  host?: string
  port?: number
  /** Whether `serve` prints a sign-in link even if the output is not a terminal. */
  signInLink?: boolean
  /** Whether `mcp` serves over HTTP. */
  http?: boolean
  /** Whether to stream responses. `--no-stream` makes it false. */
  stream: boolean
  json?: boolean
  events?: boolean
  yes?: boolean
  /** Whether to present calls with side effects as a plan, and to run them only after a person has approved the plan. */
  preview?: boolean
  /** The file in which to record a run. */
  record?: string
  /** The journal file for runs. */
  journal?: string
  /** The conversation to continue. */
  session?: string
  /** For `runs list`: lists only runs with this status. */
  status?: RunStatus
  /** For `runs list`: lists only runs that ended for this reason. */
  stopReason?: StopReason
  /** For `runs list`: lists only running runs whose process is in this state. */
  process?: RunProcess
  /** For `runs list`: lists only runs with these metadata fields. Each field was given as `field=value`. */
  metadata?: Record<string, string>
  /** For `runs list`: maximum number of runs. */
  limit?: number
  /** For `runs decide`: the id of the call to decide. Default: all pending calls. */
  call?: string
  /** For `runs decide`: the reason for rejecting the call. True if no reason was given. */
  reject?: string | true
  /** For `runs decide`: the answer to a question, or the result of a call that was carried out elsewhere. */
  answer?: string
  /** Whether `replay` calls the model (`liveModel`) or runs the tools (`liveTools`) instead of using the recording. */
  liveModel?: boolean
  liveTools?: boolean
  /** Whether to continue the most recent conversation of this folder. */
  resume?: boolean
  /** Whether to print answers without rendering their Markdown. */
  plain?: boolean
  verbose?: boolean
  quiet?: boolean
}

/** Creates all options. They belong to the program rather than to a command, so they may also precede the command. */
export function createOptions(): Option[] {
  return [
    new Option(
      '-m, --model <provider/name>',
      'the model, or its name in `models` of toolloop.yaml (default: toolloop doctor shows it); runs list: only runs whose latest model this is, also by its provider or name alone',
    ),
    new Option('--base-url <url>', 'address of the model server, such as http://localhost:8080/v1'),
    new Option('-t, --tools <file>', 'a .ts or .js module that exports tools; may be repeated').argParser(addToList),
    new Option('--no-builtin-tools', 'leave out the built-in tools'),
    new Option('-w, --workspace <folder>', 'the folder the built-in tools may read (default: the current folder)'),
    new Option('--code-mode', 'the model writes scripts that call the tools'),
    new Option('-s, --skills <folder>', 'a folder of Agent Skills to trust and use; may be repeated').argParser(addToList),
    new Option('--unsandboxed', 'run scripts of Skills without a sandbox if bubblewrap is not available'),
    new Option('-n, --max-iterations <n>', 'limit on model requests per run (default: 5)').argParser(parseCount),
    new Option('--tool-calling <form>', 'how the model calls tools: auto, native, tags, json or another dialect (default: auto)'),
    new Option('-i, --instructions <text>', 'the system prompt; @file reads it from a file'),
    new Option('--deadline <seconds>', 'time limit of the whole run').argParser(parseSeconds),
    new Option('--timeout <seconds>', 'time limit of one tool call (default: 30)').argParser(parseSeconds),
    new Option('-c, --config <file>', 'the configuration file (default: ./toolloop.yaml or ./config/toolloop.yaml)'),
    new Option('--host <address>', 'the address to listen on (default: 127.0.0.1)'),
    new Option('--port <n>', 'the port; 0 picks a free one (default: 8787)').argParser(parsePort),
    new Option('--sign-in-link', 'serve: print a sign-in link even if the output is not a terminal'),
    new Option('--http', 'mcp: serve over HTTP, at /mcp, instead of standard input and output'),
    new Option('--no-stream', 'request whole responses instead of streams'),
    new Option('--json', 'print the result as one JSON object'),
    new Option('--events', 'print every event, then the result, each as a line of JSON'),
    new Option('-y, --yes', 'approve every call that needs an approval'),
    new Option('--preview', 'carry out only calls that read; then ask about all others at once').conflicts('yes'),
    new Option('--record <file>', 'record the run in a file, for `toolloop replay`'),
    new Option('--journal <file>', 'store runs in a file, for `toolloop runs` (default: TOOLLOOP_JOURNAL)'),
    new Option(
      '--session <name>',
      'store the conversation under this name, in .toolloop of this folder, or continue it; runs list: only its runs',
    ),
    new Option('--resume', 'chat: choose a conversation of this folder to continue; without a terminal, the latest'),
    new Option('--plain', 'print answers without rendering their Markdown'),
    new Option('--status <status>', 'runs list: only runs that are running, waiting or ended').choices(runStatuses),
    new Option(
      '--stop-reason <reason>',
      'runs list: only runs that stopped for this reason, such as model_error; paused: only waiting runs',
    ),
    new Option('--process <state>', 'runs list: only running runs whose process is alive or gone').choices(['alive', 'gone']),
    new Option('--metadata <field=value>', 'runs list: only runs with this field in their metadata; may be repeated').argParser(addField),
    new Option('--limit <n>', 'runs list: maximum number of runs, newest first (default: 50)').argParser(parseCount),
    new Option('--call <id>', 'runs decide: only this call (default: all that wait)'),
    new Option('--reject [reason]', 'runs decide: refuse, with a reason for the model'),
    new Option('--answer <text>', 'runs decide: answer a question, or give the result of a call (JSON or text)'),
    new Option('--live-model', 'replay: ask the model of --model, or the default one, instead of the recorded one'),
    new Option('--live-tools', 'replay: run the built-in tools and those of --tools instead of the recorded ones'),
    new Option('-v, --verbose', 'log everything to standard error'),
    new Option('-q, --quiet', 'print only the answer and errors'),
  ]
}

function addToList(one: string, earlier: string[] = []): string[] {
  return [...earlier, one]
}

function addField(text: string, earlier: Record<string, string> = {}): Record<string, string> {
  const [, field, value] = /^([^=]+)=(.*)$/s.exec(text) ?? []
  if (field === undefined || value === undefined) throw new InvalidArgumentError(`Expected \`field=value\`, got \`${text}\`.`)
  return { ...earlier, [field]: value }
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
