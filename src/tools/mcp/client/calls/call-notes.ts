import { isJsonObject, type Json, type JsonObject } from '../../../../core/messages.ts'
import type { ToolContext } from '../../../tool.ts'

/** What is known of a call that lasts longer than one run of its tool's function: it goes on from there, in any process. */
export interface Noted {
  /** What the model has answered the server, by the server's requests. */
  sampled?: { [request: string]: JsonObject }
  /** It has become a task. */
  task?: NotedTask
}

export interface NotedTask {
  /** The server's name for it. */
  id: string
  /** In milliseconds since 1970. */
  since: number
  /** By which the server tells of its progress. */
  progressToken?: string
  /** The server's names for what it has been answered. */
  answered?: string[]
}

/** The notes of one call: in the run's journal, and, while it waits for an answer, in what it has asked. */
export class CallNotes {
  readonly #save: ToolContext['save']
  readonly #noted: Noted

  /** `asked`: those that came with the question. What has been saved since is more. */
  constructor({ saved, save }: Pick<ToolContext, 'saved' | 'save'>, asked: Json | undefined) {
    this.#save = save
    this.#noted = isJsonObject(saved) ? (saved as Noted) : isJsonObject(asked) ? (asked as Noted) : {}
  }

  get noted(): Readonly<Noted> {
    return this.#noted
  }

  /** Whether they outlive the process. */
  get areSafe(): boolean {
    return this.#save !== undefined
  }

  /** Resolves when they are safe. */
  async add(more: Noted): Promise<void> {
    Object.assign(this.#noted, more)
    await this.#save?.(this.#noted as Json)
  }
}

/** Whether a call has become a task, by its notes. */
export function isTaskNoted(notes: Json | undefined): boolean {
  return isJsonObject(notes) && isJsonObject(notes.task)
}
