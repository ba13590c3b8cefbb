import { randomUUID } from 'node:crypto'
import type { Logger } from '../../core/logger.ts'
import { type JsonObject, textOf } from '../../core/messages.ts'
import { yieldNow } from '../../core/time/give-way.ts'
import { fitArguments } from '../../tools/arguments.ts'
import type { AnyTool } from '../../tools/tool.ts'
import { type ToolCallEnd, ToolRunner } from '../../tools/tool-runner.ts'
import { HttpProblem, type Problem, pointerTo } from '../http/problem.ts'
import { EventRedactor } from '../redaction/event-redactor.ts'
import type { AgentHost } from './agent-host.ts'

const timeoutMs = 30_000
/** Maximum size of the shown result, in bytes. */
const maxResultBytes = 200_000

export interface TryOrder {
  tool: AnyTool
  args: JsonObject
  /** Whether the caller accepts that the call may have side effects. If true, no approval is needed. */
  approved: boolean
  context: unknown
  signal: AbortSignal
}

export interface TriedCall {
  outcome: ToolCallEnd['outcome']
  /** The result as a model would receive it, with secrets redacted. */
  content: string
  durationMs: number
  attempts: number
  errorCode?: string
}

interface TrialParts {
  host: AgentHost
  logger: Logger
}

/**
 * Runs one call outside of a run. The call is validated like a call of a model, and has the tool's time limit and retries. `signal` cancels
 * it. Rejects with an `HttpProblem`: 409 if the call needs an approval and `approved` is false, 422 if its arguments are invalid.
 */
export async function tryTool({ tool, args, approved, context, signal }: TryOrder, { host, logger }: TrialParts): Promise<TriedCall> {
  const { name, approval = false, effect = 'unsafe' } = tool
  if (!approved && (approval !== false || effect === 'unsafe')) {
    const why = approval === false ? 'may have side effects' : 'may need an approval'
    throw new HttpProblem(409, 'approval_needed', `The tool ${name} ${why}: say \`approved: true\` to run it`, { param: 'approved' })
  }
  // A change of the configuration must not replace the tool that the caller approved.
  const runner = new ToolRunner({ get: () => tool, names: () => [name] })
  const { maxArgumentValues } = host
  const endLease = host.leaseTools()
  const redactor = new EventRedactor([tool], host.secrets, maxArgumentValues)
  const id = `try_${randomUUID()}`
  try {
    redactor.learn(name, args)
    const started = performance.now()
    const environment = { context, signal, runId: id, iteration: 1, idempotencyKey: id, timeoutMs, maxResultBytes, maxArgumentValues }
    const call = { id, type: 'function' as const, function: { name, arguments: JSON.stringify(args) } }
    const { message, end } = await runner.run(call, { ...environment, approved, logger })
    const durationMs = performance.now() - started
    if ('code' in end && end.code === 'invalid_arguments')
      throw await invalidArguments(tool, args, redactor.redactText(end.content), redactor)
    const result = textOf(message.content)
    const told = { type: 'TOOL_CALL_END', tool: name, result, bytes: result.length, outcome: 'ok' } as const
    const [shown] = await redactor.redact({ ...told, meta: { runId: id, time: Date.now(), iteration: 1 } })
    return {
      outcome: end.outcome,
      content: shown !== undefined && 'result' in shown ? shown.result : '',
      durationMs,
      attempts: 'attempts' in end ? end.attempts : 0,
      ...('code' in end ? { errorCode: end.code } : {}),
    }
  } finally {
    endLease()
  }
}

/**
 * Returns a 422 about invalid arguments. `said` is the error text that a model would receive. If the schema check finds problems, the
 * response also lists them with their paths.
 */
async function invalidArguments(tool: AnyTool, args: JsonObject, said: string, redactor: EventRedactor): Promise<HttpProblem> {
  // The earlier check may have blocked the event loop for long.
  await yieldNow()
  const fitted = await fitArguments(tool, args)
  const problems = 'problems' in fitted ? fitted.problems.map((told) => problemOf(redactor.redactText(told))) : []
  return new HttpProblem(422, 'invalid_arguments', said, { param: 'arguments', ...(problems.length === 0 ? {} : { problems }) })
}

/** Finds the path in a validation message. For example, `` `lines[0].sku`: missing required `id` `` has the path `/lines/0/sku/id`. */
function problemOf(told: string): Problem {
  const [, field = '', message = told] = /^(?:arguments|`([^`]*)`): (.*)$/s.exec(told) ?? []
  const path = field.replaceAll('[', '.').replaceAll(']', '').split('.').filter(Boolean).reduce(pointerTo, '')
  const [, missing] = /^missing required `([^`]*)`/.exec(message) ?? []
  return missing === undefined ? { path, message } : { path: pointerTo(path, missing), message: 'is required' }
}
