import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { EventBus } from '../../../src/core/callbacks/event-bus.ts'
import { createLogger, type Logger } from '../../../src/core/logger.ts'
import { recordRun } from '../../../src/recording/index.ts'
import { scriptedModel } from '../../../src/testing/scripted-model.ts'
import { builtinTools, currentTimeTool, fetchUrlTool } from '../../../src/tools/builtin/index.ts'
import { ToolDispatcher } from '../../../src/tools/dispatcher.ts'
import { ToolRegistry, type ToolSet } from '../../../src/tools/registry.ts'
import { SkillsSandboxExecutor } from '../../../src/tools/skills/index.ts'
import { type AnyTool, defineTool } from '../../../src/tools/tool.ts'
import { ToolRunner } from '../../../src/tools/tool-runner.ts'
import type { Bad } from '../misbehave.ts'
import { endsWell, look, type Probe, quiet, settled, settles, within } from './probe.ts'

/** An object of a class with private fields, with one member replaced. */
export function withMember<T extends object>(object: T, name: string, member: unknown): T {
  return new Proxy(object, {
    get(target, key) {
      if (key === name) return member
      const value: unknown = Reflect.get(target, key)
      return typeof value === 'function' ? value.bind(target) : value
    },
    has: (target, key) => key === name || Reflect.has(target, key),
  })
}

const calling = (tools: readonly AnyTool[] | ToolSet, name: string, args: object = {}): Promise<unknown> =>
  settles({ tools: tools as never, model: scriptedModel([{ toolCalls: [{ name, args: args as never }] }, 'Done.']) })

/** A custom set of tools. What it throws may reject the run, with an error that says so. */
const set = (
  name: string,
  bad: Bad,
  around = (tools: ToolSet): ToolSet => tools,
  options: object = { activeTools: ['look'] },
): Promise<unknown> => {
  const tools = new ToolRegistry([look])
  const own = {
    size: 1,
    get: (of: string) => tools.get(of),
    names: () => tools.names(),
    list: () => tools.list(),
    getAllSpecs: () => tools.getAllSpecs(),
  }
  return endsWell(settles({ tools: around({ ...own, [name]: bad }), ...options }))
}

/** Every log level is written. */
const logged = (members: Partial<Logger>, options: object = {}): Promise<unknown> => {
  const failing = defineTool({ name: 'look', description: 'x', execute: () => Promise.reject(new Error('no')) })
  return settles({ logger: { ...quiet, isLevelEnabled: () => true, ...members }, tools: [failing], ...options })
}

const validated = (bad: Bad): Promise<unknown> => {
  const schema = { '~standard': { version: 1, vendor: 'own', validate: bad } } as const
  return calling(
    [defineTool({ name: 'look', description: 'x', parameters: schema as never, jsonSchema: { type: 'object' }, execute: () => 'seen' })],
    'look',
  )
}

const call = { id: 'call_1', type: 'function' as const, function: { name: 'look', arguments: '{}' } }
/** One call without a run. */
const alone = (
  members: object,
  tools: { get(name: string): AnyTool | undefined; names(): string[] } = new ToolRegistry([asking]),
): Promise<unknown> =>
  endsWell(
    new ToolRunner(tools).run(call, {
      context: undefined,
      signal: AbortSignal.timeout(80),
      runId: 'run_1',
      iteration: 1,
      idempotencyKey: 'key',
      timeoutMs: 40,
      maxResultBytes: 1_000,
      logger: quiet,
      ...members,
    }),
  )
const asking = defineTool({
  name: 'look',
  description: 'x',
  execute: async (_, ctx) => {
    ctx.progress('half')
    return (await ctx.askModel?.({ messages: 'And?' } as never)) ?? 'seen'
  },
})

async function langChainTool(bad: Bad): Promise<unknown> {
  const { fromLangChainTools } = await import('../../../src/backends/index.ts')
  const { tool } = await import('@langchain/core/tools')
  const made = tool(() => 'x', { name: 'look', description: 'x', schema: { type: 'object', properties: {} } })
  return calling(await fromLangChainTools([withMember(made, 'invoke', bad) as never]), 'look')
}

async function recordedRun(bad: Bad): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'toolloop-callbacks-'))
  await within(100, recordRun(bad, join(folder, 'run.json')))
  rmSync(folder, { recursive: true })
}

let executor: SkillsSandboxExecutor | undefined
/** A script that calls the host. */
async function scripted(bad: Bad): Promise<void> {
  executor ??= new SkillsSandboxExecutor({ threads: 1 })
  const folder = mkdtempSync(join(tmpdir(), 'toolloop-callbacks-'))
  writeFileSync(join(folder, 'ask.mjs'), 'export default (args, host) => host.call("x")')
  await settled(executor.run({ folder, script: 'ask.mjs', args: [], signal: AbortSignal.timeout(1_500), call: bad }))
  rmSync(folder, { recursive: true })
}

/** Callbacks of tools and loggers. */
export const toolProbes: Record<string, Probe> = {
  'BuiltinToolsOptions.now': (bad) => calling(builtinTools({ now: bad }), 'current_time'),
  'CurrentTimeOptions.now': (bad) => calling([currentTimeTool({ now: bad })], 'current_time'),
  'FetchUrlOptions.resolveHost': (bad) => calling([fetchUrlTool({ resolveHost: bad })], 'fetch_url', { url: 'http://example.test/' }),
  'LangChainTool.invoke': langChainTool,
  'Logger.debug': (bad) => logged({ debug: bad }),
  'Logger.warn': (bad) => logged({ warn: bad }),
  'Logger.error': (bad) => logged({ error: bad }, { stopWhen: () => Promise.reject(new Error('no')) as never }),
  'Logger.isLevelEnabled': (bad) => logged({ isLevelEnabled: bad }),
  'LoggerOptions.destination.write': (bad) =>
    settles({ logger: createLogger({ level: 'debug', destination: { write: bad } }), bus: new EventBus() }),
  'Props.validate': validated,
  'ToolSet.get': (bad) => set('get', bad),
  'ToolSet.getAllSpecs': (bad) => set('getAllSpecs', bad),
  'ToolSet.hidden': (bad) => set('hidden', bad, (tools) => new ToolDispatcher([{ kind: 'builtin', tools }])),
  'ToolSet.list': (bad) => set('list', bad),
  'ToolSet.names': (bad) => set('names', bad, undefined, { model: scriptedModel([{ toolCalls: [{ name: 'nothing' }] }, 'Done.']) }),
  'ToolSet.opened': (bad) => set('opened', bad),
  'ToolSet.searchable': (bad) => set('searchable', bad),
  'ToolSet.settled': (bad) => set('settled', bad),
  'ToolRunner(tools).get': (bad) => alone({}, { get: bad, names: () => [] }),
  'ToolRunner(tools).names': (bad) => alone({}, { get: () => undefined, names: bad }),
  'ToolCallEnvironment.askModel': (bad) => alone({ askModel: bad }),
  'ToolCallEnvironment.onProgress': (bad) => alone({ onProgress: bad }),
  'ToolCallEnvironment.onStart': (bad) => alone({ onStart: bad }),
  'ToolCallEnvironment.whenOver': (bad) => alone({ whenOver: bad }),
  'ToolCallEnvironment.whenOver()': (bad) => alone({ whenOver: () => bad }),
  'recordRun(start)': recordedRun,
  'ScriptRun.call': scripted,
}
