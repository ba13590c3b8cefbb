import type { AgentRunner } from '../../agent/agent-runner.ts'
import type { RunnerOptions } from '../../agent/types.ts'
import { createAgentRunner } from '../../backends/index.ts'
import { isSetupFault, messageOf } from '../../core/errors.ts'
import type { ChatMessage } from '../../core/messages.ts'
import { EXIT_FAILED, EXIT_OK, EXIT_SIGINT, EXIT_USAGE, exitCodeOf } from '../exit-codes.ts'
import type { Flags } from '../flags.ts'
import { chooseModel, type ModelChoice } from '../setup/choose-model.ts'
import { describeChoice, openChoice, type PreparedAgent, prepareAgent } from '../setup/prepare-agent.ts'
import { type OpenSession, openSession } from '../setup/sessions.ts'
import { createApprove } from '../terminal/ask-approval.ts'
import { Interrupts } from '../terminal/interrupts.ts'
import { type Lines, PipedLines } from '../terminal/lines.ts'
import { describeEnding, describeSpending, plural, RunRenderer } from '../terminal/render.ts'
import { type CliIO, isOnTerminal, Terminal } from '../terminal/terminal.ts'
import { TerminalLines } from '../terminal/terminal-lines.ts'
import { type ChatState, runSlashCommand, slashCommands } from './slash-commands.ts'

/**
 * `toolloop chat`: a conversation, one prompt a line, until the end of the input. Resolves with the exit code: that of the last run
 * that did not answer, when nobody sits there to read why; rejects for options and files that are not usable.
 */
export async function chat(flags: Flags, io: CliIO): Promise<number> {
  const terminal = new Terminal(io)
  const interrupts = new Interrupts(io)
  let agent: PreparedAgent | undefined
  let lines: Lines | undefined
  let session: OpenSession | undefined
  try {
    agent = await prepareAgent(flags, terminal, interrupts.signal)
    session = await openSession(flags, io)
    const earlier = (await session?.sessions.read(session.id)) ?? []
    lines = isOnTerminal(io) ? new TerminalLines(io, '> ', slashCommands) : new PipedLines(io)
    return await new Chat(agent, { session, earlier }, flags, terminal, lines, interrupts).run()
  } catch (error) {
    if (interrupts.exitCode !== undefined) return interrupts.exitCode
    throw error
  } finally {
    lines?.close()
    terminal.waitFor(undefined)
    await session?.close()
    await agent?.close()
    interrupts.release()
  }
}

/** Where the conversation is kept, if it is, and what was said in it before. */
interface Kept {
  session: OpenSession | undefined
  earlier: readonly ChatMessage[]
}

class Chat implements ChatState {
  messages: readonly ChatMessage[]
  readonly #session: OpenSession | undefined
  readonly #agent: PreparedAgent
  readonly #flags: Flags
  readonly #terminal: Terminal
  readonly #lines: Lines
  readonly #interrupts: Interrupts
  readonly #approve: RunnerOptions['approve']
  #choice: ModelChoice
  #runner: AgentRunner | undefined
  #running: AbortController | undefined
  /** Whether the last thing at the prompt was a Ctrl-C: one more ends the chat. */
  #aboutToQuit = false
  readonly #quit = new AbortController()
  #exitCode = EXIT_OK

  constructor(agent: PreparedAgent, { session, earlier }: Kept, flags: Flags, terminal: Terminal, lines: Lines, interrupts: Interrupts) {
    this.#agent = agent
    this.#session = session
    this.messages = earlier
    this.#flags = flags
    this.#terminal = terminal
    this.#lines = lines
    this.#interrupts = interrupts
    this.#approve = createApprove(terminal, flags.yes, (question, signal) => lines.ask(question, signal))
    this.#choice = agent.choice
    lines.onInterrupt = (typed) => this.#interrupt(typed)
  }

  get tools(): PreparedAgent['tools'] {
    return this.#agent.tools
  }

  get modelName(): string {
    return this.#choice.name
  }

  readonly say = (line: string): void => this.#terminal.note(line)

  async forget(): Promise<void> {
    await this.#session?.sessions.delete(this.#session.id)
    this.messages = []
  }

  async switchModel(name: string): Promise<void> {
    const { env, cwd } = this.#terminal.io
    const choice = await chooseModel({ model: name, baseURL: this.#flags.baseUrl, env, cwd })
    this.#runner = await this.#createRunner(choice)
    this.#choice = choice
  }

  async run(): Promise<number> {
    if (!this.#flags.quiet) this.say(this.#terminal.paint('dim', describeChoice(this.#choice)))
    if (this.#lines.interactive) this.say(this.#terminal.paint('dim', '/help lists the commands'))
    if (this.messages.length > 0 && !this.#flags.quiet)
      this.say(
        this.#terminal.paint('dim', `${this.#session?.id}: goes on after ${plural(this.messages.length, 'message')}; /history shows them`),
      )
    const ended = AbortSignal.any([this.#interrupts.signal, this.#quit.signal])
    for (;;) {
      const line = await this.#lines.next(ended)
      this.#aboutToQuit = false
      if (line === undefined) {
        // The prompt is still open, and the shell's is next.
        if (this.#lines.interactive) this.say('')
        break
      }
      if (line.trim() === '') continue
      try {
        if (!line.startsWith('/') || line.includes('\n')) await this.#answer(line)
        else if ((await runSlashCommand(line, this)) === 'quit') break
      } catch (error) {
        this.say(this.#terminal.paint('red', `error: ${messageOf(error)}`))
        this.#exitCode = !line.startsWith('/') && isSetupFault(error) ? EXIT_USAGE : EXIT_FAILED
      }
    }
    if (this.#interrupts.exitCode !== undefined) return this.#interrupts.exitCode
    return this.#lines.interactive ? EXIT_OK : this.#exitCode
  }

  async #answer(prompt: string): Promise<void> {
    this.#running = new AbortController()
    const begun = performance.now()
    try {
      const signal = AbortSignal.any([this.#running.signal, this.#interrupts.signal])
      this.#runner ??= await this.#createRunner(this.#choice)
      const conversation = this.#session === undefined ? { messages: this.messages } : { session: this.#session.id }
      const stream = this.#runner.stream(prompt, { ...conversation, signal })
      const renderer = new RunRenderer(this.#terminal, this.tools, { quiet: this.#flags.quiet === true })
      for await (const event of stream) renderer.show(event)
      const result = await stream.result
      renderer.finish(result)
      this.messages = result.messages
      if (this.#lines.interactive && !this.#flags.quiet)
        this.say(this.#terminal.paint('dim', describeSpending(result, performance.now() - begun)))
      const ending = describeEnding(result)
      if (ending === undefined) return
      this.say(this.#terminal.paint('yellow', ending))
      this.#exitCode = exitCodeOf(result)
    } finally {
      this.#running = undefined
    }
  }

  #createRunner(choice: ModelChoice): Promise<AgentRunner> {
    const kept = this.#session && { sessions: this.#session.sessions }
    return createAgentRunner({ ...this.#agent.options, ...kept, model: openChoice(choice), approve: this.#approve })
  }

  #interrupt(typed: boolean): void {
    if (this.#running !== undefined) {
      if (this.#running.signal.aborted) process.exit(EXIT_SIGINT)
      this.#running.abort()
    } else if (typed) {
      this.#aboutToQuit = false
      this.#lines.clearLine()
    } else if (this.#aboutToQuit) {
      this.#quit.abort()
    } else {
      this.#aboutToQuit = true
      this.say('\n(Ctrl-C again, or Ctrl-D, ends the chat)')
      this.#lines.showPrompt()
    }
  }
}
