import { AgentRunner } from '../agent/agent-runner.ts'
import { keepsRecords } from '../agent/journal/call-record.ts'
import { stoppedByGuardrail } from '../agent/loop.ts'
import { RunContext } from '../agent/run/run-context.ts'
import { decisionsIn, endedOutside, hasNoted, type PausedAgent, pausedIn, questionOf } from '../agent/sub-agents/sub-agent.ts'
import type { RunResult } from '../agent/types/options.ts'
import { InvalidOptionError } from '../core/errors.ts'
import { isJsonObject, type Json, withoutUndefined } from '../core/messages.ts'
import type { ToolSet } from '../tools/registry.ts'
import { resultText } from '../tools/result-text.ts'
import type { InlineLimits } from '../tools/sandbox/vm/script-vms.ts'
import type { Question, ToolContext } from '../tools/tool.ts'
import { rulesOfCalls } from './rules-of-calls.ts'
import { bodyOf } from './script-body.ts'
import { scriptLoop, scriptModel } from './script-loop.ts'

export interface GivenScript {
  name: string
  code: string
  tools: ToolSet
  scriptBytes: number
  limits: InlineLimits
}

/** Maximum size of one call's result in a script, in bytes. */
const mostResultBytes = 1024 * 1024

export interface ScriptResult {
  /** The value that the script returned. Absent if the script returned nothing. */
  value?: Json
  /** The text that the script printed. Absent if the script printed nothing. */
  output?: string
  /** Notes for the model on calls that ran with other arguments than the script passed. */
  notes?: string[]
}

/**
 * Runs a script as a nested run in which the script takes the place of the model. Its calls are approved, recorded and replayed like the
 * calls of a nested agent, under the rules of the outer run.
 */
export async function executeScript(script: GivenScript, ctx: ToolContext): Promise<ScriptResult | Question> {
  const { name, code: written, scriptBytes } = script
  const { run } = ctx
  if (!(run instanceof RunContext)) throw new Error('A script can be run only by the call of a run.')
  if (Buffer.byteLength(written) > scriptBytes)
    throw new Error(`The script has ${Buffer.byteLength(written)} bytes; at most ${scriptBytes} are allowed.`)
  if (run.durable?.survivesCrashes === true && !keepsRecords(run.durable))
    throw new Error('The script was not run: its calls could not be recorded. The journal of the run has no `append` and `entries`.')
  const runner = scriptRunner(script, run)
  const options = { parent: ctx as ToolContext<never>, forwardEvents: true, remembered: [...run.remembered] }
  const paused = pausedIn(ctx.asked)
  const conclude = (result: RunResult) => {
    for (const approval of result.remembered ?? []) run.remembered.add(approval)
    return resultOf(name, result, run, ctx.toolCallId)
  }
  try {
    if (paused === undefined) return conclude(await runner.run(bodyOf(written), { ...options, runId: ctx.idempotencyKey }))
    return conclude(await runner.resume(paused.state ?? paused.runId, { ...options, decisions: decisionsIn(ctx.answer) }))
  } catch (error) {
    // The decisions were invalid and had no effect, so the script asks for decisions again.
    if (paused === undefined || !(error instanceof InvalidOptionError)) throw endedOutside(error, ctx)
    return questionOf({ ...paused, problem: error.message })
  }
}

function scriptRunner({ tools, limits }: GivenScript, run: RunContext): AgentRunner<never> {
  const { toolTimeoutMs, maxArgumentValues } = run.limits
  const { toolConcurrency, decisionTimeoutMs, stream, streamIdleTimeoutMs, streamStallTimeoutMs } = run.settings
  return new AgentRunner<never>(
    {
      model: scriptModel(run.agent.model),
      name: 'script',
      tools,
      bus: run.events.bus,
      logger: run.logger,
      ...rulesOfCalls(run),
      toolTimeoutMs,
      maxArgumentValues,
      maxResultBytes: mostResultBytes,
      maxIterations: Number.MAX_SAFE_INTEGER,
      limits: { repeatedCalls: Number.POSITIVE_INFINITY },
      ...withoutUndefined({ toolConcurrency, decisionTimeoutMs, stream, streamIdleTimeoutMs, streamStallTimeoutMs }),
    },
    scriptLoop(limits),
    { warns: false },
  )
}

/** Returns the result of a script. If a guardrail has stopped the script, also makes the outer run end. */
function resultOf(name: string, result: RunResult, outer: RunContext, toolCallId: string): ScriptResult | Question {
  const { runId, stopReason, text, error, pending, state } = result
  if (stopReason === 'answered') return readEnd(text)
  if (stopReason === 'paused') {
    const paused = { agent: name, runId, pending, state } satisfies PausedAgent as PausedAgent
    return questionOf(paused, hasNoted(result, outer) ? showResult(readEnd(text)) : undefined)
  }
  if (stopReason === 'refused' && error !== undefined) outer.stops.set(toolCallId, error.message.replace(stoppedBy, ''))
  throw new Error(error?.message ?? `The script was ended (${stopReason}).`)
}

/** The prefix of the error message of a run that a guardrail stopped. The guardrail's reason follows the prefix. */
const stoppedBy = stoppedByGuardrail('').error?.message ?? ''

/** Caches the JSON of returned values, because stringifying a large value again would block the event loop. */
const returnedTexts = new WeakMap<ScriptResult, string>()

/** Parses the result of a script from the text of its last turn. */
function readEnd(text: string): ScriptResult {
  const end = text.indexOf('\n')
  const json = text.slice(end + 1)
  const beside: ScriptResult = JSON.parse(text.slice(0, end))
  if (json === '') return beside
  const result = { value: JSON.parse(json), ...beside }
  if (typeof result.value !== 'string') returnedTexts.set(result, json)
  return result
}

/** Returns the text of the result for the model. The result may be any value, because a hook or an entry of `plan` may have replaced it. */
export function showResult(result: unknown): string {
  if (!isScriptResult(result)) return resultText(result)
  const { value, output, notes = [] } = result
  const returned = value === undefined ? [] : [returnedTexts.get(result) ?? resultText(value)]
  if (output === undefined && notes.length === 0) return returned[0] ?? nothingToSee
  const printed = output === undefined ? [] : [`Printed:\n${output}`]
  return [...printed, ...returned.map((text) => `Returned:\n${text}`), ...notes.map((note) => `Note: ${note}`)].join('\n\n')
}

function isScriptResult(value: unknown): value is ScriptResult {
  return isJsonObject(value) && Object.keys(value).every((name) => ['value', 'output', 'notes'].includes(name))
}

const nothingToSee = 'The script has returned and printed nothing. To see something, `return` or `console.log` it.'
