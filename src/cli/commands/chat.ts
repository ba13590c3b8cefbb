import { resolve } from 'node:path'
import type { AgentRunner } from '../../agent/agent-runner.ts'
import { eventsOf, type RunStream } from '../../agent/runner/run-stream.ts'
import type { RunResult } from '../../agent/types/options.ts'
import { createAgentRunner } from '../../backends/index.ts'
import { isSetupFault, messageOf } from '../../core/errors.ts'
import type { MessageInput } from '../../core/message-input.ts'
import { definitionsOf } from '../../tools/tool.ts'
import { describeContext } from '../chat/context-use.ts'
import { Conversation } from '../chat/conversation.ts'
import { knownModels } from '../chat/known-models.ts'
import { runShellCommand } from '../chat/shell-command.ts'
import { Spending } from '../chat/spending.ts'
import { isNamed } from '../chat/stored-chats.ts'
import { EXIT_FAILED, EXIT_OK, EXIT_PAUSED, EXIT_SIGINT, EXIT_USAGE, exitCodeOf } from '../exit-codes.ts'
import type { Flags } from '../flags.ts'
import { attachFiles } from '../setup/attachments.ts'
import { chooseModel, describeModel, type ModelChoice } from '../setup/choose-model.ts'
import { commandOf, withOwnCommand } from '../setup/command-line.ts'
import { describeChoice, openChoice, type PreparedAgent, prepareAgent } from '../setup/prepare-agent.ts'
import { completeIn } from '../terminal/editor/completions.ts'
import type { TypedText } from '../terminal/editor/keyed-input.ts'
import { openPromptHistory } from '../terminal/editor/prompt-history.ts'
import { Interrupts } from '../terminal/interrupts.ts'
import { type Lines, PipedLines } from '../terminal/lines.ts'
import { describeEnding, describeSpending, plural, RunRenderer } from '../terminal/render.ts'
import { decisionsOn, keepingWhole, nobodyDecided, type People, waitingFor } from '../terminal/show-run.ts'
import { ShownCalls } from '../terminal/shown-calls.ts'
import { type CliIO, isOnTerminal, Terminal, withoutControls } from '../terminal/terminal.ts'
import { TerminalLines } from '../terminal/terminal-lines.ts'
import { type ChatState, runSlashCommand, slashCommands } from './slash-commands.ts'

/**
 * `toolloop chat`: a conversation with one prompt per line of input. Resolves with the exit code. With piped input, the exit code is that
 * of the last prompt or command that failed, or 0 if none failed. Rejects for invalid options and files.
 */
export async function chat(flags: Flags, io: CliIO): Promise<number> {
  const terminal = new Terminal(io)
  if (!flags.plain) terminal.renderMarkdown()
  const interrupts = new Interrupts(io)
  const calls = new ShownCalls()
  let agent: PreparedAgent | undefined
  let lines: Lines | undefined
  let conversation: Conversation | undefined
  try {
    agent = await prepareAgent(flags, terminal, interrupts.signal)
    lines = isOnTerminal(io) ? await openPrompt(terminal, flags, calls) : new PipedLines(io)
    conversation = await Conversation.open(flags, io, lines, interrupts.signal)
    return await new Chat(agent, { conversation, calls }, flags, terminal, lines, interrupts).run()
  } catch (error) {
    if (interrupts.exitCode !== undefined) return interrupts.exitCode
    throw error
  } finally {
    lines?.close()
    terminal.waitFor(undefined)
    await conversation?.close()
    await agent?.close()
    interrupts.release()
  }
}

async function openPrompt(terminal: Terminal, flags: Flags, calls: ShownCalls): Promise<TerminalLines> {
  const { io } = terminal
  const history = await openPromptHistory(io, (error) => terminal.note(`prompts are not remembered: ${messageOf(error)}`))
  const lines = new TerminalLines(io, {
    prompt: '> ',
    history,
    keys: { 'ctrl-o': () => calls.show(undefined, terminal) },
    complete: completeIn(resolve(io.cwd, flags.workspace ?? '.'), slashCommands),
  })
  terminal.attach(lines)
  return lines
}

const summaryRequest =
  'Summarize this conversation so that you can continue without the messages above: what I want, what was decided, found and changed, ' +
  'with names, paths and numbers as they are, and what is left to do. Write only the summary.'
const summaryTitle = 'Summary of our conversation so far:'

interface Kept {
  conversation: Conversation
  calls: ShownCalls
}

class Chat implements ChatState {
  readonly conversation: Conversation
  readonly spending: Spending = new Spending()
  readonly #agent: PreparedAgent
  readonly #flags: Flags
  readonly #terminal: Terminal
  readonly #lines: Lines
  readonly #interrupts: Interrupts
  readonly #people: People
  readonly #calls: ShownCalls
  #choice: ModelChoice
  #runner: AgentRunner | undefined
  #running: AbortController | undefined
  /** Whether the last input at the prompt was Ctrl-C. A second Ctrl-C then ends the chat. */
  #aboutToQuit = false
  /** Whether the last input at the prompt was Esc. A second Esc then edits the last prompt. */
  #aboutToRewind = false
  /** The output of commands typed with `!`. The next prompt sends this output to the model. */
  #outputs: string[] = []
  readonly #quit = new AbortController()
  #exitCode = EXIT_OK

  constructor(agent: PreparedAgent, { conversation, calls }: Kept, flags: Flags, terminal: Terminal, lines: Lines, interrupts: Interrupts) {
    this.#agent = agent
    this.conversation = conversation
    this.#calls = calls
    this.#flags = flags
    this.#terminal = terminal
    this.#lines = lines
    this.#interrupts = interrupts
    this.#people = waitingFor(terminal, flags, {
      tools: agent.tools,
      ask: (...question) => lines.ask(...question),
      choose: (...question) => lines.choose(...question),
      lend: (work) => interrupts.leaveToOther(() => lines.lend(work)),
    })
    this.#choice = agent.choice
    lines.onInterrupt = (typed) => this.#interrupt(typed)
    lines.onEscape = (typed, isTwice) => this.#escape(typed, isTwice)
    lines.onLeave = () => this.say(terminal.paint('dim', '(the chat ends after this answer)'))
  }

  get tools(): PreparedAgent['tools'] {
    return this.#agent.tools
  }

  get modelName(): string {
    return this.#choice.name
  }

  readonly say = (line: string): void => this.#terminal.note(line)

  get lines(): Lines {
    return this.#lines
  }

  get signal(): AbortSignal {
    return this.#interrupts.signal
  }

  showCall(number?: number): void {
    this.#calls.show(number, this.#terminal)
  }

  async resume(id: string): Promise<void> {
    await this.conversation.resume(id)
    this.#describeConversation()
    if (!(await this.#isFree(this.signal))) await this.conversation.beginNew()
  }

  async compact(): Promise<void> {
    const { messages } = this.conversation
    if (messages.length === 0) return this.say('nothing said yet')
    // The demo model can't summarize, so no request is sent to it.
    if (openChoice(this.#choice).provider === 'demo') return this.say('the demo model can’t summarize a conversation')
    await this.#whileRunning(async (signal) => {
      const runner = await this.#createRunner(this.#choice)
      const begun = performance.now()
      this.#terminal.waitFor('summarizing the conversation')
      const result = await runner.run(summaryRequest, { messages, toolChoice: 'none', signal })
      this.#terminal.waitFor(undefined)
      this.spending.add(result, performance.now() - begun)
      if (result.stopReason !== 'answered') return this.say(this.#terminal.paint('yellow', `not compacted: ${describeEnding(result)}`))
      await this.conversation.beginNew([{ role: 'user', content: `${summaryTitle}\n\n${result.output}` }])
      this.say(this.#terminal.paint('dim', `${plural(messages.length, 'message')} are now a summary; /history shows it`))
    })
  }

  readonly clearScreen = (): void => this.#terminal.clear()

  readonly describeContext = (): string[] => {
    const { contextWindow } = openChoice(this.#choice).capabilities
    const { instructions } = this.#agent.options
    const text = typeof instructions === 'string' ? instructions : undefined
    return describeContext({
      instructions: text,
      tools: definitionsOf(this.tools),
      messages: this.conversation.messages,
      window: contextWindow,
    })
  }

  async pickModel(): Promise<void> {
    const models = await knownModels(this.#terminal.io, this.signal)
    const items = models.map(({ name, from }) => ({ text: name, detail: name === this.modelName ? `${from} · current` : from }))
    const at = await this.#lines.pick('Use which model?', items, this.signal)
    const chosen = at === undefined ? undefined : models[at]
    if (chosen !== undefined) await this.#use({ ...this.#choice, model: chosen.model, name: describeModel(chosen.model) })
  }

  async switchModel(name: string): Promise<void> {
    const { env, cwd } = this.#terminal.io
    await this.#use(await chooseModel({ model: name, baseURL: this.#flags.baseUrl, env, cwd }))
  }

  async #use(choice: ModelChoice): Promise<void> {
    // Creates the runner first, because a failure must leave the current model unchanged.
    await this.#createRunner(choice)
    this.#choice = choice
    this.#runner = undefined
  }

  async run(): Promise<number> {
    const { env } = this.#terminal.io
    if (!this.#flags.quiet) this.say(this.#terminal.paint('dim', describeChoice(this.#choice, env)))
    const isNew = this.conversation.messages.length === 0
    if (this.#lines.interactive && !this.#flags.quiet && isNew) await this.#introduce()
    if (this.#lines.interactive) this.say(this.#terminal.paint('dim', '/help lists the commands'))
    if (!this.#flags.quiet) this.#describeConversation()
    const ended = AbortSignal.any([this.#interrupts.signal, this.#quit.signal])
    if (!(await this.#isFree(ended))) return this.#interrupts.exitCode ?? EXIT_PAUSED
    for (;;) {
      const typed = await this.#lines.next(ended)
      this.#aboutToQuit = false
      this.#aboutToRewind = false
      if (typed === undefined) break
      const line = typed.text
      const isPrompt = line.trim() !== '' && !isCommand(line) && !this.#isShellCommand(line)
      if (!isPrompt) this.conversation.cancelRewind()
      if (line.trim() === '') continue
      try {
        if (isPrompt) await this.#answer(typed)
        else if (!isCommand(line)) await this.#runInShell(line.slice(1).trim())
        else if ((await runSlashCommand(line, this)) === 'quit') break
      } catch (error) {
        this.#lines.takeBack()
        this.say(this.#terminal.paint('red', `error: ${messageOf(error)}`))
        this.#exitCode = !isCommand(line) && isSetupFault(error) ? EXIT_USAGE : EXIT_FAILED
      }
    }
    if (this.#interrupts.exitCode !== undefined) return this.#interrupts.exitCode
    return this.#lines.interactive ? EXIT_OK : this.#exitCode
  }

  #describeConversation(): void {
    const { id, messages } = this.conversation
    const text = `${isNamed(id) ? `${id}: ` : ''}continues after ${plural(messages.length, 'message')}; /history shows them`
    if (messages.length > 0) this.say(this.#terminal.paint('dim', withoutControls(text)))
  }

  /** Prints what a person can do here: the folder, the tools, examples that work, and how to get a language model. */
  async #introduce(): Promise<void> {
    const { env } = this.#terminal.io
    const isDemo = openChoice(this.#choice).provider === 'demo'
    const { introduction } = await import('../chat/introduction.ts')
    for (const line of introduction(this.#folder, this.tools, { isDemo, home: env.HOME }))
      this.say(this.#terminal.paint('dim', withoutControls(withOwnCommand(line, env))))
  }

  /** Whether the conversation can continue. If a run waits for a decision, asks the person whether to abandon the run. */
  async #isFree(signal: AbortSignal): Promise<boolean> {
    const { id } = this.conversation
    const sessions = await this.conversation.sessions()
    const { waiting } = (await sessions?.get(id)) ?? {}
    if (waiting === undefined) return true
    const tools = waiting.pending.map(({ tool }) => tool).join(', ')
    this.say(this.#terminal.paint('yellow', withoutControls(`${id}: a run waits for a decision on ${tools}`)))
    this.#terminal.row(
      this.#terminal.paint('dim', `to decide: ${commandOf(this.#terminal.io.env)} runs decide ${waiting.runId} --journal FILE`),
    )
    if (this.#lines.interactive) {
      const answers = { y: '[y]es', n: '[N]o' }
      const answer = await this.#lines.choose('abandon that run and continue without it?', answers, signal).catch(() => 'n')
      if (answer === 'y') {
        await sessions?.release(id)
        await this.conversation.resume(id)
        return true
      }
    }
    this.say('nothing was sent')
    return false
  }

  async #answer(prompt: TypedText): Promise<void> {
    const message = await this.#messageOf(prompt)
    if (message === undefined) return
    const begun = performance.now()
    await this.#whileRunning(async (signal) => {
      const problem = await this.conversation.begin()
      if (problem !== undefined) this.say(this.#terminal.paint('yellow', withoutControls(`this chat is not kept: ${problem}`)))
      this.#runner ??= await this.#createRunner(this.#choice)
      const options = { ...this.conversation.runOptions, signal, ...keepingWhole(this.#terminal.io, this.#flags) }
      const result = await this.#show(this.#runner, this.#runner.stream(message, options), signal)
      await this.conversation.add(result)
      this.spending.add(result, performance.now() - begun)
      if (this.#lines.interactive && !this.#flags.quiet)
        this.say(this.#terminal.paint('dim', describeSpending(result, performance.now() - begun)))
      const ending = describeEnding(result)
      if (ending === undefined) return
      // Puts input that was typed ahead back into the prompt, because the person could not know how the run would end.
      this.#lines.takeBack()
      this.say(this.#terminal.paint('yellow', ending))
      if (result.stopReason === 'paused') this.say(this.#terminal.paint('dim', nobodyDecided))
      this.#exitCode = exitCodeOf(result)
    })
  }

  /** Runs `work`. Ctrl-C aborts the signal that `work` receives. */
  async #whileRunning(work: (signal: AbortSignal) => Promise<void>): Promise<void> {
    this.#running = new AbortController()
    try {
      await work(AbortSignal.any([this.#running.signal, this.#interrupts.signal]))
    } finally {
      this.#running = undefined
    }
  }

  /** Shows a run until it ends. If the run asks questions, shows them and continues with the answers. */
  async #show(runner: AgentRunner, begun: RunStream, signal: AbortSignal): Promise<RunResult> {
    for (let stream = begun; ; ) {
      const renderer = new RunRenderer(this.#terminal, this.tools, { quiet: this.#flags.quiet === true, calls: this.#calls })
      for await (const event of eventsOf(stream)) renderer.show(event)
      const result = await stream.result
      renderer.finish(result)
      const decisions = await decisionsOn(result, { flags: this.#flags, terminal: this.#terminal, people: this.#people, signal })
      if (decisions === undefined) return result
      stream = runner.resumeStream(result.state, { decisions, signal })
    }
  }

  /** The folder that the built-in tools may read. */
  get #folder(): string {
    return resolve(this.#terminal.io.cwd, this.#flags.workspace ?? '.')
  }

  /** Whether the line is a shell command. Only typed text may run commands, because piped input may come from anybody. */
  #isShellCommand(line: string): boolean {
    return this.#lines.interactive && line.startsWith('!')
  }

  async #runInShell(command: string): Promise<void> {
    if (command === '') return this.say(`! runs a command in ${this.#folder}`)
    await this.#whileRunning(async (signal) => {
      this.#outputs.push(await runShellCommand(command, this.#folder, this.#terminal, signal))
    })
    this.say(this.#terminal.paint('dim', 'the model sees this with your next prompt'))
  }

  /** Returns the message of a prompt. Only typed text may attach files, because piped input may come from anybody. */
  async #messageOf(prompt: TypedText): Promise<MessageInput | undefined> {
    if (!this.#lines.interactive) return { role: 'user', content: prompt.text }
    try {
      const { message, attached, missing } = await attachFiles(prompt.text, this.#folder, { pasted: prompt.pasted, outputs: this.#outputs })
      this.#outputs = []
      if (attached.length > 0) this.say(this.#terminal.paint('dim', withoutControls(`attached ${attached.join(', ')}`)))
      if (missing.length > 0) this.say(this.#terminal.paint('yellow', withoutControls(`no such file, sent as text: ${missing.join(', ')}`)))
      return message
    } catch (error) {
      this.say(this.#terminal.paint('red', withoutControls(messageOf(error))))
      this.#lines.takeBack(prompt)
      return undefined
    }
  }

  #createRunner(choice: ModelChoice): Promise<AgentRunner> {
    return createAgentRunner({
      ...this.#agent.options,
      ...this.conversation.store,
      model: openChoice(choice),
      approve: this.#people.approve,
    })
  }

  #escape(typed: boolean, isTwice: boolean): void {
    if (this.#running !== undefined) this.#running.abort()
    else if (!typed && (isTwice || this.#aboutToRewind)) this.#rewind()
    else if (!typed && this.conversation.messages.length > 0) {
      this.#aboutToRewind = true
      this.say(this.#terminal.paint('dim', '(Esc again edits your last prompt)'))
    }
  }

  #rewind(): void {
    this.#aboutToRewind = false
    const text = this.conversation.rewind()
    if (text === undefined) return
    this.say(this.#terminal.paint('dim', '(Enter sends it in place of your last prompt and what followed; Ctrl-C leaves both)'))
    this.#lines.takeBack({ text, pasted: [] })
  }

  #interrupt(typed: boolean): void {
    if (this.#running !== undefined) {
      if (this.#running.signal.aborted) process.exit(EXIT_SIGINT)
      this.#running.abort()
    } else if (typed) {
      this.#aboutToQuit = false
      this.conversation.cancelRewind()
      this.#lines.clearLine()
    } else if (this.#aboutToQuit) {
      this.#quit.abort()
    } else {
      this.#aboutToQuit = true
      this.say('(Ctrl-C again, or Ctrl-D, ends the chat)')
    }
  }
}

/** Whether a text is a slash command. A text with several lines is always a prompt. */
function isCommand(line: string): boolean {
  return line.startsWith('/') && !line.includes('\n')
}
