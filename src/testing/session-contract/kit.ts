import { AgentRunner } from '../../agent/agent-runner.ts'
import type { Sessions } from '../../agent/sessions/sessions.ts'
import type { RunnerOptions } from '../../agent/types/options.ts'
import { type ChatMessage, textOf } from '../../core/messages.ts'
import type { ModelRequest } from '../../models/chat-model.ts'
import { defineTool, type ToolEffect } from '../../tools/tool.ts'
import type { Expect } from '../contract/kit.ts'
import { Death, dying } from '../journal-contract/kit.ts'
import { type MemoryRuns, memoryJournal } from '../memory-journal.ts'
import type { ScriptedTurn } from '../script.ts'
import { scriptedModel } from '../scripted-model.ts'

/** Where sessions are stored: a database, a folder, an object. */
export interface SessionsPlace {
  /** Opens another `Sessions` on this place. Open `Sessions` must share nothing except the stored data, as in separate processes. */
  open(): Sessions
  /** Called at the end of the case, after all sessions are closed. */
  remove?(): Promise<void> | void
}

/** Creates an empty store for `testSessions`. The suite calls it once per case, or once for each moment at which a case kills a process. */
export type MakeSessions = () => SessionsPlace | Promise<SessionsPlace>

export interface SessionCase {
  name: string
  run(kit: SessionKit): Promise<void>
}

interface SessionKit {
  expect: Expect
  /** Creates an empty place, and a `SessionWorld` on it. */
  place(): Promise<SessionWorld>
}

const quiet = { debug() {}, info() {}, warn() {}, error() {} }

interface ProcessOptions extends Partial<Omit<RunnerOptions, 'journal' | 'sessions'>> {
  /** The storage of the journal in which the process records its runs. */
  runs?: MemoryRuns
  /** The moment at which the process dies. The first moment is 1. Requires `runs`. */
  dieAt?: number
}

/** A process: a runner with its own sessions. */
export interface SessionProcess {
  runner: AgentRunner
  sessions: Sessions
  death: Death
  /** Kills the process. Its runs do not end. */
  kill(): Promise<void>
}

/** Replaces the type `PromiseWithResolvers`, which doesn't exist if a program is compiled with an older `lib`. */
interface Gate {
  readonly promise: Promise<void>
  resolve(): void
}

/** Everything that outlives a process: the place where sessions are stored, and the effects of tools. */
export class SessionWorld {
  readonly place: SessionsPlace
  /** The names of the tools whose functions were called, in order. */
  readonly started: string[] = []
  /** The messages of each request to the model. */
  readonly sent: string[][] = []
  /** Lets the tool `wait` return when the test resolves it. */
  readonly gate: Gate = Promise.withResolvers()
  /** Resolves when the tool `wait` is called. */
  readonly reached: Gate = Promise.withResolvers()
  readonly #opened: { close(): Promise<void> }[] = []

  constructor(place: SessionsPlace) {
    this.place = place
  }

  open({ runs, dieAt = Number.POSITIVE_INFINITY, ...options }: ProcessOptions = {}): SessionProcess {
    const sessions = this.place.open()
    const journal = runs === undefined ? undefined : memoryJournal(runs)
    const death = new Death(dieAt)
    this.#opened.push(sessions, ...(journal === undefined ? [] : [journal]))
    const runner = new AgentRunner({
      model: this.model(),
      tools: [
        this.#tool('look'),
        this.#tool('refund', { approval: true }),
        this.#tool('pay', { approval: true, effect: 'unsafe' }),
        this.#tool('wait'),
      ],
      logger: quiet,
      maxIterations: 20,
      sessions,
      ...options,
      ...(journal === undefined ? {} : { journal: dying(journal, death) }),
    })
    const kill = async (): Promise<void> => {
      // Closing the sessions ends the runs, which must not be recorded, so the journal is closed first.
      await journal?.close()
      await sessions.close()
    }
    return { runner, sessions, death, kill }
  }

  /**
   * Creates a model whose answer depends on the last message: `call NAME` calls a tool, `fail` fails, and any other text is answered with
   * the number of messages.
   */
  model(): ReturnType<typeof scriptedModel> {
    return scriptedModel(({ messages }: ModelRequest): ScriptedTurn => {
      this.sent.push(textsIn(messages))
      const last = messages.at(-1)
      const text = textOf(last?.content ?? '')
      if (last?.role === 'tool') return { text: 'done' }
      if (text === 'fail') return { error: new Error('out of order') }
      const [, name] = /^call (\w+)$/.exec(text) ?? []
      return name === undefined ? { text: `heard ${messages.length}` } : { toolCalls: [{ name }] }
    })
  }

  #tool(name: string, options: { approval?: true; effect?: ToolEffect } = {}) {
    return defineTool({
      name,
      description: name,
      effect: 'idempotent',
      ...options,
      execute: async () => {
        this.started.push(name)
        this.reached.resolve()
        if (name === 'wait') await this.gate.promise
        return `did ${name}`
      },
    })
  }

  async close(): Promise<void> {
    this.gate.resolve()
    for (const one of this.#opened) await one.close()
    await this.place.remove?.()
  }
}

/** Returns messages in the form `role: text`. */
export function textsIn(messages: readonly ChatMessage[]): string[] {
  return messages.map(({ role, content }) => `${role}: ${textOf(content)}`)
}

export function approvals<Item>(pending: readonly Item[]): (Item & { approved: true })[] {
  return pending.map((item) => ({ ...item, approved: true as const }))
}
