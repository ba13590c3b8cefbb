import { isJsonObject, type Json, type JsonObject } from '../../../../core/messages.ts'
import type { ToolContext } from '../../../tool.ts'

/** The stored data with which any process can continue a call. */
export interface Noted {
  /** The model's answers to the server's requests, by request. */
  sampled?: { [request: string]: JsonObject }
  /** Set if the server runs the call as an MCP task. */
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

/** The notes of one call. Stored in the run's journal, and in the question if the call asks one. */
export class CallNotes {
  readonly #save: ToolContext['save']
  readonly #noted: Noted

  /** `asked`: the notes in the question. Used only if no notes are saved, because saved notes are newer. */
  constructor({ saved, save }: Pick<ToolContext, 'saved' | 'save'>, asked: Json | undefined) {
    this.#save = save
    this.#noted = isJsonObject(saved) ? (saved as Noted) : isJsonObject(asked) ? (asked as Noted) : {}
  }

  get noted(): Readonly<Noted> {
    return this.#noted
  }

  /** Whether the notes are stored outside this process. */
  get areSafe(): boolean {
    return this.#save !== undefined
  }

  /** Resolves when the notes are saved. */
  async add(more: Noted): Promise<void> {
    Object.assign(this.#noted, more)
    await this.#save?.(this.#noted as Json)
  }
}

/** Whether the server runs the call as a task. */
export function isTaskNoted(notes: Json | undefined): boolean {
  return isJsonObject(notes) && isJsonObject(notes.task)
}
