import { isDeepStrictEqual } from 'node:util'
import { iterationOf } from '../agent/step-keys.ts'
import { copyAsJson } from '../core/json.ts'
import { isJsonObject, type JsonObject } from '../core/messages.ts'
import { atOnce } from '../core/time/give-way.ts'
import { compileSchema, keepValidator } from '../tools/schema/schema.ts'
import { acceptSchema } from '../tools/schema/written-schema.ts'
import { type AnyTool, defineTool, type ToolContext, type ToolEffect } from '../tools/tool.ts'
import { type ExecutedEnd, RecordedEnd } from '../tools/tool-runner.ts'
import { callsIn } from './describe.ts'
import { describeDifference, firstDifference } from './difference.ts'
import { callsOf, decisionsOf, isCall, type RecordedCall, type RecordedRun, type RecordedTool } from './format.ts'
import { differs, knownCode, type PlayOptions } from './recorded-model.ts'

/** Replays everything that a recorded call did before it returned its result, such as runs inside the call. */
type AroundCall = (call: RecordedCall, ctx: ToolContext) => Promise<void>

/** The calls of a recording. Each call is replayed once, in any order. */
export class RecordedCalls {
  readonly #calls: readonly RecordedCall[]
  readonly #left: RecordedCall[]
  readonly #needing: readonly { tool: string; args: JsonObject }[]
  readonly #options: PlayOptions
  readonly #around: AroundCall | undefined
  /** The last started call of each turn that was cut short before all calls of the turn had started. */
  readonly #cutShort: ReadonlySet<RecordedCall | undefined>

  constructor(runs: readonly RecordedRun[], options: PlayOptions, around?: AroundCall) {
    this.#calls = runs.flatMap(callsOf)
    this.#left = [...this.#calls]
    const waiting = runs.flatMap(({ result }) => result?.pending ?? []) as { tool: string; args: JsonObject }[]
    this.#needing = [...runs.flatMap(decisionsOf), ...waiting]
    this.#cutShort = new Set(runs.flatMap(cutShortIn))
    this.#options = options
    this.#around = around
  }

  /** Creates a tool that returns the recorded results. */
  toolOf({ parameters: given, client, handoff: _, agent, preview, approval, effect, ...tool }: RecordedTool): AnyTool {
    // Accepts all recorded arguments, even if they don't match the JSON Schema. The original tool may have used a schema library, and a
    // JSON Schema can describe such a schema only in part.
    const parameters = { ...given }
    const hasRun = (args: unknown) => isJsonObject(args) && this.#isRecorded(tool.name, args)
    keepValidator(parameters, (args, inWords) => (hasRun(args) ? [] : compileSchema(given, tool.name)(args, inWords)))
    const play = (args: JsonObject, ctx: ToolContext) => this.#play(tool.name, args, ctx)
    const defined = defineTool({
      ...tool,
      parameters: acceptSchema(parameters),
      ...(effect === undefined ? {} : { effect: effect as ToolEffect }),
      ...(approval === undefined ? {} : { approval: approval === true || ((args: JsonObject) => this.#needsApproval(tool.name, args)) }),
      ...(client === true ? {} : { execute: play }),
      ...(preview === true ? { preview: play } : {}),
    })
    return agent === true ? Object.assign(defined, { runs: { tools: undefined } }) : defined
  }

  async #play(tool: string, given: JsonObject, ctx: ToolContext): Promise<RecordedEnd> {
    const args = this.#recordedAs(given)
    const call = this.#take(tool, args, ctx.toolCallId)
    if (call === undefined) {
      this.#options.interrupt?.('aborted')
      throw differs(this.#describe(tool, args, ctx.toolCallId), { provider: 'replay', model: 'replay' })
    }
    const isCutShort = this.#cutShort.has(call)
    if (!isCutShort || call.runs !== undefined) await this.#around?.(call, ctx)
    if (call.outcome === undefined) {
      // Lets concurrent calls end first, because they may also have ended first in the recorded run.
      if (!isCutShort) await new Promise((resolve) => setImmediate(resolve))
      this.#options.interrupt?.(call.interrupted ?? 'aborted')
      if (this.#options.interrupt !== undefined) await new Promise(() => {})
    }
    return new RecordedEnd({ end: endOf(call), value: call.value ?? call.content })
  }

  #isRecorded(tool: string, given: JsonObject): boolean {
    const args = this.#recordedAs(given)
    return [...this.#calls, ...this.#needing].some((call) => call.tool === tool && isDeepStrictEqual(call.args, args))
  }

  /** Converts arguments to their recorded form. */
  #recordedAs(args: JsonObject): JsonObject {
    return atOnce(this.#options.secrets.clean(copyAsJson(args)))
  }

  #take(tool: string, args: JsonObject, id: string): RecordedCall | undefined {
    const same = this.#left.filter((call) => call.tool === tool && isDeepStrictEqual(call.args, args))
    const call = same.find((one) => one.id === id) ?? same[0]
    if (call !== undefined) this.#left.splice(this.#left.indexOf(call), 1)
    return call
  }

  #describe(tool: string, args: JsonObject, id: string): string {
    const calls = this.#calls.filter((call) => call.tool === tool)
    const same = calls.filter((call) => isDeepStrictEqual(call.args, args)).length
    const given = `with ${JSON.stringify(args)}`
    if (same > 0) return `a call of \`${tool}\` that is recorded ${same === 1 ? 'once' : `${same} times`}, and occurs again, ${given}`
    const others = this.#left.filter((call) => call.tool === tool)
    const nearest = others.find((call) => call.id === id) ?? others[0]
    const difference = nearest && firstDifference(nearest.args, args, `call \`${nearest.id}\` of \`${tool}\`: args`)
    if (difference !== undefined) return describeDifference(difference)
    return `a call of \`${tool}\` that is not recorded, ${given}; ${calls.length} calls of it are recorded`
  }

  #needsApproval(tool: string, given: JsonObject): boolean {
    const args = this.#recordedAs(given)
    return this.#needing.some((one) => one.tool === tool && isDeepStrictEqual(one.args, args))
  }
}

/** Returns the last started call of each turn that was cut short before all calls of the turn had started. */
function cutShortIn({ steps }: RecordedRun): RecordedCall[] {
  const all = Object.entries(steps)
  return all.flatMap(([key, turn]) => {
    const asked = Array.isArray(turn) ? callsIn(turn.at(-1)?.response).length : 0
    const calls = asked === 0 ? [] : all.flatMap(([of, step]) => (isCall(step) && iterationOf(of) === iterationOf(key) ? [step] : []))
    return calls.length < asked && calls.every(({ outcome }) => outcome === undefined) ? calls.slice(-1) : []
  })
}

function endOf({ outcome, content = '', errorCode, attempts = 1, question, handedTo }: RecordedCall): ExecutedEnd {
  if (outcome === 'question') return { outcome, question: question ?? { about: null }, attempts }
  if (outcome === 'ok') return { outcome, content, value: handedTo, attempts }
  const text = typeof content === 'string' ? content : JSON.stringify(content)
  const code = knownCode(errorCode) ?? 'tool_failed'
  return { outcome: outcome === 'timeout' || outcome === 'cancelled' ? outcome : 'failed', content: text, code, attempts }
}
