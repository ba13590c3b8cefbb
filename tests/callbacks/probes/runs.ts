import { AgentRunner } from '../../../src/agent/agent-runner.ts'
import { compactMessages } from '../../../src/agent/conversation/compaction.ts'
import { CustomAgent } from '../../../src/agent/custom-agent.ts'
import type { RunOptions } from '../../../src/agent/options/run-options.ts'
import { handoff } from '../../../src/agent/sub-agents/handoff.ts'
import { asTool } from '../../../src/agent/sub-agents/sub-agent.ts'
import { ToolAgent } from '../../../src/agent/tool-agent.ts'
import { EventBus } from '../../../src/core/callbacks/event-bus.ts'
import { scriptedModel } from '../../../src/testing/scripted-model.ts'
import { ToolRegistry } from '../../../src/tools/registry.ts'
import { BaseTool, defineTool } from '../../../src/tools/tool.ts'
import type { Bad } from '../misbehave.ts'
import { endsWell, look, type Probe, quiet, settled, settles, turns, within } from './probe.ts'

/** A call of a tool with a bad member. */
const tool = (fields: object, options?: RunOptions): Promise<unknown> =>
  settles({ tools: [defineTool({ name: 'look', description: 'Looks.', execute: () => 'seen', ...fields })] }, options)

/** A run whose process died in the middle of an unsafe call. */
async function reconciled(bad: Bad): Promise<unknown> {
  const { memoryJournal, MemoryRuns } = await import('../../../src/testing/index.ts')
  const kept = new MemoryRuns()
  const started = Promise.withResolvers<void>()
  const unsafe = (execute: () => unknown) =>
    defineTool({ name: 'look', description: 'Looks.', effect: 'unsafe', execute, reconcile: bad } as never)
  const open = (execute: () => unknown) => {
    const journal = memoryJournal(kept)
    return {
      journal,
      runner: new AgentRunner({ model: scriptedModel(turns()), tools: [unsafe(execute)], logger: quiet, toolTimeoutMs: 40, journal }),
    }
  }
  const first = open(() => {
    started.resolve()
    return new Promise(() => {})
  })
  const dying = settled(first.runner.run('go', { runId: 'r', toolTimeoutMs: 10_000 }))
  await started.promise
  await first.journal.close?.()
  await within(10, dying)
  const second = open(() => 'seen')
  await within(200, second.runner.recover())
  await second.runner.close({ drainMs: 0 })
  return second.journal.close?.()
}

/** A nested agent that has paused, and is resumed. */
async function resumed(bad: Bad): Promise<unknown> {
  const pausing = new AgentRunner({ model: scriptedModel(turns()), tools: [{ ...look, approval: true }], logger: quiet })
  const agent = { run: (input: string, options: object) => pausing.run(input, options), resume: bad }
  const tools = [
    asTool(agent as never, { name: 'look', description: 'x', parameters: { type: 'object' }, input: () => 'go', timeoutMs: 40 }),
  ]
  const { state, pending } = await new AgentRunner({ model: scriptedModel(turns()), tools, logger: quiet }).run('go')
  const decisions = pending.map((item) => ({ ...item, approved: true }))
  return new AgentRunner({ model: scriptedModel(['Done.']), tools, logger: quiet }).resume(state, { decisions: decisions as never })
}

const toolMembers: [string, Probe][] = [
  ['execute', (bad) => tool({ execute: bad })],
  ['approval', (bad) => tool({ approval: bad })],
  ['reconcile', reconciled],
  ['preview', (bad) => tool({ preview: bad }, { effects: 'preview' })],
]

async function heardBy(runner: Pick<AgentRunner, 'on' | 'run'>, bad: Bad): Promise<void> {
  runner.on('RUN_END', bad)
  await runner.run('go')
}

const handedTo = (members: object): Promise<unknown> => {
  const taker = { model: scriptedModel(['Yes.']), tools: new ToolRegistry(), ...members }
  return settles({
    model: scriptedModel([{ toolCalls: [{ name: 'hand_off_to_other' }] }, 'Done.']),
    tools: [handoff(taker, { name: 'other', description: 'x' })],
  })
}

/** A paused run that is resumed without the context it was started with. */
async function restored(bad: Bad): Promise<unknown> {
  const waiting = () => [{ ...look, approval: true }]
  const { state, pending } = await new BadAgent({ tools: waiting }).run('go', { context: { user: 'a' } })
  const decisions = pending.map((item) => ({ ...item, approved: true as const }))
  return endsWell(new BadAgent({ tools: waiting, restore: bad }).resume(state, { decisions }))
}

class BadTool extends BaseTool {
  readonly name = 'look'
  readonly description = 'Looks.'
  readonly parameters = { type: 'object' } as const
  readonly execute: Bad
  override readonly approval: never

  constructor(execute: Bad, approval?: Bad) {
    super()
    this.execute = execute
    this.approval = approval as never
  }
}

class BadAgent extends CustomAgent {
  constructor(members: object) {
    super({ model: scriptedModel(turns()), tools: [look], logger: quiet, toolTimeoutMs: 40 })
    Object.assign(this, members)
  }
}
const agent = (members: object): Promise<unknown> => new BadAgent(members).run('go', { signal: AbortSignal.timeout(120) })
/** For members that reject a run, as their documentation says. */
const agentOrRejects = (members: object): Promise<unknown> => settled(agent(members))

const heard = (subscribe: (bus: EventBus) => void): Promise<unknown> => {
  const bus = new EventBus(() => {})
  subscribe(bus)
  return settles({ bus })
}

const hook = (members: object): Promise<unknown> => settles({ hooks: [members] })
const guardrail = (members: object): Promise<unknown> => settles({ guardrails: [{ name: 'rule', ...members }] })
const long = [
  { role: 'user', content: 'Hello.' },
  { role: 'assistant', content: 'x'.repeat(2_000) },
  { role: 'user', content: 'And?' },
] as const

/** Callbacks of a run and of an agent. */
export const runProbes: Record<string, Probe> = {
  'AgentHistory.load': (bad) => agentOrRejects({ history: () => ({ load: bad, save: () => {} }) }),
  'AgentHistory.save': (bad) => within(150, agent({ history: () => ({ load: () => [], save: bad }) })),
  'AgentRunner.bus.on(listener)': (bad) => heard((bus) => bus.on('TOOL_CALL_END', bad)),
  'AgentRunner.bus.onAny(listener)': (bad) => heard((bus) => bus.onAny(bad)),
  'AgentRunner.bus.once(listener)': (bad) => heard((bus) => bus.once('RUN_END', bad)),
  'EventBus(onFailure)': (bad) => {
    const bus = new EventBus(bad)
    bus.on('RUN_START', () => Promise.reject(new Error('no')))
    bus.on('RUN_END', () => {
      throw new Error('no')
    })
    return settles({ bus })
  },
  'AgentRunner.on(listener)': (bad) => heardBy(new AgentRunner({ model: scriptedModel(turns()), tools: [look], logger: quiet }), bad),
  'CustomAgent.on(listener)': (bad) => heardBy(new BadAgent({}), bad),
  ...Object.fromEntries(
    ['Tool', 'AnyTool', 'ToolOptions'].flatMap((type) => toolMembers.map(([name, probe]) => [`${type}.${name}`, probe])),
  ),
  'ToolOptions.toContent': (bad) => tool({ toContent: bad }),
  'Tool.toContent': (bad) => tool({ toContent: bad }),
  'ConversationTaker.instructions': (bad) => handedTo({ instructions: bad }),
  'ConversationTaker.tools': (bad) => handedTo({ tools: bad }),
  'BaseTool.execute': (bad) => settles({ tools: [new BadTool(bad)] }),
  'BaseTool.approval': (bad) => settles({ tools: [new BadTool((() => 'seen') as Bad, bad)] }),
  'AsToolOptions.input': (bad) =>
    settles({
      tools: [
        asTool(new AgentRunner({ model: scriptedModel(['Yes.']), logger: quiet }), {
          name: 'look',
          description: 'x',
          parameters: { type: 'object' },
          input: bad,
        }),
      ],
    }),
  'AsToolOptions.approval': (bad) =>
    settles({
      tools: [
        asTool(new AgentRunner({ model: scriptedModel(['Yes.']), logger: quiet }), {
          name: 'look',
          description: 'x',
          parameters: { type: 'object' },
          input: () => 'go',
          approval: bad,
        }),
      ],
    }),
  'AsToolOptions.result': (bad) =>
    settles({
      tools: [
        asTool(new AgentRunner({ model: scriptedModel(['Yes.']), logger: quiet }), {
          name: 'look',
          description: 'x',
          parameters: { type: 'object' },
          input: () => 'go',
          result: bad,
          timeoutMs: 40,
        }),
      ],
    }),
  'RunnableAgent.resume': resumed,
  'RunnableAgent.run': (bad) =>
    settles({
      tools: [asTool({ run: bad, resume: bad }, { name: 'look', description: 'x', parameters: { type: 'object' }, timeoutMs: 40 })],
    }),
  'CompactionOptions.estimate': (bad) => settles({ compaction: { maxTokens: 1, estimate: bad } }),
  'CompactionOptions.summarise': (bad) => settles({ compaction: { maxTokens: 1, summarise: bad } }, { messages: long }),
  'CompactionSize.estimate': (bad) => settled((async () => compactMessages(long, { tokens: 10, estimate: bad }))()),
  'ControlSettings.approve': (bad) => settles({ tools: [{ ...look, approval: true }], approve: bad }),
  'ControlSettings.stopWhen': (bad) => settles({ stopWhen: bad }),
  'RunOptions.onText': (bad) => settles({}, { onText: bad }),
  'RunOptions.instructions': (bad) => settled(settles({}, { instructions: bad })),
  'RunnerOptions.instructions': (bad) => settled(settles({ instructions: bad })),
  'GenerateOptions.onText': (bad) => new ToolAgent({ model: scriptedModel(['Hello.']), logger: quiet }).generate('go', { onText: bad }),
  'Guardrail.call': (bad) => guardrail({ call: bad }),
  'Guardrail.input': (bad) => guardrail({ input: bad }),
  'Guardrail.output': (bad) => guardrail({ output: bad }),
  'Guardrail.result': (bad) => guardrail({ result: bad }),
  'PlanEntry.request': (bad) => settles({ plan: [{ name: 'p', request: bad }] }),
  'PlanEntry.call': (bad) => settles({ plan: [{ name: 'p', call: bad }] }),
  'AroundEntry.request': (bad) => settles({ around: [{ name: 'a', request: bad }] }),
  'AroundEntry.call': (bad) => settles({ around: [{ name: 'a', call: bad }] }),
  'Hooks.beforeModel': (bad) => hook({ beforeModel: bad }),
  'Hooks.afterModel': (bad) => hook({ afterModel: bad }),
  'Hooks.aroundModel': (bad) => hook({ aroundModel: bad }),
  'Hooks.beforeTool': (bad) => hook({ beforeTool: bad }),
  'Hooks.afterTool': (bad) => hook({ afterTool: bad }),
  'Hooks.aroundTool': (bad) => hook({ aroundTool: bad }),
  'CustomAgent.history': (bad) => agentOrRejects({ history: bad }),
  'CustomAgent.onText': (bad) => agent({ onText: bad }),
  'CustomAgent.onToolCall': (bad) => agent({ onToolCall: bad }),
  'CustomAgent.onToolResult': (bad) => agent({ onToolResult: bad }),
  'CustomAgent.perform': (bad) => within(150, agent({ perform: bad })),
  'CustomAgent.prepareTurn': (bad) => agent({ prepareTurn: bad }),
  'CustomAgent.restore': restored,
  'CustomAgent.shouldStop': (bad) => agent({ shouldStop: bad }),
}
