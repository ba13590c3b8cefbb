/**
 * A backend of shops: a runner with a journal, sessions, a typed context and `restore`, in a process that the harness breaks. It follows
 * orders over IPC, and closes on SIGTERM. `node worker.ts <options as JSON>`
 */
import { createHash } from 'node:crypto'
import type { StoredResult } from '../../src/agent/durable/index.ts'
import { AgentRunner, type AnyTool, asTool, defineTool, type Hooks, type ToolContext, type ToolEffect, textOf } from '../../src/index.ts'
import { scriptedModel } from '../../src/testing/index.ts'
import { expireAfterMs, openStores, type Store } from './stores.ts'

export interface WorkerOptions {
  store: Store
  ledgerUrl: string
  /** How long it drains on SIGTERM, in milliseconds. */
  drainMs: number
}

/** A run to start. Each word of `plan` is a turn; tools joined by `+` are called in one turn. */
export interface RunSpec {
  runId: string
  session: string
  shop: string
  plan: string
}

export type Order =
  | { do: 'run'; spec: RunSpec }
  | { do: 'resume'; runId: string; decisions: object[] }
  | { do: 'recover' }
  | { do: 'look'; runId: string }
  | { do: 'read'; session: string }
  | { do: 'active' }

/** The result of an order. */
export interface Done {
  stopReason?: string | undefined
  status?: string | undefined
  problem?: string | undefined
  /** A digest of the answer and all messages of the run. */
  digest?: string
  pending?: { toolCallId: string; fingerprint: string; tool: string }[]
  outcomes?: { tool: string; place: string; outcome: string }[]
  messages?: string[]
}

class Shop {
  readonly name: string
  readonly allow: readonly string[] = ['look', 'refund', 'charge', 'notify', 'ship', 'agent']

  constructor(name: string) {
    this.name = name
  }
}

const { store, ledgerUrl, drainMs } = JSON.parse(process.argv[2] ?? '{}') as WorkerOptions

async function tell(told: object, signal?: AbortSignal): Promise<{ refused?: true; ran?: boolean }> {
  const body = JSON.stringify({ ...told, pid: process.pid })
  const response = await fetch(ledgerUrl, { method: 'POST', body, ...(signal === undefined ? {} : { signal }) })
  return (await response.json()) as { refused?: true; ran?: boolean }
}

/** The place of a call. `run` is the run's id or, for an agent inside a call, `<run>/<place of the call>`. */
interface Place {
  run: string
  turn: number
  place: string
}

const placeSchema = {
  type: 'object',
  properties: { run: { type: 'string' }, turn: { type: 'integer' }, place: { type: 'string' } },
  required: ['run', 'turn', 'place'],
} as const

const shopTool = (name: string, effect: ToolEffect, more: Partial<AnyTool> = {}): AnyTool => ({
  ...defineTool({
    name,
    description: name,
    effect,
    parameters: placeSchema,
    execute: async (args: Place, ctx: ToolContext<Shop | undefined>) => {
      const { context, metadata, idempotencyKey: key, signal } = ctx
      const shops = { shop: context?.name ?? 'none', shopStored: metadata?.shop ?? 'none' }
      const { refused } = await tell({ kind: 'call', tool: name, key, ...shops, ...args }, signal)
      if (refused) throw new Error('Another process makes this call')
      return `${name} done`
    },
  } as never),
  ...more,
})

const tools = [
  shopTool('look', 'read'),
  shopTool('refund', 'idempotent'),
  shopTool('notify', 'unsafe'),
  shopTool('ship', 'unsafe', { approval: true }),
  shopTool('charge', 'unsafe', {
    reconcile: async ({ run }: Place, { idempotencyKey: key, signal }: ToolContext) => {
      const { ran } = await tell({ kind: 'reconcile', run, key }, signal)
      return ran ? { ran, value: 'charge done' } : { ran: false }
    },
  }),
  shopTool('erase', 'unsafe'),
]

const model = scriptedModel(
  async ({ messages, signal }) => {
    const from = messages.findLastIndex(({ role }) => role === 'user')
    const [run = '', plan = ''] = textOf(messages[from]?.content ?? '').split(' | ')
    const turn = messages.slice(from).filter(({ role }) => role === 'assistant').length
    await tell({ kind: 'model', run, turn }, signal)
    const names = plan.split(' ')[turn]?.split('+')
    return names === undefined
      ? `done ${run}`
      : { toolCalls: names.map((name, at) => ({ name, args: { run, turn, place: `${turn}.${at}` } })) }
  },
  { record: false },
)

/** If hooks failed open, a failure of the policy would let everything pass. */
const policy: Hooks<Shop> = {
  beforeTool: ({ tool, context }) => (context.allow.includes(tool) ? undefined : { refuse: 'not allowed in this shop' }),
}
const given = (shop: string) => ({ context: new Shop(shop), hooks: [policy] })
const log = (level: string) => (fields: object, message: string) => {
  if (process.connected) process.send?.({ log: `${level} ${message} ${JSON.stringify(fields)}` })
}
const logger = { debug() {}, info() {}, warn: log('warn'), error: log('error') }
const { journal, sessions, end } = await openStores(store, logger)
const shared = { model, logger, limits: { repeatedCalls: Number.POSITIVE_INFINITY }, maxIterations: 20 }
const agent = asTool(new AgentRunner<Shop>({ ...shared, tools, hooks: [policy] }), {
  name: 'agent',
  description: 'An agent inside a call.',
  parameters: placeSchema,
  effect: 'idempotent',
  input: ({ run, place }) => `${run}/${place} | refund+notify charge erase`,
})
const runner = new AgentRunner<Shop>({
  ...shared,
  tools: [...tools, agent],
  journal,
  sessions,
  decisionTimeoutMs: expireAfterMs,
  restore: ({ metadata }) => given(String(metadata?.shop)),
})

function doneBy({ stopReason, text, newMessages, pending, error }: StoredResult): Done {
  const said = JSON.stringify([text, newMessages])
  return {
    stopReason,
    problem: error?.message,
    digest: createHash('sha256').update(said).digest('hex'),
    pending: pending.map(({ toolCallId, fingerprint, tool }) => ({ toolCallId, fingerprint, tool })),
  }
}

async function carryOut(order: Order): Promise<Done> {
  switch (order.do) {
    case 'run': {
      const { runId, session, shop, plan } = order.spec
      return doneBy(await runner.run(`${runId} | ${plan}`, { runId, session, metadata: { shop }, ...given(shop) }))
    }
    case 'resume':
      return doneBy(await runner.resume(order.runId, { decisions: order.decisions as never, context: undefined as never }))
    case 'recover':
      await runner.recover()
      return {}
    case 'look': {
      const found = await runner.runs.get(order.runId)
      if (found === undefined) return {}
      const { status, stopReason, problem, pending, result } = found
      const outcomes = result?.toolCalls.map(({ tool, args, outcome }) => ({ tool, place: String(args?.place), outcome }))
      return {
        ...(result === undefined ? {} : doneBy(result)),
        status,
        stopReason,
        problem,
        pending: pending.map(({ toolCallId, fingerprint, tool }) => ({ toolCallId, fingerprint, tool })),
        ...(outcomes === undefined ? {} : { outcomes }),
      }
    }
    case 'active':
      return { messages: runner.active.map(({ runId, session }) => `${runId} in ${session}`) }
    case 'read':
      return { messages: (await sessions.read(order.session)).map(({ role, content }) => `${role} ${textOf(content ?? '')}`) }
  }
}

process.on('message', ({ id, order }: { id: number; order: Order }) => {
  carryOut(order).then(
    (done) => process.connected && process.send?.({ id, done }),
    (error) => process.connected && process.send?.({ id, failed: { code: error.code, message: error.message } }),
  )
})

let isClosing = false
process.once('SIGTERM', async () => {
  isClosing = true
  await runner.close({ drainMs })
  await end()
  // From here on, nothing of the worker keeps the process alive.
  process.disconnect()
})
// The harness has ended.
process.on('disconnect', () => {
  if (!isClosing) process.exit(1)
})
process.send?.({ ready: true })
