import { isDeepStrictEqual } from 'node:util'
import { isJsonObject, type Json, type JsonObject } from '../../core/messages.ts'
import { type Problem, pointerTo } from '../http/problem.ts'
import type { Config } from './config.ts'

/** A configuration after (`config`) and before (`raw`) environment variables are substituted. */
interface ReadConfig {
  config: Config
  raw: JsonObject
}

/** The fields that can be changed only in the file, not through the API, as JSON Pointers. `*` stands for any key. */
export const fileOnlyPaths: readonly string[] = [
  '/skills',
  '/mcp',
  '/tools/builtin',
  '/tools/workspace',
  '/tools/approval',
  '/service/host',
  '/service/hosts',
  '/service/origins',
  '/service/auth/tokens',
  '/service/variables',
  '/service/trustedProxies',
  '/service/keepRuns/folder',
  '/service/journal',
  '/service/mcp',
  '/telemetry',
  '/logging/level',
  '/providers/*/sdkEnvironment',
  '/model/quirks/toolCallId',
  '/models/*/quirks/toolCallId',
  '/providers/*/quirks/toolCallId',
  '/providers/*/models/*/quirks/toolCallId',
]

const fileTools = ['list_files', 'read_file', 'search_files']
const inFile = 'can only be changed in the file'

/**
 * Returns the fields of a change that can be changed only in the file. Over the API, an admin can withdraw permissions but not grant them.
 */
export function fileOnlyProblems(wanted: ReadConfig, known: ReadConfig): Problem[] {
  const [newLists, oldLists] = [openedBy(wanted.config), openedBy(known.config)]
  const added = Object.keys(newLists).filter((path) => !isPartOf(newLists[path], oldLists[path]))
  const [newFields, oldFields] = [fixedIn(wanted.config), fixedIn(known.config)]
  const changed = Object.keys(newFields).filter((path) => !isDeepStrictEqual(newFields[path], oldFields[path]))
  // A tool that needs an approval must still need it after the change.
  const fewer = isPartOf(known.config.tools?.approval, wanted.config.tools?.approval) ? [] : ['/tools/approval']
  return [
    ...[...added, ...changed, ...fewer].map((path) => ({ path, message: inFile })),
    ...(wanted.raw.mcp === undefined ? [] : mcpProblems(objectAt(wanted.raw, 'mcp'), objectAt(known.raw, 'mcp'))),
  ]
}

/** Lists every entry of a configuration that grants access. A change over the API may only remove such entries. */
function openedBy({ skills, tools = {}, service = {}, providers = {} }: Config): Readonly<Record<string, readonly unknown[]>> {
  const { builtin = [] } = tools
  return {
    '/skills': skills === undefined ? [] : [skills],
    '/tools/builtin': fileTools.filter((name) => builtin === true || (Array.isArray(builtin) && builtin.includes(name))),
    '/service/hosts': service.hosts ?? [],
    '/service/origins': service.origins ?? [],
    '/service/auth/tokens': service.auth?.tokens ?? [],
    '/service/variables': service.variables ?? [],
    // An SDK with this setting searches environment variables and files for credentials.
    '/providers/*/sdkEnvironment': Object.entries(providers).flatMap(([name, { sdkEnvironment }]) => (sdkEnvironment ? [name] : [])),
  }
}

function fixedIn({ model, models = {}, tools, service, telemetry, logging, providers = {} }: Config): Readonly<Record<string, unknown>> {
  const sections = Object.entries(providers)
  const ofModels = sections.flatMap(([name, section]) => (section.models ?? []).map((one) => [name, one] as const))
  return {
    '/tools/workspace': tools?.workspace ?? '.',
    '/service/host': service?.host ?? '127.0.0.1',
    '/service/trustedProxies': service?.trustedProxies ?? [],
    '/service/keepRuns/folder': service?.keepRuns?.folder,
    '/service/journal': service?.journal,
    '/service/mcp': service?.mcp ?? false,
    '/telemetry': telemetry,
    '/logging/level': logging?.level ?? 'info',
    // These patterns are matched against text from models, so a bad pattern could block the service.
    '/model/quirks/toolCallId': callIdRules([['', model]]),
    '/models/*/quirks/toolCallId': callIdRules(Object.entries(models)),
    '/providers/*/quirks/toolCallId': callIdRules(sections),
    '/providers/*/models/*/quirks/toolCallId': callIdRules(ofModels),
  }
}

/**
 * Checks a change of the MCP servers. The change may remove a server, remove tools of a server, or require approval for all calls of a
 * server. The texts `${NAME}` are compared, not the values of the variables.
 */
function mcpProblems(wanted: JsonObject, known: JsonObject): Problem[] {
  const knownServers = objectAt(known, 'servers')
  const servers = Object.entries(objectAt(wanted, 'servers')).filter(([name, server]) => !isNarrowed(server, knownServers[name]))
  const others = [...new Set([...Object.keys(wanted), ...Object.keys(known)])].filter((name) => name !== 'servers')
  const changed = others.filter((name) => !isDeepStrictEqual(wanted[name], known[name]))
  return [
    ...changed.map((name) => ({ path: pointerTo('/mcp', name), message: inFile })),
    ...servers.map(([name]) => ({
      path: pointerTo('/mcp/servers', name),
      message: `${inFile}; over the API, a server can only be removed, lose \`tools\` or get \`approval: true\``,
    })),
  ]
}

function isNarrowed(wanted: Json, known: Json | undefined): boolean {
  if (!isJsonObject(wanted) || !isJsonObject(known)) return false
  const { tools, approval, ...server } = wanted
  const { tools: knownTools, approval: knownApproval, ...knownServer } = known
  const losesTools =
    Array.isArray(tools) && (knownTools === undefined ? !JSON.stringify(tools).includes('${') : isPartOf(tools, knownTools))
  return (
    isDeepStrictEqual(server, knownServer) &&
    (losesTools || isDeepStrictEqual(tools, knownTools)) &&
    (approval === true || isDeepStrictEqual(approval, knownApproval))
  )
}

function isPartOf(part: unknown = [], whole: unknown = []): boolean {
  return Array.isArray(part) && Array.isArray(whole) && part.every((entry) => whole.some((one) => isDeepStrictEqual(one, entry)))
}

function objectAt(value: JsonObject, key: string): JsonObject {
  const found = value[key]
  return isJsonObject(found) ? found : {}
}

/** Returns the `toolCallId` quirks of providers or models, each paired with the name of its provider or model. */
function callIdRules(named: readonly (readonly [string, string | { quirks?: JsonObject } | undefined])[]): Json {
  return named.flatMap(([name, one]) => {
    const rule = typeof one === 'object' ? one.quirks?.toolCallId : undefined
    return rule === undefined ? [] : [[name, rule]]
  })
}
