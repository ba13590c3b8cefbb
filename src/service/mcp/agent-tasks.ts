import { randomUUID } from 'node:crypto'
import type { Decision } from '../../agent/decisions/decisions.ts'
import { isJsonObject, type JsonObject } from '../../core/messages.ts'
import { messageIn } from '../../tools/mcp/server/questions.ts'
import type { McpTask, McpTasks, TaskAnswers, TaskForm } from '../../tools/mcp/server/tasks.ts'
import { failure } from '../../tools/mcp/server/wire.ts'
import { anyText } from '../../tools/question.ts'
import { resultText } from '../../tools/result-text.ts'
import type { JsonSchema } from '../../tools/tool.ts'
import type { Caller } from '../http/auth.ts'
import { HttpProblem } from '../http/problem.ts'
import type { RunStore } from '../runs/run-store.ts'
import type { ServiceRun } from '../runs/service-run.ts'
import type { Outcome } from '../runs/stored-run.ts'
import { noAnswerText } from './agent-tools.ts'

interface Parts {
  caller: Caller
  runs: RunStore
  /** Returns the agent that a tool represents. Returns undefined if the tool is not an agent. */
  agentOf(tool: string): string | undefined
  /** The context of a run that is started or resumed. */
  context: unknown
}

const approval: JsonSchema = {
  type: 'object',
  properties: { approve: { type: 'boolean', title: 'Approve', description: 'Whether the call may be made.' } },
  required: ['approve'],
}

/**
 * Offers calls of agents as MCP tasks. Each call is a run, which is stored and limited like the caller's other runs. The id of the task is
 * the id of the run. The user of the MCP client may decide on pending approvals and questions.
 */
export class AgentTasks implements McpTasks {
  readonly #parts: Parts

  constructor(parts: Parts) {
    this.#parts = parts
  }

  offers(tool: string): boolean {
    return this.#parts.agentOf(tool) !== undefined
  }

  async start(tool: string, { task }: JsonObject): Promise<McpTask> {
    const { caller, runs, agentOf, context } = this.#parts
    const agent = agentOf(tool) ?? ''
    const head = { id: `run_${randomUUID()}`, caller, kind: 'run' as const, agent, clientTools: [] }
    return this.#taskOf(await runs.start({ ...head, input: String(task), options: { context } }))
  }

  async get(taskId: string): Promise<McpTask | undefined> {
    const run = await this.#find(taskId)
    return run === undefined ? undefined : this.#taskOf(run)
  }

  async cancel(taskId: string): Promise<void> {
    const run = await this.#find(taskId)
    if (run !== undefined && run.status !== 'ended') await this.#parts.runs.cancel(run, 'cancelled')
  }

  async answer(taskId: string, answers: TaskAnswers): Promise<void> {
    const { caller: by, runs, context } = this.#parts
    const run = await this.#find(taskId)
    const outcome = run?.outcome
    if (run === undefined || outcome?.status !== 'waiting') return
    const decisions = askedIn(outcome).flatMap(({ fingerprint, toolCallId, kind }): Decision[] => {
      if (!Object.hasOwn(answers, fingerprint)) return []
      const { value } = answers[fingerprint] ?? {}
      const named = { toolCallId, fingerprint }
      if (value === undefined) return [{ ...named, approved: false, reason: 'the user has declined' }]
      if (kind === 'question') return [{ ...named, answer: value }]
      const isApproved = isJsonObject(value) && value.approve === true
      return [isApproved ? { ...named, approved: true } : { ...named, approved: false, reason: 'the user has declined' }]
    })
    if (decisions.length > 0) await runs.resume(run, outcome, { decisions, by, context })
  }

  async settled(taskId: string, signal: AbortSignal): Promise<void> {
    const run = await this.#find(taskId)
    if (run === undefined || signal.aborted) return
    const leave = await this.#parts.runs.watch(run)
    const gone = Promise.withResolvers<void>()
    const abort = () => gone.resolve()
    signal.addEventListener('abort', abort, { once: true })
    try {
      await Promise.race([run.ended, gone.promise])
    } finally {
      signal.removeEventListener('abort', abort)
      leave()
    }
  }

  /** Finds a run that this caller started. An admin doesn't find the runs of other callers here. */
  async #find(id: string): Promise<ServiceRun | undefined> {
    const { caller, runs } = this.#parts
    try {
      const run = await runs.get(id, caller)
      return run.head.kind === 'run' && run.head.caller.name === caller.name ? run : undefined
    } catch (error) {
      if (error instanceof HttpProblem && error.status === 404) return undefined
      throw error
    }
  }

  #taskOf(run: ServiceRun): McpTask {
    const { outcome } = run
    const { id: taskId, createdAt } = run.head
    const head = { taskId, createdAt, lastUpdatedAt: outcome?.finishedAt ?? createdAt, ttlMs: this.#parts.runs.bounds.ageMs }
    if (outcome === undefined) return { ...head, status: 'working' }
    const { stopReason, output = '', error } = outcome.summary
    if (outcome.status === 'waiting') {
      const forms = askedIn(outcome).map(({ fingerprint, form }) => [fingerprint, form] as const)
      return { ...head, status: 'input_required', statusMessage: 'Somebody has to decide', forms: Object.fromEntries(forms) }
    }
    if (stopReason === 'aborted') return { ...head, status: 'cancelled', statusMessage: error?.message ?? 'cancelled' }
    if (stopReason === 'answered' || (stopReason === 'stopped' && error === undefined))
      return { ...head, status: 'completed', result: { content: [{ type: 'text', text: output }] } }
    return { ...head, status: 'failed', result: failure(noAnswerText({ ...outcome.summary, text: output })) }
  }
}

interface Asked {
  fingerprint: string
  toolCallId: string
  kind: unknown
  form: TaskForm
}

/** Maximum length of a message to a user, in characters. The message must show everything that the user decides on. */
const longestMessage = 10_000

/** The results of `askedIn`, cached because clients poll for them. */
const asked = new WeakMap<Outcome, Asked[]>()

/**
 * Returns the approvals and questions that the user can decide. Leaves out items with hidden parts or too long messages, because the user
 * must see everything.
 */
function askedIn(outcome: Outcome): Asked[] {
  const known = asked.get(outcome)
  if (known !== undefined) return known
  const found = outcome.summary.pending.filter(isJsonObject).flatMap((item) => {
    const { kind, tool, args = {}, about = null, schema, hidden, fingerprint, toolCallId } = item
    const isHidden = Array.isArray(hidden) && hidden.length > 0
    if (kind !== 'approval' && kind !== 'question') return []
    if (isHidden) return []
    const from = agentsOf(item)
    const message =
      kind === 'question' ? `${from}${messageIn(about)}` : `${from}Allow the call of ${String(tool)} with ${resultText(args)}?`
    if (message.length > longestMessage) return []
    const form = { message, schema: kind !== 'question' ? approval : isJsonObject(schema) ? schema : anyText }
    return [{ fingerprint: String(fingerprint), toolCallId: String(toolCallId), kind, form }]
  })
  asked.set(outcome, found)
  return found
}

/** Returns the beginning of a message, which names the sub-agents that ask. */
function agentsOf({ path }: JsonObject): string {
  const agents = Array.isArray(path) ? path.filter(isJsonObject).map(({ agent }) => String(agent)) : []
  return agents.length === 0 ? '' : `(the agent ${agents.join(' › ')}) `
}
