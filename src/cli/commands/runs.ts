import { AgentRunner } from '../../agent/agent-runner.ts'
import type { Decision, Verdict } from '../../agent/decisions/decisions.ts'
import type { JournalRun } from '../../agent/durable/runs.ts'
import type { RunSummary } from '../../agent/journal/journal.ts'
import type { Sessions } from '../../agent/sessions/sessions.ts'
import type { PendingItem } from '../../agent/types/options.ts'
import { createAgentRunner } from '../../backends/index.ts'
import { InvalidOptionError, ToolloopError } from '../../core/errors.ts'
import { jsonOrText } from '../../core/json.ts'
import { type ChatMessage, type Content, hasToolCalls, withoutUndefined } from '../../core/messages.ts'
import { readable } from '../../core/text/visible.ts'
import { createModel } from '../../models/create-model.ts'
import { EXIT_OK, exitCodeOf } from '../exit-codes.ts'
import type { Flags } from '../flags.ts'
import { decideCommand } from '../setup/command-line.ts'
import { type OpenJournal, openExistingJournal } from '../setup/journal.ts'
import { type PreparedAgent, prepareAgent } from '../setup/prepare-agent.ts'
import { openKeptSessions } from '../setup/sessions.ts'
import { type Deciding, decideItems } from '../terminal/approvals/answer-item.ts'
import { createApprove } from '../terminal/approvals/ask-approval.ts'
import { askOnTerminal } from '../terminal/approvals/ask-on-terminal.ts'
import { Interrupts } from '../terminal/interrupts.ts'
import { plural } from '../terminal/render.ts'
import { explainEnding, showAll, waitingFor } from '../terminal/show-run.ts'
import { type CliIO, shorten, Terminal, withoutControls } from '../terminal/terminal.ts'

const defaultLimit = 50
/** Maximum number of runs in one page of a journal's list. */
const largestPage = 1_000
/** Maximum number of characters of a message that `runs show` shows. */
const shownLength = 2_000

/** `toolloop runs list`: lists the runs of a journal, newest first. Resolves with the exit code. */
export async function listRuns(flags: Flags, io: CliIO): Promise<number> {
  const terminal = new Terminal(io)
  return withRuns(flags, io, async (runner) => {
    const listed: RunSummary[] = []
    const { limit = defaultLimit, status, stopReason, session, model, process, metadata } = flags
    const chosen = withoutUndefined({ status, stopReason, session, process, metadata })
    for (let cursor: string | undefined; ; ) {
      const left = model === undefined ? Math.min(limit - listed.length, largestPage) : largestPage
      const page = await runner.runs.list({ ...chosen, limit: left, ...withoutUndefined({ cursor }) })
      const found = model === undefined ? page.runs : page.runs.filter((run) => isModel(run.model, model))
      listed.push(...found.slice(0, limit - listed.length))
      cursor = page.next
      if (cursor === undefined || listed.length === limit) break
    }
    if (flags.json) terminal.print(JSON.stringify(listed))
    else for (const summary of listed) terminal.say(await lineOf(summary, runner))
    if (!flags.json && !flags.quiet && listed.length === 0) terminal.note('no such runs')
    return EXIT_OK
  })
}

/** Whether a run's latest model has this name. The name may be `provider/model`, only the provider, or only the model. */
function isModel(name: string | undefined, given: string): boolean {
  return name !== undefined && (name === given || name.startsWith(`${given}/`) || name.endsWith(`/${given}`))
}

async function lineOf({ runId, status, stopReason, createdAt, problem }: RunSummary, runner: AgentRunner): Promise<string> {
  const pending = status === 'waiting' ? ((await runner.runs.get(runId))?.pending ?? []) : []
  const waits = pending.length === 0 ? '' : ` for ${pending.map(({ tool }) => tool).join(', ')}`
  const told = problem === undefined ? '' : ` · ${problem}`
  return withoutControls(`${runId}  ${new Date(createdAt).toISOString()}  ${status === 'ended' ? stopReason : `${status}${waits}`}${told}`)
}

/** `toolloop runs show ID`: shows the messages and calls of a run, and what it waits for. Resolves with the exit code. */
export async function showRecorded(runId: string, flags: Flags, io: CliIO): Promise<number> {
  const terminal = new Terminal(io)
  return withRuns(flags, io, async (runner) => {
    const run = await knownRun(runner, runId)
    if (flags.json) terminal.print(JSON.stringify(run))
    else for (const line of linesOf(run)) terminal.say(line)
    return EXIT_OK
  })
}

/** `toolloop runs cancel ID`: ends a run, whichever process executes it. Resolves with the exit code once the run has ended. */
export async function cancelRun(runId: string, flags: Flags, io: CliIO): Promise<number> {
  const terminal = new Terminal(io)
  const interrupts = new Interrupts(io)
  try {
    const cancel = async (runner: AgentRunner) => {
      await knownRun(runner, runId)
      await runner.runs.cancel(runId)
      terminal.waitFor('cancelling the run')
      await runner.resume(runId, { signal: interrupts.signal }).catch((error: unknown) => {
        if (!interrupts.signal.aborted) throw error
      })
      return interrupts.exitCode ?? EXIT_OK
    }
    return await withRuns(flags, io, cancel, 'writes')
  } finally {
    terminal.waitFor(undefined)
    interrupts.release()
  }
}

/** `toolloop runs resume ID`: continues a run that a process has abandoned, and shows the rest of it. Resolves with the run's exit code. */
export async function resumeRun(runId: string, flags: Flags, io: CliIO): Promise<number> {
  return continueRun(runId, flags, io, async () => [])
}

/** `toolloop runs decide ID`: decides on the pending calls of a run, and continues the run. Resolves with the run's exit code. */
export async function decideRun(runId: string, flags: Flags, io: CliIO): Promise<number> {
  return continueRun(runId, flags, io, async (run, { terminal, tools, signal }) => {
    const items = run.pending.filter(({ toolCallId }) => flags.call === undefined || toolCallId === flags.call)
    if (items.length === 0) {
      const waiting = run.pending.map(({ toolCallId, tool }) => `${toolCallId} (${tool})`).join(', ') || 'nothing'
      throw new ToolloopError('invalid_option', `Expected ${runId} to wait for ${flags.call ?? 'a decision'}; it waits for ${waiting}`)
    }
    if (!flags.yes && flags.reject === undefined && flags.answer === undefined) return decideItems(items, deciding(terminal, tools, signal))
    return items.map((item) => ({ toolCallId: item.toolCallId, fingerprint: item.fingerprint, ...verdictOf(item, flags) }))
  })
}

type Decide = (run: JournalRun, by: { terminal: Terminal; tools: PreparedAgent['tools']; signal: AbortSignal }) => Promise<Decision[]>

async function continueRun(runId: string, flags: Flags, io: CliIO, decide: Decide): Promise<number> {
  const terminal = new Terminal(io)
  if (!flags.plain && !flags.json && !flags.events) terminal.renderMarkdown()
  const interrupts = new Interrupts(io)
  let agent: PreparedAgent | undefined
  let journal: OpenJournal | undefined
  let sessions: Sessions | undefined
  try {
    journal = await openExistingJournal(flags, io)
    agent = await prepareAgent(flags, terminal, interrupts.signal)
    sessions = await openKeptSessions(io)
    const { signal } = interrupts
    const { tools } = agent
    const people = waitingFor(terminal, flags, askOnTerminal(io, tools))
    const kept = { journal: journal.journal, sessions }
    const runner = await createAgentRunner({ ...agent.options, ...kept, approve: people.approve })
    const decisions = await decide(await knownRun(runner, runId), { terminal, tools, signal })
    const result = await showAll(runner, runner.resumeStream(runId, { decisions, signal, replay: false }), {
      agent,
      flags,
      terminal,
      people,
      signal,
    })
    explainEnding(result, agent, terminal, decideCommand(runId, flags, io.env))
    return interrupts.exitCode ?? exitCodeOf(result)
  } catch (error) {
    if (interrupts.exitCode !== undefined) return interrupts.exitCode
    throw error
  } finally {
    terminal.waitFor(undefined)
    await journal?.close()
    await sessions?.close()
    await agent?.close()
    interrupts.release()
  }
}

/**
 * Returns the decision on a call, as given by `--yes`, `--reject` or `--answer`. Throws `invalid_option` if the options don't fit the call.
 */
function verdictOf({ kind, toolCallId, tool }: PendingItem, { yes, reject, answer }: Flags): Verdict {
  if ([yes, reject, answer].filter((given) => given !== undefined).length > 1)
    throw new ToolloopError('invalid_option', 'Expected one of --yes, --reject and --answer, got more')
  if (reject !== undefined) return reject === true ? { approved: false } : { approved: false, reason: reject }
  const takesAnswer = kind === 'question' || kind === 'client_tool'
  if (answer !== undefined && takesAnswer) return kind === 'question' ? { answer: jsonOrText(answer) } : { result: jsonOrText(answer) }
  if (answer === undefined && !takesAnswer) return { approved: true }
  const which = `${toolCallId} (${tool}), which ${takesAnswer ? 'asks a question or is to be carried out by you' : 'needs an approval'}`
  throw new ToolloopError(
    'invalid_option',
    `Expected ${takesAnswer ? '--answer' : '--yes or --reject'} for ${which}; --call names one call`,
  )
}

/** Prepares to ask the person at the terminal for decisions. Throws `invalid_option` if nobody is at the terminal. */
function deciding(terminal: Terminal, tools: PreparedAgent['tools'], signal: AbortSignal): Deciding {
  const asker = askOnTerminal(terminal.io, tools)
  const approve = createApprove(terminal, false, asker)
  if (approve === undefined)
    throw new InvalidOptionError('--yes', 'given, or `--reject` or `--answer`, where no terminal is there to ask on')
  return { terminal, asker, approve, signal }
}

/** Opens the journal and calls `work` with a runner for it. If `work` only reads, the journal may be a copy whose original is in use. */
export async function withRuns(
  flags: Flags,
  io: CliIO,
  work: (runner: AgentRunner) => Promise<number>,
  kind: 'reads' | 'writes' = 'reads',
): Promise<number> {
  const journal = await openExistingJournal(flags, io, { adopt: kind === 'reads' })
  const sessions = await openKeptSessions(io)
  try {
    // The runner needs a model, but never sends it a request.
    return await work(new AgentRunner({ model: createModel('demo'), journal: journal.journal, sessions }))
  } finally {
    await journal.close()
    await sessions?.close()
  }
}

/** Rejects with `invalid_option` if there is no such run. */
export async function knownRun(runner: AgentRunner, runId: string): Promise<JournalRun> {
  const run = await runner.runs.get(runId)
  if (run === undefined)
    throw new ToolloopError('invalid_option', `Expected the id of a run in the journal, got ${runId}: toolloop runs list`)
  return run
}

function* linesOf({ runId, status, stopReason, createdAt, updatedAt, problem, pending, result }: JournalRun): Iterable<string> {
  yield `${runId}: ${status === 'ended' ? stopReason : status}, started ${new Date(createdAt).toISOString()}, changed ${new Date(updatedAt).toISOString()}`
  if (problem !== undefined) yield withoutControls(`problem: ${problem}`)
  for (const message of result?.messages ?? []) yield* messageLines(message)
  if (result?.error !== undefined) yield withoutControls(`error: ${result.error.message} (${result.error.code})`)
  for (const { toolCallId, tool, kind, args } of pending)
    yield withoutControls(`waits: ${toolCallId} ${tool} ${JSON.stringify(args)} (${kind})`)
  if (result !== undefined)
    yield `${plural(result.usage.inputTokens, 'token')} in, ${result.usage.outputTokens} out, ${plural(result.iterations, 'model turn')}`
}

function* messageLines(message: ChatMessage): Iterable<string> {
  const text = describeContent(message.content)
  if (text !== '') yield `${message.role}: ${shorten(readable(text), shownLength)}`
  if (!hasToolCalls(message)) return
  for (const { function: called } of message.toolCalls)
    yield `  → ${shorten(withoutControls(`${called.name} ${called.arguments}`), shownLength)}`
}

/** Returns the content as text. Images and files are represented by a description. */
function describeContent(content: Content): string {
  if (typeof content === 'string') return content
  return content.map((part) => (part.type === 'text' ? part.text : `(${part.type})`)).join('\n')
}
