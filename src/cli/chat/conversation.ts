import { randomBytes } from 'node:crypto'
import { messageIdOf } from '../../agent/conversation/message-id.ts'
import type { Sessions } from '../../agent/sessions/sessions.ts'
import type { RunOptions, RunResult } from '../../agent/types/options.ts'
import { messageOf } from '../../core/errors.ts'
import { type ChatMessage, textOf } from '../../core/messages.ts'
import type { Flags } from '../flags.ts'
import { openForResume, openKeptSessions, openSessions, releaseUndecided } from '../setup/sessions.ts'
import type { Lines } from '../terminal/lines.ts'
import type { CliIO } from '../terminal/terminal.ts'
import { pickSession } from './stored-chats.ts'

/** The conversation of a chat: its messages, and where they are stored. */
export class Conversation {
  messages: readonly ChatMessage[] = []
  #id: string
  readonly #folder: string
  /** The open store. Undefined until its file is opened, or if nothing is stored. */
  #sessions: Sessions | undefined
  /** Whether to store this chat. If so, the file is opened at the first prompt. */
  #isKept: boolean
  /** The position of the first message that a person can edit. If there is a summary, this is the first message after it. */
  #firstPrompt = 0
  /** The position of the message that the next prompt replaces. All later messages are removed. */
  #replaced: number | undefined

  private constructor(folder: string, id: string, sessions: Sessions | undefined, isKept: boolean) {
    this.#folder = folder
    this.#id = id
    this.#sessions = sessions
    this.#isKept = isKept
  }

  /**
   * Opens the conversation of `--session`, or the conversation that the person chooses for `--resume`. If no person is at the terminal,
   * `--resume` opens the latest conversation. Without these options, starts a new conversation, which is stored only if a person types the
   * prompts. Rejects with `invalid_option` if there is nothing to resume.
   */
  static async open(flags: Flags, io: CliIO, lines: Lines, signal: AbortSignal): Promise<Conversation> {
    const { cwd, env } = io
    const sessions = flags.resume ? await openForResume(flags, io) : flags.session === undefined ? undefined : await openSessions(cwd)
    // If TOOLLOOP_HISTORY is empty, nothing that a person types is stored.
    const conversation = new Conversation(cwd, flags.session ?? newId(), sessions, lines.interactive && env.TOOLLOOP_HISTORY !== '')
    try {
      const id = flags.resume && sessions !== undefined ? await latestOrPicked(sessions, lines, signal) : flags.session
      if (id !== undefined) await conversation.resume(id)
    } catch (error) {
      await sessions?.close()
      throw error
    }
    return conversation
  }

  get id(): string {
    return this.#id
  }

  /**
   * Opens the stored conversations on first use. Resolves with undefined if this chat is not stored, or if the folder has no stored
   * conversations.
   */
  async sessions(): Promise<Sessions | undefined> {
    this.#sessions ??= this.#isKept ? await openKeptSessions({ cwd: this.#folder }) : undefined
    return this.#sessions
  }

  /** Opens the store before the first run. If storing doesn't work, resolves with the reason, and the chat continues without a store. */
  async begin(): Promise<string | undefined> {
    if (!this.#isKept || this.#sessions !== undefined) return undefined
    let sessions: Sessions | undefined
    try {
      sessions = await openSessions(this.#folder)
      await sessions.list({ limit: 1 })
      this.#sessions = sessions
      return undefined
    } catch (error) {
      await sessions?.close()
      this.#isKept = false
      return messageOf(error)
    }
  }

  /** The options that pass the conversation to the next run. A stored conversation needs a runner with the options of `store`. */
  get runOptions(): Pick<RunOptions, 'messages' | 'session'> {
    const at = this.#replaced
    if (this.#sessions === undefined) return { messages: this.messages.slice(0, at) }
    const message = at === undefined ? undefined : this.messages[at]
    if (at === undefined || message === undefined) return { session: this.#id }
    return { session: { id: this.#id, replaces: messageIdOf(message, at) } }
  }

  /** The `sessions` option for the runner. Empty if nothing is stored. */
  get store(): { sessions?: Sessions } {
    return this.#sessions === undefined ? {} : { sessions: this.#sessions }
  }

  /** Whether the next prompt replaces the last prompt. */
  get isRewound(): boolean {
    return this.#replaced !== undefined
  }

  /**
   * Makes the next prompt replace the last prompt and everything that followed it. Returns the text of the last prompt, or undefined if
   * there is no prompt to replace.
   */
  rewind(): string | undefined {
    const at = this.messages.findLastIndex(({ role }) => role === 'user')
    const message = this.messages[at]
    if (message === undefined || at < this.#firstPrompt) return undefined
    this.#replaced = at
    // Removes the attachments that follow the typed text.
    return textOf(message.content ?? '').replace(/\n\n<(?:file path|command line)="[\s\S]*$/, '')
  }

  cancelRewind(): void {
    this.#replaced = undefined
  }

  /** Adds the messages of a run that has ended or paused. */
  async add(result: RunResult): Promise<void> {
    this.#replaced = undefined
    if (this.#sessions !== undefined) await releaseUndecided(result, { id: this.#id, sessions: this.#sessions })
    this.messages = result.messages
  }

  async resume(id: string): Promise<void> {
    this.#replaced = undefined
    this.#firstPrompt = 0
    this.#id = id
    this.messages = (await this.#sessions?.read(id)) ?? []
  }

  /** Begins a new conversation with these messages. The current conversation stays stored. */
  async beginNew(messages: readonly ChatMessage[] = []): Promise<void> {
    this.#replaced = undefined
    this.#firstPrompt = messages.length
    this.#id = newId()
    if (messages.length > 0) await this.#sessions?.append(this.#id, messages)
    this.messages = messages
  }

  /** Deletes the conversation, also from the store. */
  async forget(): Promise<void> {
    await this.#sessions?.delete(this.#id)
    this.#replaced = undefined
    this.#firstPrompt = 0
    this.messages = []
  }

  async close(): Promise<void> {
    await this.#sessions?.close()
  }
}

async function latestOrPicked(sessions: Sessions, lines: Lines, signal: AbortSignal): Promise<string | undefined> {
  const { sessions: found } = await sessions.list({ limit: 2 })
  return lines.interactive && found.length > 1 ? pickSession(sessions, lines, signal) : found[0]?.id
}

/** Returns an id for a new conversation. Ids sort by time, and differ between chats that start at the same time. */
function newId(): string {
  const now = new Date().toISOString().slice(0, 19).replace(/[-:]/g, '').replace('T', '-')
  return `chat-${now}-${randomBytes(2).toString('hex')}`
}
