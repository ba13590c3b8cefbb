import { isJsonObject, type Json, type JsonObject } from '../../../../core/messages.ts'
import type { ToolContext } from '../../../tool.ts'

/**
 * The data that is stored for a call that outlasts one execution of its tool's function. With this data, any process can continue the call.
 */
export interface Noted {
  /** The model's answers to the server's requests. Each key identifies a request. */
  sampled?: { [request: string]: JsonObject }
  /** The task that the call has become. */
  task?: NotedTask
}

export interface NotedTask {
  /** The server's id of the task. */
  id: string
  /** When the task started, in milliseconds since 1970. */
  since: number
  /** Identifies the call in the server's progress reports. */
  progressToken?: string
  /** The names of the server's requests that have been answered. */
  answered?: string[]
}

/** The notes of one call. They are stored in the run's journal and, while the call waits for an answer, in its question. */
export class CallNotes {
  readonly #save: ToolContext['save']
  readonly #noted: Noted

  /** `asked`: the notes in the question. Saved notes are used instead, if there are any, because they are more complete. */
  constructor({ saved, save }: Pick<ToolContext, 'saved' | 'save'>, asked: Json | undefined) {
    this.#save = save
    this.#noted = isJsonObject(saved) ? (saved as Noted) : isJsonObject(asked) ? (asked as Noted) : {}
  }

  get noted(): Readonly<Noted> {
    return this.#noted
  }

  /** Whether the notes outlive the process. */
  get areSafe(): boolean {
    return this.#save !== undefined
  }

  /** Adds to the notes. Resolves when the notes are durable. */
  async add(more: Noted): Promise<void> {
    Object.assign(this.#noted, more)
    await this.#save?.(this.#noted as Json)
  }
}

/** Whether a call has become a task, according to its notes. */
export function isTaskNoted(notes: Json | undefined): boolean {
  return isJsonObject(notes) && isJsonObject(notes.task)
}
