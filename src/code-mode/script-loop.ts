import { runLoop } from '../agent/loop.ts'
import type { LoopState } from '../agent/run/run-state.ts'
import { scriptStep, turnStep } from '../agent/step-keys.ts'
import { otherArgumentsNote, withNote } from '../agent/told.ts'
import { planCalls } from '../agent/turn/model-turn.ts'
import { needsApproval } from '../agent/turn/needs-approval.ts'
import type { Execution, Loop, Place } from '../agent/types/execution.ts'
import type { PlannedCall, Reply, Turn } from '../agent/types/recorded.ts'
import type { RunStep, ToolCallRecord } from '../agent/types/result.ts'
import type { CallOutcome } from '../agent/types/running-call.ts'
import { digestOf } from '../core/digest.ts'
import { messageOf, ToolloopError } from '../core/errors.ts'
import type { AssistantMessage, Content, JsonObject, ToolCall } from '../core/messages.ts'
import { type InlineLimits, type ScriptRound, ScriptVm } from '../tools/sandbox/vm/script-vms.ts'
import type { RoundCall } from '../tools/sandbox/vm/vm-worker.ts'
import { exactText, textForScript } from './result-values.ts'

const longestLine = 200
/** Of what a script has printed, in characters, where it has failed. */
const shownOutput = 2_000

/** The loop of a run whose turns are made by a script: everything else is as if a model had made its calls. */
export function scriptLoop(limits: InlineLimits): Loop {
  return async (execution) => {
    const { durable, layers, state } = execution
    const { now } = await durable.step(scriptStep, async () => ({ now: Date.now() }))
    const code = state.history.slice().find(({ role }) => role === 'user')?.content
    const script = new ScriptTurns(execution, typeof code === 'string' ? code : '', now, limits)
    const runCall = async (call: Parameters<typeof layers.runCall>[0]) => withExactText(await layers.runCall(call))
    try {
      return await runLoop({ ...execution, layers: { ...layers, runCall, takeTurn: (_, place) => script.take(place) } })
    } finally {
      script.close()
    }
  }
}

/** The text of a value is recorded so that the script is given the value. */
function withExactText(outcome: CallOutcome): CallOutcome {
  const { end } = outcome
  return end.outcome === 'ok' ? { ...outcome, end: { ...end, content: exactText(end.content, end.value) } } : outcome
}

/** Takes the turns of a script: runs it until it waits for calls, or has ended. */
class ScriptTurns {
  readonly #execution: Execution
  readonly #code: string
  readonly #vm: ScriptVm
  readonly #signal: AbortSignal
  /** How many rounds the VM has been given the answers to. */
  #answered = 0

  constructor(execution: Execution, code: string, now: number, limits: InlineLimits) {
    this.#execution = execution
    this.#code = code
    this.#vm = new ScriptVm({ code, now }, limits)
    this.#signal = execution.run.signal
  }

  close(): void {
    this.#vm.close()
  }

  take({ iteration }: Place): Promise<Turn> {
    const { durable, run } = this.#execution
    const key = turnStep(iteration, false)
    return durable.step(key, async () => {
      if (run.interruption !== undefined) return { kind: 'interrupted', why: run.interruption, text: '', unasked: true }
      const startedAt = performance.now()
      try {
        const round = await this.#next()
        if ('calls' in round) return await this.#callsOf(round.calls, iteration, startedAt)
        if (!round.ok) return this.#failed(key, withOutput(round.problem, round.output))
        const message: AssistantMessage = { role: 'assistant', content: resultJson(round, changedCalls(this.#execution.state)) }
        return { kind: 'reply', message, planned: [], step: stepOf(iteration, startedAt, []) }
      } catch (error) {
        if (run.interruption !== undefined) return { kind: 'interrupted', why: run.interruption, text: '' }
        return this.#failed(key, messageOf(error))
      } finally {
        this.#vm.rest()
      }
    })
  }

  #failed(key: string, problem: string): Turn {
    const error = new ToolloopError('tool_failed', problem)
    this.#execution.run.errors.set(key, error)
    return { kind: 'failed', text: '', error: { code: error.code, message: error.message } }
  }

  /** The next round of the script. One that has not been started here, or had to leave its VM, is started again with what is recorded. */
  async #next(): Promise<ScriptRound> {
    const rounds = roundsIn(this.#execution.state)
    const last = rounds.at(-1)
    if (last !== undefined && this.#vm.isOpen && this.#answered === rounds.length - 1) return this.#answer(last)
    this.#answered = 0
    let next = await this.#vm.start(this.#signal)
    for (const round of rounds) {
      const difference = differenceOf(round, next)
      if (difference !== undefined) {
        const again = 'The script was started again, and did not make the same calls as before'
        throw new Error(`${again}: ${difference}. Nothing more of it was run.`)
      }
      next = await this.#answer(round)
    }
    return next
  }

  #answer({ calls, answers }: RecordedRound): Promise<ScriptRound> {
    this.#answered++
    return this.#vm.goOn(
      calls.map(({ call, id }) => ({ call, ...(answers.get(id) ?? { ok: false, text: 'The call has no result.' }) })),
      this.#signal,
    )
  }

  async #callsOf(calls: readonly RoundCall[], iteration: number, startedAt: number): Promise<Reply> {
    const { run, state } = this.#execution
    const { toolTimeoutMs: timeoutMs, maxArgumentValues: maxValues } = run.limits
    const plan = await planCalls({
      calls: calls.map(({ call, name, json }): ToolCall => ({ id: `call_${call}`, type: 'function', function: { name, arguments: json } })),
      finishReason: 'tool_calls',
      registry: run.agent.registry,
      choice: undefined,
      withUniqueIds: (found) => state.history.withUniqueIds(found),
      terms: { timeoutMs, maxValues, signal: run.signal, asNative: true },
      needsApproval: (call) => needsApproval(run, state.remembered, call),
      prepared: run.prepared,
    })
    if (plan.planned.length !== calls.length)
      throw new Error('The script made a call that stands for several others: make them one by one.')
    const recorded = plan.planned.map(({ id }, at): RecordedCall => recordedCall(calls[at] as RoundCall, id))
    const planned = plan.planned.map((call, at): PlannedCall => {
      const line = calls[at]?.line ?? 0
      const code = this.#code.split('\n', line)[line - 1]?.trim() ?? ''
      return code === '' ? call : { ...call, script: { line, code: code.length > longestLine ? `${code.slice(0, longestLine)}…` : code } }
    })
    const message: AssistantMessage = {
      role: 'assistant',
      content: '',
      toolCalls: plan.calls,
      providerData: { provider: 'script', data: { calls: recorded as object as JsonObject[] } },
    }
    return { kind: 'reply', message, planned, step: stepOf(iteration, startedAt, plan.calls) }
  }
}

function stepOf(iteration: number, startedAt: number, calls: readonly ToolCall[]): RunStep {
  return {
    iteration,
    provider: 'script',
    model: 'javascript',
    finishReason: calls.length > 0 ? 'tool_calls' : 'stop',
    durationMs: performance.now() - startedAt,
    retries: 0,
    warnings: [],
    toolCalls: calls.map(({ id, function: { name } }) => ({ id, tool: name })),
  }
}

/** What the script has come to: a `ScriptResult`. */
function resultJson({ json, output }: Extract<ScriptRound, { ok: true }>, notes: readonly string[]): string {
  const rest = JSON.stringify({ ...(output === '' ? {} : { output: output.trimEnd() }), ...(notes.length === 0 ? {} : { notes }) })
  return json === '' ? rest : `{"value":${json}${rest === '{}' ? '' : `,${rest.slice(1, -1)}`}}`
}

/** The calls that were run with other arguments than the script gave them, in words. */
function changedCalls({ toolCalls }: Pick<LoopState, 'toolCalls'>): string[] {
  return toolCalls.filter(isChanged).map(({ tool, args }) => `\`${tool}\` was run with other arguments: ${JSON.stringify(args)}`)
}

function isChanged({ content, args = {} }: ToolCallRecord): boolean {
  return withoutNote(content, args) !== content
}

/** The content of a call's result without the note for a model, if there is one, that its arguments were changed. */
function withoutNote(content: Content, args: JsonObject): Content {
  const note = otherArgumentsNote(args)
  if (typeof content !== 'string') {
    const last = content.at(-1)
    return last?.type === 'text' && last.text === note ? content.slice(0, -1) : content
  }
  const suffix = withNote('', note) as string
  return content.endsWith(suffix) ? content.slice(0, -suffix.length) : content
}

function withOutput(problem: string, output: string): string {
  return output === '' ? problem : `${problem}\nPrinted so far:\n${output.slice(-shownOutput)}`
}

/** A call as the script made it. */
interface RecordedCall {
  /** Its id in the conversation. */
  id: string
  call: number
  name: string
  /** Of its name and arguments. */
  digest: string
}

function recordedCall({ call, name, json }: RoundCall, id: string): RecordedCall {
  return { id, call, name, digest: digestOf(`${name} ${json}`).slice(0, 16) }
}

interface RecordedRound {
  calls: readonly RecordedCall[]
  answers: Map<string, { ok: boolean; text: string }>
}

/** The calls that the script has made, with what came of them, in their order. */
function roundsIn({ history, toolCalls }: Pick<LoopState, 'history' | 'toolCalls'>): RecordedRound[] {
  const argsOf = new Map(toolCalls.map(({ id, args = {} }) => [id, args]))
  const rounds: RecordedRound[] = []
  for (const message of history.slice()) {
    if (message.role === 'assistant') {
      const calls = message.providerData?.data.calls
      if (Array.isArray(calls)) rounds.push({ calls: calls as never, answers: new Map() })
    } else if (message.role === 'tool') {
      const ok = message.isError !== true
      const content = withoutNote(message.content, argsOf.get(message.toolCallId) ?? {})
      rounds.at(-1)?.answers.set(message.toolCallId, { ok, text: textForScript(content, ok) })
    }
  }
  return rounds
}

/** What the script does otherwise than before, in words. */
function differenceOf({ calls }: RecordedRound, round: ScriptRound): string | undefined {
  const made = 'calls' in round ? round.calls : []
  for (let at = 0; at < Math.max(calls.length, made.length); at++) {
    const [before, now] = [calls[at], made[at]]
    if (before === undefined) return `\`${now?.name}\` was not called then`
    if (now === undefined) return `\`${before.name}\` was called then, and is not now`
    if (recordedCall(now, before.id).digest !== before.digest)
      return before.name === now.name ? `\`${now.name}\` has other arguments` : `\`${before.name}\` was called then, \`${now.name}\` is now`
  }
  return undefined
}
