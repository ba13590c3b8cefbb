import { hasToolCalls, textOf } from '../../core/messages.ts'
import { didYouMean } from '../../core/nearest-name.ts'
import type { AnyTool } from '../../tools/tool.ts'
import type { Conversation } from '../chat/conversation.ts'
import type { Spending } from '../chat/spending.ts'
import { pickSession } from '../chat/stored-chats.ts'
import type { Lines } from '../terminal/lines.ts'
import { plural } from '../terminal/render.ts'
import { shorten, withoutControls } from '../terminal/terminal.ts'

/** The parts of a chat that a slash command can read and change. */
export interface ChatState {
  readonly tools: readonly AnyTool[]
  /** The name of the current model, as `provider/name`. */
  readonly modelName: string
  readonly conversation: Conversation
  readonly spending: Spending
  readonly lines: Lines
  /** Aborted when the chat ends. */
  readonly signal: AbortSignal
  /** Changes the model. If the new model can't be created, rejects and keeps the current one. */
  switchModel(name: string): Promise<void>
  pickModel(): Promise<void>
  /** Continues a stored conversation. If one of its runs is waiting, first asks whether to abandon the run. */
  resume(id: string): Promise<void>
  /** Replaces the conversation by a summary that the model writes. The full conversation stays stored. */
  compact(): Promise<void>
  describeContext(): string[]
  clearScreen(): void
  say(line: string): void
  /** Shows a call with its full arguments and result. If `number` is missing, shows the last call. */
  showCall(number?: number): void
}

interface SlashCommand {
  usage: string
  help: string
  /** Runs the command. Resolves with `'quit'` to end the chat. */
  run(state: ChatState, argument: string): Promise<'quit' | undefined> | 'quit' | undefined
}

const lineLength = 100
const mostSessions = 50

const commands = new Map<string, SlashCommand>([
  ['new', { usage: '/new', help: 'begin another conversation; this one stays among /sessions', run: beginNew }],
  ['clear', { usage: '/clear', help: 'the same, on an empty screen', run: clear }],
  ['sessions', { usage: '/sessions', help: 'continue a conversation of this folder; also /resume', run: chooseSession }],
  ['compact', { usage: '/compact', help: 'replace the conversation by a summary', run: (state) => state.compact().then(nothing) }],
  ['context', { usage: '/context', help: 'show how much of the context window is used', run: showContext }],
  ['cost', { usage: '/cost', help: 'show what this chat has used: time, tokens, money', run: showCost }],
  ['model', { usage: '/model [provider/name]', help: 'choose the model, or change it to this one', run: changeModel }],
  ['tools', { usage: '/tools', help: 'list the tools', run: listTools }],
  ['show', { usage: '/show [number]', help: 'show a call completely; Ctrl-O shows the last one', run: showCall }],
  ['history', { usage: '/history', help: 'show the conversation', run: showHistory }],
  ['reset', { usage: '/reset', help: 'forget the conversation, also the stored one', run: reset }],
  ['help', { usage: '/help', help: 'show this', run: showHelp }],
  ['quit', { usage: '/quit', help: 'end the chat, like Ctrl-D; also /exit', run: () => 'quit' }],
])
const otherNames = new Map([
  ['resume', 'sessions'],
  ['exit', 'quit'],
])

/** The names of all commands, with their slash. */
export const slashCommands: readonly string[] = [...commands.keys()].map((name) => `/${name}`)

/** Runs a line that starts with a slash. Resolves with `'quit'` to end the chat. */
export async function runSlashCommand(line: string, state: ChatState): Promise<'quit' | undefined> {
  const [, name = '', argument = ''] = /^\/(\S*)\s*(.*)$/s.exec(line) ?? []
  const command = commands.get(otherNames.get(name) ?? name)
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

const nothing = (): undefined => undefined

async function beginNew({ conversation, say }: ChatState): Promise<undefined> {
  await conversation.beginNew()
  say('a new conversation')
}

async function clear({ conversation, clearScreen }: ChatState): Promise<undefined> {
  await conversation.beginNew()
  clearScreen()
}

async function chooseSession(state: ChatState): Promise<undefined> {
  const { conversation, lines, signal, say } = state
  const sessions = await conversation.sessions()
  const { sessions: found = [] } = (await sessions?.list({ limit: mostSessions })) ?? {}
  if (sessions === undefined || found.length === 0)
    say(lines.interactive ? 'none yet' : 'none: start the chat with --session NAME to store it')
  else if (lines.interactive) {
    const id = await pickSession(sessions, lines, signal)
    if (id !== undefined) await state.resume(id)
  } else
    for (const { id, updatedAt, messageCount, status } of found) {
      const changed = new Date(updatedAt).toISOString().slice(0, 16).replace('T', ' ')
      say(withoutControls(`  ${id}  ${changed}  ${plural(messageCount, 'message')}${status === 'idle' ? '' : ` (${status})`}`))
    }
}

function showCost({ spending, say }: ChatState): undefined {
  for (const line of spending.lines()) say(withoutControls(line))
}

function showContext({ describeContext, say }: ChatState): undefined {
  for (const line of describeContext()) say(line)
}

async function changeModel(state: ChatState, name: string): Promise<undefined> {
  if (name !== '') await state.switchModel(name)
  else if (state.lines.interactive) await state.pickModel()
  state.say(`model: ${state.modelName}`)
}

function showHistory({ conversation: { messages }, say }: ChatState): undefined {
  if (messages.length === 0) say('nothing said yet')
  for (const message of messages) {
    const calls = hasToolCalls(message) ? message.toolCalls.map((call) => `${call.function.name}(${call.function.arguments})`) : []
    say(shorten(withoutControls(`  ${message.role}: ${[textOf(message.content), ...calls].filter(Boolean).join(' ')}`), lineLength))
  }
}

async function reset(state: ChatState): Promise<undefined> {
  const { length } = state.conversation.messages
  await state.conversation.forget()
  state.say(`forgot ${plural(length, 'message')}`)
}

function showHelp({ say }: ChatState): undefined {
  const width = Math.max(...[...commands.values()].map(({ usage }) => usage.length))
  for (const { usage, help } of commands.values()) say(`  ${usage.padEnd(width)}  ${help}`)
  say('  @path attaches a file. Alt-Enter, Ctrl-J, or a backslash before Enter starts a new line. Ctrl-R searches earlier prompts.')
  say('  You can type while an answer arrives: Enter sends it after the answer. Ctrl-_ undoes a change.')
  say(
    '  Esc or Ctrl-C stops the current answer. Esc twice edits the last prompt; Ctrl-C twice ends the chat. !command runs it in your shell.',
  )
}
