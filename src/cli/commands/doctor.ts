import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { messageOf } from '../../core/errors.ts'
import { isJsonObject } from '../../core/messages.ts'
import { EXIT_FAILED, EXIT_OK } from '../exit-codes.ts'
import type { Flags } from '../flags.ts'
import { chooseModel, type ModelChoice } from '../setup/choose-model.ts'
import { type FoundServer, findServers, localServers } from '../setup/local-servers.ts'
import { readOwnPackage } from '../setup/own-package.ts'
import { findKeys } from '../setup/provider-keys.ts'
import { type CliIO, Terminal } from '../terminal/terminal.ts'

/** The output of `toolloop doctor --json`. */
export interface Diagnosis {
  /** False if a required part is missing or broken; `problems` lists these parts. */
  ok: boolean
  problems: string[]
  toolloop: string
  node: { version: string; required: string; ok: boolean }
  /** The providers whose API key is set, and the names of the variables that hold the keys. Values are never included. */
  keys: { provider: string; variable: string }[]
  servers: FoundServer[]
  /** The optional peer dependencies. `version` is null if the package is not installed. */
  optionalPackages: { name: string; version: string | null; use: string }[]
  /** The sandboxes for scripts of Skills. `why` gives the reason if a sandbox is not available. */
  sandboxes: { name: string; available: boolean; runs: string; why?: string }[]
  /** The model that `toolloop run` would use without options. Absent if no model could be chosen. */
  model?: { name: string; source: ModelChoice['source']; why: string }
}

/**
 * How long local servers may take to answer, in milliseconds. This is longer than `toolloop run` waits, so that `doctor` also finds slow
 * servers.
 */
const probeMs = 2_000
const exportUse = 'exporting telemetry'
/** The purposes of the optional packages. Their supported versions are in package.json. */
const uses = new Map([
  ['@anthropic-ai/sdk', 'models of Anthropic'],
  ['@dbos-inc/dbos-sdk', 'durable runs in PostgreSQL'],
  ['@google/genai', 'models of Google'],
  ['@modelcontextprotocol/client', 'tools of MCP servers'],
  ['@modelcontextprotocol/server', 'toolloop mcp'],
  ['@apidevtools/json-schema-ref-parser', 'tools of OpenAPI documents'],
  ['@opentelemetry/api', 'telemetry'],
  ['@opentelemetry/context-async-hooks', exportUse],
  ['@opentelemetry/exporter-metrics-otlp-proto', exportUse],
  ['@opentelemetry/exporter-trace-otlp-proto', exportUse],
  ['@opentelemetry/resources', exportUse],
  ['@opentelemetry/sdk-metrics', exportUse],
  ['@opentelemetry/sdk-trace', exportUse],
  ['langchain', "the backend 'langchain'"],
  ['@langchain/core', "the backend 'langchain'"],
  ['@langchain/langgraph', "the backend 'langchain'"],
  ['pg', 'durable runs in PostgreSQL'],
])

/** `toolloop doctor`: reports what is installed, what is missing, and which model a run would use. Resolves with the exit code. */
export async function doctor(flags: Flags, io: CliIO): Promise<number> {
  const terminal = new Terminal(io)
  const diagnosis = await diagnose(flags, io)
  if (flags.json) terminal.print(JSON.stringify(diagnosis))
  else for (const line of describe(diagnosis, terminal)) terminal.say(line)
  return diagnosis.ok ? EXIT_OK : EXIT_FAILED
}

async function diagnose({ model, baseUrl }: Flags, { env, cwd }: CliIO): Promise<Diagnosis> {
  const own = readOwnPackage()
  const problems = namesIn(own.dependencies)
    .filter((name) => installedVersion(name) === undefined)
    .map((name) => `the package ${name} is not installed; run npm install again`)
  const servers = await findServers(localServers(env), probeMs)
  const sandboxes = await findSandboxes()
  let choice: ModelChoice | undefined
  try {
    choice = await chooseModel({
      model,
      baseURL: baseUrl,
      env,
      cwd,
      servers,
      probeMs,
    })
    const { openChoice } = await import('../setup/prepare-agent.ts')
    openChoice(choice)
  } catch (error) {
    problems.push(messageOf(error))
  }
  const required = isJsonObject(own.engines) ? String(own.engines.node) : ''
  return {
    ok: problems.length === 0,
    problems,
    toolloop: String(own.version),
    // Always true, because `main.ts` refuses to start on an unsupported version.
    node: { version: process.versions.node, required, ok: true },
    keys: findKeys(env).map(({ provider, variable }) => ({ provider, variable })),
    servers,
    sandboxes,
    optionalPackages: namesIn(own.peerDependencies).map((name) => ({
      name,
      version: installedVersion(name) ?? null,
      use: uses.get(name) ?? 'one feature',
    })),
    model: choice && { name: choice.name, source: choice.source, why: choice.why },
  }
}

async function findSandboxes(): Promise<Diagnosis['sandboxes']> {
  const { SkillsSandboxExecutor } = await import('../../tools/sandbox/executor.ts')
  const { vm, process } = await SkillsSandboxExecutor.available()
  return [
    { name: 'QuickJS', ...vm },
    { name: 'bubblewrap', ...process },
  ]
}

function namesIn(dependencies: unknown): string[] {
  return isJsonObject(dependencies) ? Object.keys(dependencies) : []
}

function describe(
  { problems, toolloop, node, keys, servers, sandboxes, optionalPackages, model }: Diagnosis,
  terminal: Terminal,
): string[] {
  const good = terminal.paint('green', '✓', 'stdout')
  const none = terminal.paint('dim', '-', 'stdout')
  const width = Math.max(0, ...optionalPackages.map(({ name }) => name.length))
  return [
    `${good} toolloop ${toolloop} on Node.js ${node.version} (needed: ${node.required})`,
    '',
    'API keys in the environment',
    ...(keys.length === 0 ? [`${none} none`] : keys.map(({ provider, variable }) => `${good} ${variable} (${provider})`)),
    '',
    'Model servers on this machine',
    ...(servers.length === 0 ? [`${none} none`] : servers.map((server) => `${good} ${describeServer(server)}`)),
    '',
    'Sandboxes for scripts of Skills',
    ...sandboxes.map(
      ({ name, available, runs, why }) => `${available ? good : none} ${name} for ${runs}${why === undefined ? '' : `: ${why}`}`,
    ),
    '',
    'Optional packages',
    ...(optionalPackages.length === 0
      ? [`${none} none`]
      : optionalPackages.map(
          ({ name, version, use }) => `${version === null ? none : good} ${name.padEnd(width)}  ${version ?? 'not installed'} (for ${use})`,
        )),
    '',
    ...(model === undefined ? [] : [`A run uses ${terminal.paint('bold', model.name, 'stdout')}: ${model.why}`]),
    ...(model?.source === 'demo' ? ["To use another model set a provider's key, start a model server, or name it with --model"] : []),
    ...problems.map((problem) => `${terminal.paint('red', '✗', 'stdout')} ${problem}`),
  ]
}

function describeServer({ provider, baseURL, models }: FoundServer): string {
  const maxShown = 5
  const more = models.length > maxShown ? `, and ${models.length - maxShown} more` : ''
  return `${provider} at ${baseURL}: ${models.length === 0 ? 'no model' : `${models.slice(0, maxShown).join(', ')}${more}`}`
}

/**
 * Returns the installed version of a package, or undefined if the package is not installed. Reads the package.json from disk, because many
 * packages don't export it.
 */
function installedVersion(name: string): string | undefined {
  for (const folder of createRequire(import.meta.url).resolve.paths(name) ?? []) {
    try {
      const found: unknown = JSON.parse(readFileSync(join(folder, name, 'package.json'), 'utf8'))
      if (isJsonObject(found) && typeof found.version === 'string') return found.version
    } catch {
      // The package is not in this folder, so the next folder is checked.
    }
  }
  return undefined
}
