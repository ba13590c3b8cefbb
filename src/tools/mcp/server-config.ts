import {
  boolean,
  type Check,
  checkOptions,
  expecting,
  integer,
  milliseconds,
  type OptionChecks,
  oneOf,
  unchecked,
} from '../../core/check-options.ts'
import { InvalidOptionError } from '../../core/errors.ts'
import { isJsonObject } from '../../core/messages.ts'
import type { ToolEffect } from '../tool.ts'
import { checkAuth, type McpAuth } from './auth-options.ts'

/** Options that apply to every MCP server. */
export interface McpServerOptions {
  /** The prefix of the names of the server's tools, followed by `__`. Default: the server's name. `''` means no prefix. */
  prefix?: string
  /** The tools to use, by the names that the server gives them. Default: all. */
  tools?: readonly string[]
  /**
   * The calls that need approval: all, none, or calls to the tools with these names. Default: calls to tools that the server marks as
   * destructive.
   */
  approval?: boolean | readonly string[]
  /**
   * The side effects of the server's tools, by the names that the server gives them. Default: `'unsafe'`, or the effect in the server's
   * annotations if they are trusted.
   */
  effects?: Readonly<Record<string, ToolEffect>>
  /**
   * Whether to trust the server's annotations `readOnlyHint` and `idempotentHint`. Default false, because annotations are hints and a
   * server may lie (https://modelcontextprotocol.io/specification/2025-11-25/server/tools#tool).
   */
  trustAnnotations?: boolean
  /**
   * Time limit for the start, the handshake and the list of tools, in milliseconds. Default 30,000, or 300,000 if a user may be asked to
   * sign in.
   */
  startTimeoutMs?: number
  /**
   * Time limit of one call in milliseconds. Each progress report restarts the limit, up to `maxToolTimeoutMs` in total. Default: the run's
   * time limit.
   */
  toolTimeoutMs?: number
  /** Time limits of single tools in milliseconds, by the names that the server gives them. They take precedence over `toolTimeoutMs`. */
  timeouts?: Readonly<Record<string, number>>
  /** Maximum time of a call with progress reports, in milliseconds. A longer time limit of the call takes precedence. Default 3,600,000. */
  maxToolTimeoutMs?: number
  /**
   * The protocol version to use: `2026-07-28`, or `2025-11-25` and earlier. Default: a server at a URL is asked which versions it supports.
   * With a program, the older version is tried first.
   */
  protocolVersion?: '2025-11-25' | '2026-07-28'
  /**
   * Whether the server may ask the user questions during a call (elicitation). If the server asks a question, the run ends as `paused`.
   * Default true.
   */
  questions?: boolean
  /**
   * Whether the server may turn calls into tasks, which run in the background and are polled: `true`, or an object with options.
   * `timeoutMs`: the time limit of a task, default 3,600,000. In a run with a journal, another process can continue to wait for a task.
   * Default true. If false, tools that require tasks fail.
   */
  tasks?: boolean | { timeoutMs?: number }
  /**
   * Whether the server may send requests to the run's model during a call (sampling), within the run's limits and budgets: `true`, or an
   * object with limits. `maxTokens`: maximum tokens of one answer, default 4,096. `maxRequests`: maximum requests per call, default 10. The
   * model sees only the server's messages, not the conversation. The model's answer is sent to the server. Default false: such requests are
   * refused.
   */
  sampling?: boolean | { maxTokens?: number; maxRequests?: number }
  /**
   * The resources that the model can read. `'all'`: all resources, with the tools `list_resources` and `read_resource`. `'links'`: only
   * resources to which a tool result of the same run has linked, with `read_resource`. Default: none.
   */
  resources?: 'all' | 'links'
  /** Whether the model can list and read prompts, with the tools `list_prompts` and `get_prompt`. Default false. */
  prompts?: boolean
  /**
   * The texts to include in `McpTools.instructions()`: `true` for the server's own instructions, or an object that also selects prompts by
   * name and resources by address. The model follows these texts like your own instructions. Default: no texts.
   */
  instructions?: boolean | { own?: boolean; prompts?: readonly string[]; resources?: readonly string[] }
  /** Whether the other servers are used if this server can't be started. If so, this server is retried in the background. Default false. */
  optional?: boolean
}

/** A server that is a program on this machine. Messages are sent over its standard input and output. */
export interface McpCommand extends McpServerOptions {
  /** The program to start: a name on the `PATH`, or a path. */
  command: string
  /** The arguments of the program. */
  args?: readonly string[]
  /** Environment variables for the program, in addition to the only ones that it inherits: HOME, LOGNAME, PATH, SHELL, TERM and USER. */
  env?: Readonly<Record<string, string>>
  /** The working directory. Default: the current folder. */
  cwd?: string
}

/** A server at a web address. Messages are sent over streamable HTTP. */
export interface McpUrl extends McpServerOptions {
  /** The address of the server, with `http:` or `https:`. */
  url: string | URL
  /**
   * Headers to send with every request. A function is called for each request, so that a token can be renewed.
   *
   * Contract: the function is awaited. If it throws or rejects, the request fails.
   */
  headers?: Readonly<Record<string, string>> | (() => Readonly<Record<string, string>> | Promise<Readonly<Record<string, string>>>)
  /** Signs in with OAuth if the server requires it. `{}` discovers all settings and stores tokens. Default: no sign-in. */
  auth?: McpAuth
  /**
   * Sends the requests, except those of a sign-in. Default: the global `fetch`.
   *
   * Contract: the same as that of the global `fetch`. If the function rejects, the request fails.
   */
  fetch?: (url: string | URL, init?: RequestInit) => Promise<Response>
}

/** An MCP server: a program to start, or a web address. */
export type McpServer = McpCommand | McpUrl

const texts = (expected: string) => expecting(expected, isTexts)
const mappingOfTexts = (expected: string): Check => {
  return (value, at) => {
    const isMapping = typeof value === 'object' && value !== null && isTexts(Object.values(value))
    // The error does not show the value, because the value may be a secret.
    if (!isMapping) throw new InvalidOptionError(at, expected, 'another value')
  }
}

/** Accepts `true`, `false`, or an object of options. */
function switchOr(checks: Readonly<Record<string, Check>>, of: string): Check {
  return (value, at) => {
    if (typeof value === 'object' && value !== null) checkOptions(value, checks, of, at)
    else if (typeof value !== 'boolean') throw new InvalidOptionError(at, 'a boolean or a mapping', value)
  }
}

function each(check: Check): Check {
  return (values, at) => {
    for (const [name, value] of Object.entries(values ?? {})) check(value ?? null, `${at}.${name}`)
  }
}

type OptionsIn<Value> = Exclude<Value, boolean | undefined>
const taskChecks: OptionChecks<OptionsIn<McpServerOptions['tasks']>> = { timeoutMs: milliseconds }
const samplingChecks: OptionChecks<OptionsIn<McpServerOptions['sampling']>> = { maxTokens: integer(1), maxRequests: integer(1) }
const instructionChecks: OptionChecks<OptionsIn<McpServerOptions['instructions']>> = {
  own: boolean,
  prompts: texts('a list of names'),
  resources: texts('a list of addresses'),
}

const serverChecks: OptionChecks<McpServerOptions> = {
  prefix: expecting('a text', (value) => typeof value === 'string'),
  tools: texts('a list of names'),
  approval: expecting('a boolean or a list of names', (value) => typeof value === 'boolean' || isTexts(value)),
  effects: each(oneOf('read', 'idempotent', 'unsafe')),
  trustAnnotations: unchecked,
  startTimeoutMs: milliseconds,
  toolTimeoutMs: milliseconds,
  timeouts: (value, at) => {
    if (!isJsonObject(value)) throw new InvalidOptionError(at, 'a mapping of names to milliseconds', value)
    each(milliseconds)(value, at)
  },
  maxToolTimeoutMs: milliseconds,
  protocolVersion: oneOf('2025-11-25', '2026-07-28'),
  questions: boolean,
  tasks: switchOr(taskChecks, 'the `tasks` of an MCP server'),
  sampling: switchOr(samplingChecks, 'the `sampling` of an MCP server'),
  resources: oneOf('all', 'links'),
  prompts: boolean,
  instructions: switchOr(instructionChecks, 'the `instructions` of an MCP server'),
  optional: unchecked,
}

const commandChecks: OptionChecks<McpCommand> = {
  ...serverChecks,
  command: expecting('the name or path of a program', (value) => typeof value === 'string' && value !== ''),
  args: texts('a list of texts'),
  env: mappingOfTexts('a mapping of texts'),
  cwd: expecting('a folder', (value) => typeof value === 'string'),
}

const urlChecks: OptionChecks<McpUrl> = {
  ...serverChecks,
  url: unchecked,
  headers: (value, at) => {
    if (typeof value !== 'function') mappingOfTexts('a mapping of texts, or a function that returns one')(value, at)
  },
  auth: (value, at) => checkAuth(value as McpAuth, at),
  fetch: unchecked,
}

/** Throws `invalid_option` for an invalid configuration. */
export function checkServer(name: string, server: McpServer): void {
  const at = `servers.${name}`
  if (typeof server !== 'object' || server === null) throw new InvalidOptionError(at, 'a mapping with `command` or `url`', server)
  if ('command' in server) {
    if ('url' in server) throw new InvalidOptionError(at, 'a mapping with one of `command` and `url`', 'both')
    commandChecks.command(server.command, `${at}.command`)
    checkOptions(server, commandChecks, 'an MCP server with a `command`', at)
    return
  }
  if (!('url' in server)) throw new InvalidOptionError(at, 'a mapping with `command` or `url`', Object.keys(server))
  checkOptions(server, urlChecks, 'an MCP server with a `url`', at)
  // The error does not show an invalid URL, because the URL may contain a key.
  if (!isWebAddress(server.url)) throw new InvalidOptionError(`${at}.url`, 'an http or https URL', 'another value')
}

function isTexts(value: unknown): boolean {
  return Array.isArray(value) && value.every((item) => typeof item === 'string')
}

function isWebAddress(url: unknown): boolean {
  return (typeof url === 'string' || url instanceof URL) && URL.canParse(String(url)) && /^https?:$/.test(new URL(url).protocol)
}
