import { InvalidOptionError } from '../../core/errors.ts'
import { isJsonObject } from '../../core/messages.ts'
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
} from '../../core/options/check-options.ts'
import type { ToolEffect } from '../tool.ts'
import { checkAuth, type McpAuth } from './auth-options.ts'

/** What can be set for every MCP server, however it is reached. */
export interface McpServerOptions {
  /** Stands before each of its tools' names, with `__` in between. Default: the server's name. `''`: nothing stands there. */
  prefix?: string
  /** The tools to take, by the server's names for them. Default: all. */
  tools?: readonly string[]
  /** Which calls need an approval: all, none, or those of the tools named. Default: of tools that the server itself calls destructive. */
  approval?: boolean | readonly string[]
  /** What its tools do to the world, by the server's names for them. Default: `'unsafe'`, or what its annotations say, if they are trusted. */
  effects?: Readonly<Record<string, ToolEffect>>
  /**
   * Believes the server that a tool only reads or may be repeated. Default false: these are hints, and a server may lie
   * (https://modelcontextprotocol.io/specification/2025-11-25/server/tools#tool).
   */
  trustAnnotations?: boolean
  /** For starting it, the handshake and the list of its tools, in milliseconds. Default 30,000; 300,000 where a person may be asked to sign in. */
  startTimeoutMs?: number
  /**
   * Time limit of one call in milliseconds. It begins again whenever the server tells of the call's progress, until the call has taken
   * `maxToolTimeoutMs`. Default: the run's.
   */
  toolTimeoutMs?: number
  /** Time limits of single tools in milliseconds, by the server's names for them, in place of `toolTimeoutMs`. */
  timeouts?: Readonly<Record<string, number>>
  /** Most that one call may take with progress, in milliseconds. A longer time limit stands. Default 3,600,000. */
  maxToolTimeoutMs?: number
  /**
   * The revision of the protocol to speak: the newer `2026-07-28`, or `2025-11-25` and the ones before it. Default: a server at an address is asked
   * what it speaks; a program is spoken to in the older one unless it refuses, since some end when they are asked anything first.
   */
  protocolVersion?: '2025-11-25' | '2026-07-28'
  /**
   * Whether it may ask people something in the middle of a call (elicitation): the run then ends `paused` with a question. Default true; false: it
   * is told that nobody can be asked.
   */
  questions?: boolean
  /**
   * Whether its calls may become tasks, which go on without a request and are asked for again and again: `true`, or with a time limit of its own.
   * `timeoutMs`: of a call from when it has become one, default 3,600,000. In a run with a journal, another process waits on for the same task.
   * Default true; false: tools that need it fail.
   */
  tasks?: boolean | { timeoutMs?: number }
  /**
   * Whether it may ask the run's model something in the middle of a call (sampling), on that run's limits and budgets: `true`, or with limits of its own.
   * `maxTokens`: most tokens of one answer, default 4,096. `maxRequests`: of one call, default 10. What the model answers goes to the server; it
   * sees of the conversation only what the server itself sends. Default false: refused.
   */
  sampling?: boolean | { maxTokens?: number; maxRequests?: number }
  /**
   * Which of its resources the model reads: `'all'` with the tools `list_resources` and `read_resource`, or `'links'`, those that a result of its tools
   * has linked to in the same run, with `read_resource` alone. Default: none.
   */
  resources?: 'all' | 'links'
  /** Whether the model lists and gets its prompts, with the tools `list_prompts` and `get_prompt`. Default false. */
  prompts?: boolean
  /**
   * What of it goes into `McpTools.instructions()`: `true`, what it says of itself; or also prompts and resources, by name and address. You trust what it
   * says there as you trust your own instructions. Default: nothing.
   */
  instructions?: boolean | { own?: boolean; prompts?: readonly string[]; resources?: readonly string[] }
  /** True: when it can't be started, the others work without it, and it is tried again in the background. Default false. */
  optional?: boolean
}

/** A server that is a program on this machine, spoken to over its standard input and output. */
export interface McpCommand extends McpServerOptions {
  command: string
  args?: readonly string[]
  /** Added to the few variables it inherits: HOME, LOGNAME, PATH, SHELL, TERM and USER; nothing else of this process's environment. */
  env?: Readonly<Record<string, string>>
  /** Default: the current folder. */
  cwd?: string
}

/** A server at a web address, spoken to over streamable HTTP. */
export interface McpUrl extends McpServerOptions {
  url: string | URL
  /** Sent with every request. A function is asked for each, so that a token can be renewed; what it throws fails that request. */
  headers?: Readonly<Record<string, string>> | (() => Readonly<Record<string, string>> | Promise<Readonly<Record<string, string>>>)
  /** Signs in with OAuth where the server asks for that: `{}` with what is found out and kept. Default: no sign-in. */
  auth?: McpAuth
  /** Default: the global `fetch`. Not used to sign in. */
  fetch?: (url: string | URL, init?: RequestInit) => Promise<Response>
}

/** An MCP server: a program to start, or an address. */
export type McpServer = McpCommand | McpUrl

const texts = (expected: string) => expecting(expected, isTexts)
const mappingOfTexts = (expected: string): Check => {
  return (value, at) => {
    const isMapping = typeof value === 'object' && value !== null && isTexts(Object.values(value))
    // A value may be a secret.
    if (!isMapping) throw new InvalidOptionError(at, expected, 'another value')
  }
}

/** `true`, `false`, or options of its own. */
function switchOr(checks: Readonly<Record<string, Check>>, of: string): Check {
  return (value, at) => {
    if (typeof value === 'object' && value !== null) checkOptions(value, checks, of, at)
    else if (typeof value !== 'boolean') throw new InvalidOptionError(at, 'a boolean or a mapping', value)
  }
}

/** Each value of a mapping. */
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

/** Throws `invalid_option` for a configuration that can't be meant. */
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
  // What is not a URL may still hold a key: it is not shown.
  if (!isWebAddress(server.url)) throw new InvalidOptionError(`${at}.url`, 'an http or https URL', 'another value')
}

function isTexts(value: unknown): boolean {
  return Array.isArray(value) && value.every((item) => typeof item === 'string')
}

function isWebAddress(url: unknown): boolean {
  return (typeof url === 'string' || url instanceof URL) && URL.canParse(String(url)) && /^https?:$/.test(new URL(url).protocol)
}
