import { AgentRunner } from '../../agent/agent-runner.ts'
import type { Durable, Journal } from '../../agent/journal/journal.ts'
import type { RunnerOptions, RunResult } from '../../agent/types/options.ts'
import { type Usage, withoutUndefined } from '../../core/messages.ts'
import type { AnyTool } from '../../tools/tool.ts'
import { defineTool, type ToolEffect } from '../../tools/tool.ts'
import type { Expect } from '../contract/kit.ts'
import type { ScriptedTurn } from '../script.ts'
import { type ScriptedModelOptions, scriptedModel } from '../scripted-model.ts'

/** Where a journal stores its runs: a database, a folder, an object. */
export interface JournalPlace {
  /** Opens another journal on this place. Open journals must share nothing except the stored data, as in separate processes. */
  open(): Journal & { close(): Promise<void> }
  /** Called at the end of the case, after all journals are closed. */
  remove?(): Promise<void> | void
}

/** Creates an empty store for `testJournal`. The suite calls it once per case, or once for each moment at which a case kills a process. */
export type MakeJournal = () => JournalPlace | Promise<JournalPlace>

export interface JournalCase {
  name: string
  run(kit: JournalKit): Promise<void>
}

export interface JournalKit {
  expect: Expect
  /** Creates an empty place, and a `World` on it. */
  place(): Promise<World>
}

const quiet = { debug() {}, info() {}, warn() {}, error() {} }
/** The usage that each request reports. */
export const usageOfTurn: Usage = { inputTokens: 10, outputTokens: 2, totalTokens: 12 }

/** Everything that outlives a process: the stored data of the journal, and the effects of tools. */
export class World {
  readonly place: JournalPlace
  /** The calls of tools' functions, in the order in which they started. */
  readonly started: { tool: string; key: string }[] = []
  requests = 0
  #closed = false
  readonly #opened: { close(): Promise<void> }[] = []

  constructor(place: JournalPlace) {
    this.place = place
  }

  /** Opens a process: a runner with its own journal. The process dies at moment `dieAt`. The first moment is 1. */
  open(turns: readonly ScriptedTurn[], { dieAt = Number.POSITIVE_INFINITY, ...options }: ProcessOptions = {}): LocalProcess {
    const journal = this.place.open()
    this.#opened.push(journal)
    const death = new Death(dieAt)
    const runner = new AgentRunner({
      model: this.model(turns),
      tools: this.tools(),
      logger: quiet,
      maxIterations: 20,
      ...options,
      journal: dying(journal, death),
    })
    return { runner, journal, death }
  }

  /** Creates a model that answers with the turn that follows those already in the conversation. */
  model(turns: readonly ScriptedTurn[], options?: ScriptedModelOptions): ReturnType<typeof scriptedModel> {
    return scriptedModel(({ messages }) => {
      this.requests++
      const asked = messages.filter(({ role }) => role === 'assistant').length
      return { usage: usageOfTurn, ...(turns[asked] ?? { text: 'unexpected' }) }
    }, options)
  }

  /** Creates the tools: `look` reads, `put` is idempotent, `pay` is unsafe, and `refund` is unsafe and needs approval. */
  tools(): AnyTool[] {
    return [this.tool('look', 'read'), this.tool('put', 'idempotent'), this.tool('pay', 'unsafe'), this.tool('refund', 'unsafe', true)]
  }

  tool(name: string, effect: ToolEffect, approval = false): AnyTool {
    return defineTool({
      name,
      description: name,
      parameters: { type: 'object' },
      effect,
      ...(approval ? { approval: true } : {}),
      execute: (args, { idempotencyKey }) => {
        this.started.push({ tool: name, key: idempotencyKey })
        return { did: name, args }
      },
    })
  }

  /** Returns how often each call of these tools was started. */
  startsOf(...tools: string[]): number[] {
    const keys = this.started.filter(({ tool }) => tools.includes(tool)).map(({ key }) => key)
    return [...new Set(keys)].map((key) => keys.filter((other) => other === key).length)
  }

  async close(): Promise<void> {
    if (this.#closed) return
    this.#closed = true
    for (const journal of this.#opened) await journal.close()
    await this.place.remove?.()
  }
}

export interface ProcessOptions extends Partial<Omit<RunnerOptions, 'journal'>> {
  dieAt?: number
}

export interface LocalProcess {
  runner: AgentRunner
  journal: { close(): Promise<void> }
  death: Death
}

/** Counts the moments at which a process could die, and makes it die at one of them. */
export class Death {
  moments = 0
  isDead = false
  /** The length of each recorded step as JSON, in characters. */
  readonly recorded: number[] = []
  /** The length of each `append` as JSON, in characters. */
  readonly appended: number[] = []
  readonly happened: Promise<'died'>
  readonly #at: number
  readonly #die: () => void

  constructor(at: number) {
    this.#at = at
    const { promise, resolve } = Promise.withResolvers<'died'>()
    this.happened = promise
    this.#die = () => resolve('died')
  }

  /** Counts a moment. Never resolves once the process is dead, so that the process does not continue. */
  async moment(): Promise<void> {
    this.moments++
    if (this.moments === this.#at) {
      this.isDead = true
      this.#die()
    }
    if (this.isDead) await new Promise(() => {})
  }
}

/** Wraps a journal so that its process can die before a step, between the work and the record of the step, and after the step. */
export function dying(journal: Journal, death: Death): Journal {
  return { connect: (body) => journal.connect((durable, input) => body(mortal(durable, death), input)) }
}

function mortal(durable: Durable, death: Death): Durable {
  const { runId, attempt, epoch, survivesCrashes, signal } = durable
  return {
    runId,
    attempt,
    survivesCrashes,
    epoch,
    signal,
    ...withoutUndefined({
      keep: durable.keep && (async (...args) => durable.keep?.(...args) ?? false),
      kept: durable.kept && (async (name) => durable.kept?.(name)),
      entries: durable.entries && (async (record) => durable.entries?.(record) ?? []),
      append: durable.append && ((record, entry) => appendOrDie(durable, death, record, entry)),
    }),
    all: (steps) => durable.all(steps),
    wait: async (name, options) => {
      await death.moment()
      return durable.wait(name, options)
    },
    step: async (key, work) => {
      await death.moment()
      const value = await durable.step(key, async (step) => {
        const done = await work(step)
        await death.moment()
        return done
      })
      death.recorded.push(JSON.stringify(value).length)
      await death.moment()
      return value
    },
  }
}

async function appendOrDie(durable: Durable, death: Death, ...entry: Parameters<Required<Durable>['append']>): Promise<void> {
  await death.moment()
  await durable.append?.(...entry)
  death.appended.push(JSON.stringify(entry).length)
  await death.moment()
}

/** Returns the parts of a result that crashes must not change. */
export function comparable({ runId: _, state: _state, steps, toolCalls, error, ...rest }: RunResult): unknown {
  const plain = {
    ...rest,
    error: error?.code,
    steps: steps.map(({ durationMs: _d, timeToFirstTokenMs: _t, ...step }) => step),
    toolCalls: toolCalls.map(({ durationMs: _d, value: _v, ...call }) => call),
  }
  return JSON.parse(JSON.stringify(plain))
}

/** Resolves with the error code if an operation is refused. Rejects if the operation succeeds. */
export async function refusalOf(work: Promise<unknown>): Promise<unknown> {
  let value: unknown
  try {
    value = await work
  } catch (error) {
    return typeof error === 'object' && error !== null && 'code' in error ? error.code : String(error)
  }
  throw new Error(`Expected a refusal, got ${JSON.stringify(value)}`)
}
