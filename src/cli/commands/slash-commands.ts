import type { Sessions } from '../../agent/sessions/sessions.ts'
import { type ChatMessage, hasToolCalls, textOf } from '../../core/messages.ts'
import { didYouMean } from '../../core/nearest-name.ts'
import type { AnyTool } from '../../tools/tool.ts'
import { plural } from '../terminal/render.ts'
import { shorten, withoutControls } from '../terminal/terminal.ts'

/** What a slash command can read and change in a chat. */
export interface ChatState {
  readonly tools: readonly AnyTool[]
  /** `provider/name` of the current model. */
  readonly modelName: string
  readonly messages: readonly ChatMessage[]
  /** Forgets the conversation, including the stored one. */
  forget(): Promise<void>
  /** Changes the model. Rejects and keeps the old one if the new one can't be created. */
  switchModel(name: string): Promise<void>
  say(line: string): void
  /** The stored conversations; undefined if this one is not stored. */
  readonly sessions: Sessions | undefined
  /** Shows a call completely; without a number, the last one. */
  showCall(number?: number): void
}

interface SlashCommand {
  usage: string
  help: string
  /** Resolves with `'quit'` to end the chat. */
  run(state: ChatState, argument: string): Promise<'quit' | undefined> | 'quit' | undefined
}

const lineLength = 100
const mostSessions = 50

const commands = new Map<string, SlashCommand>([
  ['tools', { usage: '/tools', help: 'list the tools', run: listTools }],
  ['show', { usage: '/show [number]', help: 'show a call completely; Ctrl-O shows the last one', run: showCall }],
  ['model', { usage: '/model [provider/name]', help: 'show the model, or change it', run: changeModel }],
  ['history', { usage: '/history', help: 'show the conversation', run: showHistory }],
  ['sessions', { usage: '/sessions', help: 'list the conversations stored in this folder', run: listSessions }],
  ['reset', { usage: '/reset', help: 'forget the conversation', run: reset }],
  ['help', { usage: '/help', help: 'show this', run: showHelp }],
  ['quit', { usage: '/quit', help: 'end the chat, like Ctrl-D', run: () => 'quit' }],
])

/** All commands, with their slash. */
export const slashCommands: readonly string[] = [...commands.keys()].map((name) => `/${name}`)

/** Runs a line that starts with a slash. */
export async function runSlashCommand(line: string, state: ChatState): Promise<'quit' | undefined> {
  const [, name = '', argument = ''] = /^\/(\S*)\s*(.*)$/s.exec(line) ?? []
  const command = commands.get(name)
  if (command !== undefined) return command.run(state, argument.trim())
  state.say(
    `unknown command /${name}${didYouMean(`/${name}`, slashCommands)}; /help lists them. To send a prompt that starts with a slash, put a space before it`,
  )
  return undefined
}

function listTools({ tools, say }: ChatState): undefined {
  if (tools.length === 0) say('no tools')
  for (const { name, description, approval } of tools) {
    const [firstLine = ''] = description.split('\n')
    say(shorten(withoutControls(`  ${name}${approval ? ' (needs approval)' : ''}  ${firstLine}`), lineLength))
  }
}

function showCall(state: ChatState, number: string): undefined {
  if (number === '') state.showCall()
  else state.showCall(Number(number))
}

async function listSessions({ sessions, say }: ChatState): Promise<undefined> {
  const { sessions: found = [] } = (await sessions?.list({ limit: mostSessions })) ?? {}
  if (found.length === 0) say('none: start the chat with --session NAME to store it')
  for (const { id, updatedAt, messageCount, status } of found) {
    const changed = new Date(updatedAt).toISOString().slice(0, 16).replace('T', ' ')
    say(withoutControls(`  ${id}  ${changed}  ${plural(messageCount, 'message')}${status === 'idle' ? '' : ` (${status})`}`))
  }
}

async function changeModel(state: ChatState, name: string): Promise<undefined> {
  if (name !== '') await state.switchModel(name)
  state.say(`model: ${state.modelName}`)
}

function showHistory({ messages, say }: ChatState): undefined {
  if (messages.length === 0) say('nothing said yet')
  for (const message of messages) {
    const calls = hasToolCalls(message) ? message.toolCalls.map((call) => `${call.function.name}(${call.function.arguments})`) : []
    say(shorten(withoutControls(`  ${message.role}: ${[textOf(message.content), ...calls].filter(Boolean).join(' ')}`), lineLength))
  }
}

async function reset(state: ChatState): Promise<undefined> {
  const { length } = state.messages
  await state.forget()
  state.say(`forgot ${plural(length, 'message')}`)
}

function showHelp({ say }: ChatState): undefined {
  const width = Math.max(...[...commands.values()].map(({ usage }) => usage.length))
  for (const { usage, help } of commands.values()) say(`  ${usage.padEnd(width)}  ${help}`)
  say('  @path attaches a file. Alt-Enter, Ctrl-J, or a backslash before Enter starts a new line. Ctrl-R searches earlier prompts.')
  say('  You can type while an answer arrives: Enter sends it after the answer. Ctrl-_ undoes a change.')
  say('  Ctrl-C stops the current answer; pressed twice at the prompt, it ends the chat.')
}
