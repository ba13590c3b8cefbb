import { InvalidOptionError } from '../../../core/errors.ts'
import { isJsonObject } from '../../../core/messages.ts'
import { checkOptionNames, type OptionNames } from '../../../core/option-names.ts'
import type { ToolEffect } from '../../tool.ts'
import { checkAuth, type McpAuth } from '../auth/auth-options.ts'

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

const optionNames: OptionNames<McpServerOptions> = {
  prefix: true,
  tools: true,
  approval: true,
  effects: true,
  trustAnnotations: true,
  startTimeoutMs: true,
  toolTimeoutMs: true,
  timeouts: true,
  maxToolTimeoutMs: true,
  protocolVersion: true,
  questions: true,
  tasks: true,
  sampling: true,
  resources: true,
  prompts: true,
  instructions: true,
  optional: true,
}
const commandNames: OptionNames<McpCommand> = { ...optionNames, command: true, args: true, env: true, cwd: true }
const urlNames: OptionNames<McpUrl> = { ...optionNames, url: true, headers: true, auth: true, fetch: true }

const taskNames: OptionNames<Exclude<McpServerOptions['tasks'], boolean | undefined>> = { timeoutMs: true }
const samplingNames: OptionNames<Exclude<McpServerOptions['sampling'], boolean | undefined>> = { maxTokens: true, maxRequests: true }
const instructionNames: OptionNames<Exclude<McpServerOptions['instructions'], boolean | undefined>> = {
  own: true,
  prompts: true,
  resources: true,
}

/** Throws `invalid_option` for a configuration that can't be meant. */
export function checkServer(name: string, server: McpServer): void {
  const at = `servers.${name}`
  const expect = (holds: boolean, key: string, expected: string, got: unknown) => {
    if (!holds) throw new InvalidOptionError(key === '' ? at : `${at}.${key}`, expected, got)
  }
  expect(typeof server === 'object' && server !== null, '', 'a mapping with `command` or `url`', server)
  if ('command' in server) {
    const { command, args, env, cwd } = server
    expect(!('url' in server), '', 'a mapping with one of `command` and `url`', 'both')
    checkOptionNames(server, commandNames, 'an MCP server with a `command`', at)
    expect(typeof command === 'string' && command !== '', 'command', 'the name or path of a program', command)
    expect(args === undefined || isTexts(args), 'args', 'a list of texts', args)
    expect(env === undefined || isTexts(Object.values(env)), 'env', 'a mapping of texts', 'another value')
    expect(cwd === undefined || typeof cwd === 'string', 'cwd', 'a folder', cwd)
  } else {
    expect('url' in server, '', 'a mapping with `command` or `url`', Object.keys(server))
    checkOptionNames(server, urlNames, 'an MCP server with a `url`', at)
    // What is not a URL may still hold a key: it is not shown.
    expect(isWebAddress(server.url), 'url', 'an http or https URL', 'another value')
    const { headers, auth } = server
    if (auth !== undefined) checkAuth(auth, `${at}.auth`)
    const isHeaders = headers === undefined || typeof headers === 'function' || isTexts(Object.values(headers))
    expect(isHeaders, 'headers', 'a mapping of texts, or a function that returns one', 'another value')
  }
  const { prefix, tools, approval, startTimeoutMs, toolTimeoutMs, timeouts, maxToolTimeoutMs, protocolVersion, questions, effects } = server
  expect(prefix === undefined || typeof prefix === 'string', 'prefix', 'a text', prefix)
  expect(tools === undefined || isTexts(tools), 'tools', 'a list of names', tools)
  expect(approval === undefined || typeof approval === 'boolean' || isTexts(approval), 'approval', 'a boolean or a list of names', approval)
  expect(timeouts === undefined || isJsonObject(timeouts), 'timeouts', 'a mapping of names to milliseconds', timeouts)
  const ofTools = Object.entries(timeouts ?? {}).map(([tool, value]) => [`timeouts.${tool}`, value ?? null] as const)
  for (const [key, value] of [...Object.entries({ startTimeoutMs, toolTimeoutMs, maxToolTimeoutMs }), ...ofTools]) {
    expect(value === undefined || (typeof value === 'number' && value > 0), key, 'a number of milliseconds > 0', value)
  }
  const isKnown = protocolVersion === undefined || protocolVersion === '2025-11-25' || protocolVersion === '2026-07-28'
  expect(isKnown, 'protocolVersion', "'2025-11-25' or '2026-07-28'", protocolVersion)
  expect(questions === undefined || typeof questions === 'boolean', 'questions', 'true or false', questions)
  const { resources, prompts, instructions, sampling, tasks } = server
  expect(resources === undefined || resources === 'all' || resources === 'links', 'resources', "'all' or 'links'", resources)
  expect(prompts === undefined || typeof prompts === 'boolean', 'prompts', 'true or false', prompts)
  if (typeof tasks === 'object' && tasks !== null) {
    checkOptionNames(tasks, taskNames, 'the `tasks` of an MCP server', `${at}.tasks`)
    const { timeoutMs } = tasks
    expect(
      timeoutMs === undefined || (typeof timeoutMs === 'number' && timeoutMs > 0),
      'tasks.timeoutMs',
      'a number of milliseconds > 0',
      timeoutMs,
    )
  } else expect(tasks === undefined || typeof tasks === 'boolean', 'tasks', 'a boolean or a mapping', tasks)
  if (typeof sampling === 'object' && sampling !== null) {
    checkOptionNames(sampling, samplingNames, 'the `sampling` of an MCP server', `${at}.sampling`)
    for (const [key, value] of Object.entries(sampling)) {
      expect(value === undefined || (Number.isSafeInteger(value) && value >= 1), `sampling.${key}`, 'an integer ≥ 1', value)
    }
  } else expect(sampling === undefined || typeof sampling === 'boolean', 'sampling', 'a boolean or a mapping', sampling)
  if (typeof instructions === 'object' && instructions !== null) {
    checkOptionNames(instructions, instructionNames, 'the `instructions` of an MCP server', `${at}.instructions`)
    const { own, prompts: named, resources: read } = instructions
    expect(own === undefined || typeof own === 'boolean', 'instructions.own', 'true or false', own)
    expect(named === undefined || isTexts(named), 'instructions.prompts', 'a list of names', named)
    expect(read === undefined || isTexts(read), 'instructions.resources', 'a list of addresses', read)
  } else expect(instructions === undefined || typeof instructions === 'boolean', 'instructions', 'a boolean or a mapping', instructions)
  for (const [tool, effect] of Object.entries(effects ?? {})) {
    expect(['read', 'idempotent', 'unsafe'].includes(effect), `effects.${tool}`, "'read', 'idempotent' or 'unsafe'", effect)
  }
}

function isTexts(value: unknown): boolean {
  return Array.isArray(value) && value.every((item) => typeof item === 'string')
}

function isWebAddress(url: unknown): boolean {
  return (typeof url === 'string' || url instanceof URL) && URL.canParse(String(url)) && /^https?:$/.test(new URL(url).protocol)
}
