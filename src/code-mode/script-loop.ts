import { runLoop } from '../agent/loop.ts'
import type { LoopState } from '../agent/run/run-state.ts'
import { otherArgumentsNote, withNote } from '../agent/run-texts.ts'
import { scriptStep, turnStep } from '../agent/step-keys.ts'
import { buildTurn, planResponse } from '../agent/turn/model-turn.ts'
import type { Execution, Loop, Place } from '../agent/types/execution.ts'
import type { Plan, Turn } from '../agent/types/recorded.ts'
import type { RunStep, ToolCallRecord } from '../agent/types/result.ts'
import { digestOf } from '../core/digest.ts'
import { ModelError, messageOf } from '../core/errors.ts'
import type { ScriptLine } from '../core/events.ts'
import { type AssistantMessage, type Content, type JsonObject, noUsage } from '../core/messages.ts'
import { redact } from '../core/redaction/redact.ts'
import type { ChatModel, ModelResponse } from '../models/chat-model.ts'
import { type InlineLimits, type ScriptRound, ScriptVm } from '../tools/sandbox/vm/script-vms.ts'
import type { RoundCall } from '../tools/sandbox/vm/vm-worker.ts'
import { textForScript } from './result-values.ts'

const longestLine = 200
/** Maximum length of the output that the error of a failed script shows, in characters. */
const shownOutput = 2_000
/** Maximum number of calls to list in the error of a script that can't continue. */
const mostToldCalls = 20

/** The turns of a script name this as their model. */
const scriptItself = {
  provider: 'script',
  model: 'javascript',
  capabilities: { nativeTools: true, reportsCost: true },
}

/**
 * Returns the model of a run whose turns come from a script. If a tool sends a request to the run's model, `outside`, the model of the
 * outer run, gets the request.
 */
export function scriptModel(outside: ChatModel): ChatModel {
  const generate = () => Promise.reject(new Error('A script is not asked as a model.'))
  return { ...scriptItself, generate, forTurn: () => outside.forTurn?.() ?? outside }
}

/** The loop of a run whose turns come from a script instead of a model. */
export function scriptLoop(limits: InlineLimits): Loop {
  return async (execution) => {
    const { durable, layers, state } = execution
    const { now } = await durable.step(scriptStep, async () => ({ now: Date.now() }))
    const code = state.history.slice().find(({ role }) => role === 'user')?.content
    const script = new ScriptTurns(execution, typeof code === 'string' ? code : '', now, limits)
    try {
      return await runLoop({ ...execution, layers: { ...layers, takeTurn: (_, place) => script.take(place) } })
    } finally {
      script.close()
    }
  }
}

/** Produces the turns of a script. Each turn runs the script until it waits for calls or ends. */
class ScriptTurns {
  readonly #execution: Execution
  readonly #code: string
  readonly #vm: ScriptVm
  readonly #signal: AbortSignal
  /** Number of rounds whose results the VM has received. */
  #answered = 0
  /** The line numbers of the calls of the last round. */
  #lines: readonly number[] = []

  constructor(execution: Execution, code: string, now: number, limits: InlineLimits) {
    this.#execution = execution
    this.#code = code
    this.#vm = new ScriptVm({ code, now }, limits)
    this.#signal = execution.run.signal
  }

  close(): void {
    this.#vm.close()
  }

  take(place: Place): Promise<Turn> {
    const { durable, run } = this.#execution
    const key = turnStep(place.iteration, false)
    return durable.step(key, async () => {
      if (run.interruption !== undefined) return { kind: 'interrupted', why: run.interruption, text: '', unasked: true }
      const startedAt = performance.now()
      try {
        const response = await this.#ask(place)
        const { text: content, toolCalls, providerData } = response
        const plan = await this.#plan(response)
        const message: AssistantMessage =
          toolCalls.length === 0 ? { role: 'assistant', content } : { role: 'assistant', content, toolCalls: plan.calls }
        if (providerData !== undefined) message.providerData = providerData
        const { provider, model } = scriptItself
        const step: RunStep = {
          iteration: place.iteration,
          provider,
          model,
          usage: noUsage,
          finishReason: response.finishReason,
          durationMs: performance.now() - startedAt,
          retries: 0,
          warnings: [],
          toolCalls: plan.calls.map(({ id, function: { name } }) => ({ id, tool: name })),
        }
        return { kind: 'reply', message, planned: plan.planned, step }
      } catch (error) {
        if (run.interruption !== undefined) return { kind: 'interrupted', why: run.interruption, text: '' }
        const failure = failed(messageOf(error))
        run.errors.set(key, failure)
        return { kind: 'failed', text: '', error: { code: failure.code, message: failure.message } }
      } finally {
        this.#vm.rest()
      }
    })
  }

  /** Runs the script until its next turn. A recorder records the turn like a response of a model. */
  async #ask(place: Place): Promise<ModelResponse> {
    const { run } = this.#execution
    const { recorder } = run
    if (recorder === undefined) return this.#respond()
    const turn = await buildTurn(this.#execution, place)
    if ('stop' in turn) throw turn.stop
    const model: ChatModel = { ...scriptItself, generate: () => this.#respond() }
    return recorder.aroundRequest(run, { ...turn, model }, (watched) => watched.generate(turn.request))
  }

  async #respond(): Promise<ModelResponse> {
    const round = await this.#next()
    if ('calls' in round) {
      this.#lines = round.calls.map(({ line }) => line)
      return {
        text: '',
        toolCalls: round.calls.map((call) => ({ id: idOf(call), type: 'function', function: { name: call.name, arguments: call.json } })),
        finishReason: 'tool_calls',
        usage: noUsage,
        providerData: { provider: scriptItself.provider, data: { calls: round.calls.map(recordedCall) as object[] as JsonObject[] } },
      }
    }
    if (!round.ok) throw failed(withOutput(round.problem, round.output))
    return { text: endText(round, changedCalls(this.#execution)), toolCalls: [], finishReason: 'stop', usage: noUsage }
  }

  /** Returns the next round of the script. If the VM is gone, starts the script again and passes it the recorded results. */
  async #next(): Promise<ScriptRound> {
    const rounds = roundsIn(this.#execution.state)
    const last = rounds.at(-1)
    if (last !== undefined && this.#vm.isOpen && this.#answered === rounds.length - 1) return this.#answer(last)
    this.#answered = 0
    let next = await this.#vm.start(this.#signal)
    for (const round of rounds) {
      // The script can fail during the replay, for example because of its time limit.
      if ('ok' in next && !next.ok) return next
      const difference = differenceOf(round, next)
      if (difference !== undefined) {
        const again = 'The script was started again, and did not make the same calls as before'
        throw new Error(`${again}: ${difference}. Nothing more of it was run.${carriedOut(this.#execution)}`)
      }
      next = await this.#answer(round)
    }
    return next
  }

  #answer({ calls, answers }: RecordedRound): Promise<ScriptRound> {
    this.#answered++
    return this.#vm.resume(
      calls.map(({ call }) => ({ call, ...(answers.get(idOf({ call })) ?? { ok: false, text: 'The call has no result.' }) })),
      this.#signal,
    )
  }

  async #plan(response: ModelResponse): Promise<Plan> {
    const plan = await planResponse(this.#execution, response, this.#execution.run.agent.registry)
    if (plan.planned.length !== response.toolCalls.length)
      throw new Error('The script made a call that stands for several others: make them one by one.')
    return { ...plan, planned: plan.planned.map((call, at) => ({ ...call, ...this.#quoted(this.#lines[at] ?? 0) })) }
  }

  #quoted(line: number): { script?: ScriptLine } {
    const code = this.#code.split('\n', line)[line - 1]?.trim() ?? ''
    if (code === '') return {}
    return { script: { line, code: code.length > longestLine ? `${code.slice(0, longestLine)}…` : code } }
  }
}

function failed(problem: string): ModelError {
  return new ModelError('tool_failed', problem, { provider: scriptItself.provider, model: scriptItself.model, retryable: false })
}

/** Returns the result of the script as text: a line with its output and notes, followed by the JSON of the returned value. */
function endText({ json, output }: Extract<ScriptRound, { ok: true }>, notes: readonly string[]): string {
  const beside = { ...(output === '' ? {} : { output: output.trimEnd() }), ...(notes.length === 0 ? {} : { notes }) }
  return `${JSON.stringify(beside)}\n${json}`
}

/** Describes the successful calls of tools that don't only read. */
function carriedOut({ run, state }: Execution): string {
  const calls = state.toolCalls.flatMap(({ tool: name, args = {}, outcome }) => {
    const tool = run.agent.registry.get(name)
    if (outcome !== 'ok' || tool?.effect === 'read') return []
    return [`${name}(${JSON.stringify(tool?.secrets === undefined ? args : redact(args, new Set(tool.secrets)))})`]
  })
  const shown = calls.slice(0, mostToldCalls).join(', ')
  const more = calls.length > mostToldCalls ? ` and ${calls.length - mostToldCalls} more` : ''
  return calls.length === 0 ? '' : ` These calls were carried out: ${shown}${more}.`
}

/** Describes the calls whose arguments were changed before the call ran. */
function changedCalls({ run, state }: Execution): string[] {
  return state.toolCalls.filter(isChanged).map(({ tool, args }) => {
    const { secrets } = run.agent.registry.get(tool) ?? {}
    // Events and the log show the result of `run_script` without redaction, so secrets are redacted here.
    const shown = secrets === undefined ? args : redact(args, new Set(secrets))
    return `\`${tool}\` was run with other arguments: ${JSON.stringify(shown)}`
  })
}

function isChanged({ content, args = {} }: ToolCallRecord): boolean {
  return withoutNote(content, args) !== content
}

/** Removes the note about changed arguments from a call's result. The note is meant for a model, not for a script. */
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

interface RecordedCall {
  call: number
  name: string
  /** The digest of the tool's name and the arguments that the script passed. */
  digest: string
}

function recordedCall({ call, name, json }: RoundCall): RecordedCall {
  return { call, name, digest: digestOf(`${name} ${json}`).slice(0, 16) }
}

function idOf({ call }: Pick<RoundCall, 'call'>): string {
  return `call_${call}`
}

interface RecordedRound {
  calls: readonly RecordedCall[]
  answers: Map<string, { ok: boolean; text: string }>
}

/** Returns the recorded rounds of the script, each with its calls and their results. */
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

/** Describes how this round of the script differs from the recorded round. Returns undefined if they are the same. */
function differenceOf({ calls }: RecordedRound, round: ScriptRound): string | undefined {
  const made = 'calls' in round ? round.calls : []
  for (let at = 0; at < Math.max(calls.length, made.length); at++) {
    const [before, now] = [calls[at], made[at]]
    if (before === undefined) return `\`${now?.name}\` was not called then`
    if (now === undefined) return `\`${before.name}\` was called then, and is not now`
    if (recordedCall(now).digest !== before.digest)
      return before.name === now.name ? `\`${now.name}\` has other arguments` : `\`${before.name}\` was called then, \`${now.name}\` is now`
  }
  return undefined
}
