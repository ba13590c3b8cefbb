import type { AgentRunner } from '../../agent/agent-runner.ts'
import type { Decision } from '../../agent/decisions/decisions.ts'
import { eventsOf, type RunStream } from '../../agent/runner/run-stream.ts'
import type { RunnerOptions, RunOptions, RunResult } from '../../agent/types/options.ts'
import { resultAsJson } from '../../service/redaction/event-parts.ts'
import { EventRedactor } from '../../service/redaction/event-redactor.ts'
import type { Flags } from '../flags.ts'
import type { PreparedAgent } from '../setup/prepare-agent.ts'
import { decideItems } from './approvals/answer-item.ts'
import { createApprove } from './approvals/ask-approval.ts'
import type { Asker } from './approvals/asker.ts'
import { describeEnding, RunRenderer } from './render.ts'
import { type CliIO, isOnTerminal, type Terminal } from './terminal.ts'

/** Shows a run for a person, as one JSON object, or as lines of events, depending on the options. */
async function showRun(stream: RunStream, { tools }: PreparedAgent, flags: Flags, terminal: Terminal): Promise<RunResult> {
  if (flags.events) {
    const redactor = new EventRedactor(tools, [], Number.POSITIVE_INFINITY)
    for await (const event of eventsOf(stream)) for (const shown of await redactor.redact(event)) terminal.print(JSON.stringify(shown))
    const result = await stream.result
    terminal.print(JSON.stringify({ type: 'RESULT', result: await redactor.redactResult(result) }))
    return result
  }
  const renderer = new RunRenderer(terminal, tools, { quiet: flags.quiet === true, answer: !flags.json })
  for await (const event of eventsOf(stream)) renderer.show(event)
  const result = await stream.result
  renderer.finish(result)
  if (flags.json) terminal.print(JSON.stringify(resultAsJson(result)))
  return result
}

/** Who decides on approvals and questions of a run. If `approve` is undefined, calls that need an approval pause the run. */
export interface People {
  approve: RunnerOptions['approve']
  /** Asks the person at the terminal. Undefined if nobody is there. */
  asker: Asker | undefined
}

export function waitingFor(terminal: Terminal, flags: Flags, asker: Asker): People {
  return { approve: createApprove(terminal, flags.yes, asker), asker: isOnTerminal(terminal.io) ? asker : undefined }
}

interface Showing {
  agent: PreparedAgent
  flags: Flags
  terminal: Terminal
  people: People
  signal: AbortSignal
  recorder?: RunOptions['recorder']
}

/** Shows a run until it ends. If the run asks questions, shows them and continues with the answers. */
export async function showAll(runner: AgentRunner, begun: RunStream, showing: Showing): Promise<RunResult> {
  const { agent, flags, terminal } = showing
  let result = await showRun(begun, agent, flags, terminal)
  for (;;) {
    const decisions = await decisionsOn(result, showing)
    if (decisions === undefined) return result
    const { signal, recorder } = showing
    const stream = runner.resumeStream(result.state ?? result.runId, { decisions, signal, recorder, replay: false })
    result = await showRun(stream, agent, flags, terminal)
  }
}

/**
 * Asks the person at the terminal to decide on a waiting run. Resolves with undefined if the run doesn't wait, or if nobody is at the
 * terminal. If the signal is aborted, everything is refused, which ends the run.
 */
export async function decisionsOn(
  { stopReason, pending }: RunResult,
  { flags, terminal, people: { approve, asker }, signal }: Pick<Showing, 'flags' | 'terminal' | 'people' | 'signal'>,
): Promise<Decision[] | undefined> {
  if (stopReason !== 'paused' || asker === undefined || approve === undefined || flags.json || flags.events) return undefined
  try {
    return await decideItems(pending, { terminal, asker, approve, signal, yes: flags.yes })
  } catch (error) {
    if (!signal.aborted) throw error
    return pending.map(({ toolCallId, fingerprint }) => ({ toolCallId, fingerprint, approved: false }))
  }
}

/** The hint for a run that waits because nobody was at the terminal. */
export const nobodyDecided = 'nobody was here to decide: you are asked on a terminal, and --yes approves calls'

/** Prints why there is no answer, and what may help. For a paused run in a journal, prints the command that continues the run. */
export function explainEnding(result: RunResult, { choice }: PreparedAgent, terminal: Terminal, decide?: string): void {
  const ending = describeEnding(result)
  if (ending === undefined) return
  const helps =
    result.stopReason === 'model_error' && choice.source === 'key'
      ? `; ${choice.name} is only a default: --model or TOOLLOOP_MODEL names another`
      : ''
  terminal.note(terminal.paint(result.stopReason === 'stopped' ? 'dim' : 'yellow', `${ending}${helps}`))
  if (result.stopReason !== 'paused') return
  // This line is not wrapped, so that the command can be copied.
  if (decide !== undefined) terminal.row(terminal.paint('dim', `to decide: ${decide}`))
  else terminal.note(terminal.paint('dim', `${nobodyDecided}; --journal FILE keeps a run for later`))
}

/** Text that was written to a file or pipe can't be removed. A run that writes there therefore ends if an answer is cut off. */
export function keepingWhole(
  { stdout }: Pick<CliIO, 'stdout'>,
  { json, events }: Pick<Flags, 'json' | 'events'>,
): Pick<RunOptions, 'onCut'> {
  return stdout.isTTY || json || events ? {} : { onCut: 'end' }
}
