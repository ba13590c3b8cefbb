import { resolve } from 'node:path'
import { addAbortSignal } from 'node:stream'
import type { RunOptions, RunResult } from '../../agent/types/options.ts'
import { createAgentRunner } from '../../backends/index.ts'
import { messageOf, ToolloopError } from '../../core/errors.ts'
import { secretsInEnvironment } from '../../core/redaction/secret-keys.ts'
import { EXIT_FAILED, EXIT_OK, exitCodeOf } from '../exit-codes.ts'
import type { Flags } from '../flags.ts'
import { commandOf, decideCommand } from '../setup/command-line.ts'
import { type OpenJournal, openJournal } from '../setup/journal.ts'
import { describeChoice, type PreparedAgent, prepareAgent } from '../setup/prepare-agent.ts'
import { type OpenSession, openSession, releaseUndecided } from '../setup/sessions.ts'
import { askOnTerminal } from '../terminal/approvals/ask-on-terminal.ts'
import { Interrupts } from '../terminal/interrupts.ts'
import { describeSpending } from '../terminal/render.ts'
import { explainEnding, keepingWhole, showAll, waitingFor } from '../terminal/show-run.ts'
import { type CliIO, Terminal } from '../terminal/terminal.ts'

/** `toolloop run`: answers one prompt. Resolves with the exit code. Rejects for invalid options and files. */
export async function run(words: readonly string[], flags: Flags, io: CliIO): Promise<number> {
  const terminal = new Terminal(io)
  if (!flags.plain && !flags.json && !flags.events) terminal.renderMarkdown()
  const interrupts = new Interrupts(io)
  let agent: PreparedAgent | undefined
  let journal: OpenJournal | undefined
  let session: OpenSession | undefined
  try {
    const prompt = await readPrompt(words, io, interrupts.signal)
    agent = await prepareAgent(flags, terminal, interrupts.signal)
    if (!flags.quiet) terminal.note(terminal.paint('dim', describeChoice(agent.choice, io.env)))
    journal = await openJournal(flags, io)
    session = await openSession(flags, io)
    const kept = { journal: journal?.journal, sessions: session?.sessions }
    const { signal } = interrupts
    const people = waitingFor(terminal, flags, askOnTerminal(io, agent.tools))
    const runner = await createAgentRunner({ ...agent.options, ...kept, approve: people.approve })
    const options = { signal, ...keepingWhole(io, flags), session: session?.id }
    const begun = performance.now()
    const showing = { agent, flags, terminal, people, signal }
    const result = await recorded(flags, io, (record) =>
      showAll(runner, runner.stream(prompt, { ...options, ...record }), { ...showing, ...record }),
    )
    await releaseUndecided(result, session, journal !== undefined)
    if (io.stderr.isTTY && !flags.quiet && !flags.events)
      terminal.note(terminal.paint('dim', describeSpending(result, performance.now() - begun)))
    const code = interrupts.exitCode
    // An explanation would not help: the reader of stdout is gone, or the error is already printed.
    if (code === EXIT_OK || code === EXIT_FAILED) return code
    explainEnding(result, agent, terminal, journal && decideCommand(result.runId, flags, io.env))
    return result.stopReason === 'aborted' ? (code ?? exitCodeOf(result)) : exitCodeOf(result)
  } catch (error) {
    if (interrupts.exitCode !== undefined) return interrupts.exitCode
    // A program that reads stdout gets a JSON object even if no run took place.
    if (flags.json) terminal.print(JSON.stringify({ error: { code: codeOf(error), message: messageOf(error) } }))
    throw error
  } finally {
    terminal.waitFor(undefined)
    await journal?.close()
    await session?.close()
    await agent?.close()
    interrupts.release()
  }
}

/** Records the run in the file of `--record`. */
async function recorded(
  { record }: Flags,
  { cwd, env }: CliIO,
  show: (options: Pick<RunOptions, 'recorder'>) => Promise<RunResult>,
): Promise<RunResult> {
  if (record === undefined) return show({})
  const { recordRun } = await import('../../recording/index.ts')
  return recordRun(show, resolve(cwd, record), { secrets: secretsInEnvironment(env) })
}

function codeOf(error: unknown): string {
  return ToolloopError.isInstance(error) ? error.code : 'failed'
}

/**
 * Reads the prompt from the command line. If the only word is `-`, or if there are no words and stdin is piped, reads stdin to its end.
 * Rejects with `invalid_option` and examples if there is no prompt.
 */
async function readPrompt(words: readonly string[], { stdin, env }: Pick<CliIO, 'stdin' | 'env'>, signal: AbortSignal): Promise<string> {
  const fromStdin = words.length === 1 && words[0] === '-'
  if (words.length > 0 && !fromStdin) return checkPrompt(words.join(' '), 'an empty text', env)
  if (!fromStdin && stdin.isTTY) return checkPrompt('', 'none', env)
  let text = ''
  const input = addAbortSignal(signal, stdin)
  input.setEncoding('utf8')
  for await (const chunk of input) text += chunk
  return checkPrompt(text.replace(/\r?\n$/, ''), 'nothing on standard input', env)
}

function checkPrompt(prompt: string, otherwise: string, env: CliIO['env']): string {
  if (prompt.trim() !== '') return prompt
  const command = commandOf(env)
  const examples = [`${command} "What is 17 * 23?"`, `echo "What time is it in Tokyo?" | ${command.replace(/ --$/, '')}`]
  throw new ToolloopError('invalid_option', `Expected a prompt, got ${otherwise}. Try:\n${examples.map((line) => `  ${line}`).join('\n')}`)
}
