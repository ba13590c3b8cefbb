import type { RunResult } from '../../agent/types/options.ts'
import { scriptTool } from '../../code-mode/code-mode.ts'
import { Event, type EventMeta, type RunEvent } from '../../core/events.ts'
import { isJsonObject, type Json, type JsonObject } from '../../core/messages.ts'
import { redactText } from '../../core/redaction/redact.ts'
import { type CallView, callOf, emptyRunView, lastText, reduceRun } from '../../core/runs/index.ts'
import { EventRedactor } from '../../service/redaction/event-redactor.ts'
import type { AnyTool } from '../../tools/tool.ts'
import { previewOf } from './result-preview.ts'
import { shorten, type Terminal, withoutControls } from './terminal.ts'

/** Maximum number of lines of a script that are shown. */
const maxScriptLines = 60
/** Maximum number of characters of a call's arguments, and of its error, on the line of the call. */
const maxArgumentsLength = 120
const maxFailureLength = 200

interface RenderOptions {
  /** Whether to leave out all lines about tools. */
  quiet?: boolean
  /** Whether to write the answer. Default: true. */
  answer?: boolean
  /** Stores calls so that they can be shown completely later. Default: calls are not stored. */
  calls?: CallLog
}

interface CallLog {
  add(call: { tool: string; args: JsonObject }): number
  end(number: number, ending: string, result: string): void
}

/** A call in progress. Its arguments contain no secrets. */
interface RunningCall {
  tool: string
  args: JsonObject
  meta: EventMeta
  /** The number under which the call is stored. */
  number: number | undefined
  /** Whether a line on the screen shows that the call has started. */
  isShown: boolean
}

/**
 * Shows one run to a person: the text of the answer as it arrives, and the calls. On a screen with a status line, each call gets one line
 * when it has ended, followed by the start of its result. Otherwise, each call gets one line when it starts and another when it has ended.
 */
export class RunRenderer {
  readonly #terminal: Terminal
  readonly #redactor: EventRedactor
  readonly #showTools: boolean
  readonly #showAnswer: boolean
  readonly #calls: CallLog | undefined
  readonly #view = emptyRunView()
  readonly #running = new Map<CallView, RunningCall>()

  constructor(terminal: Terminal, tools: Iterable<AnyTool>, { quiet = false, answer = true, calls }: RenderOptions = {}) {
    this.#calls = calls
    this.#terminal = terminal
    this.#redactor = new EventRedactor(tools, [], Number.POSITIVE_INFINITY)
    this.#showTools = !quiet
    this.#showAnswer = answer
  }

  show(event: RunEvent): void {
    const before = event.type === Event.MODEL_START || event.type === Event.MODEL_RETRY ? this.#shownText : ''
    reduceRun(this.#view, event)
    const call = callOf(this.#view, event)
    // The text of a nested run is skipped, because it is not part of the answer. The calls of a nested run are shown.
    if (event.meta.parentRunId !== undefined && call === undefined) return
    switch (event.type) {
      case Event.MODEL_START:
        if (!event.continues && before !== '') this.#terminal.endAnswerLine()
        this.#terminal.waitFor(`waiting for ${event.model}`)
        break
      case Event.MODEL_QUEUED:
        this.#terminal.waitFor(`waiting for the rate limits of ${event.model}`)
        break
      case Event.MODEL_RETRY:
        if (event.discards && before !== '') this.#beginAgain()
        this.#terminal.waitFor(`${this.#oneLine(event.error, maxArgumentsLength)}; asking ${event.model} again`)
        break
      case Event.REASONING_DELTA:
        this.#terminal.waitFor('the model is thinking')
        break
      case Event.TEXT_DELTA:
        if (!this.#showAnswer) break
        this.#terminal.waitFor(undefined)
        this.#terminal.answer(event.text)
        break
      case Event.TOOL_INPUT_START:
        this.#terminal.waitFor(`the model is calling ${event.tool}`)
        break
      case Event.MODEL_END:
        this.#terminal.waitFor(undefined)
        // A text that was cut off may be continued, so its line stays open.
        if (event.finishReason !== 'length') this.#terminal.endAnswerLine()
        break
      case Event.TOOL_CALL_START:
        this.#startCall(event, call)
        break
      case Event.TOOL_PROGRESS:
        this.#terminal.progress(`${event.tool}: ${this.#oneLine(describeProgress(event.update), maxArgumentsLength)}`)
        break
      case Event.TOOL_CALL_END:
        this.#endCall(event, call)
        break
      case Event.TOOL_CALL_REJECTED:
        this.#rejectCall(event)
        break
      case Event.RUN_END:
        this.#terminal.waitFor(undefined)
        break
      case Event.RUN_START:
      case Event.TOOL_INPUT_DELTA:
      case Event.LLM_SENTENCE:
        break
    }
  }

  /** Completes the answer on stdout: writes text that was not streamed, such as the result of a `final` tool, and ends the last line. */
  finish(result: RunResult): void {
    this.#terminal.waitFor(undefined)
    if (this.#showAnswer && result.output.trim() !== this.#shownText.trim()) {
      this.#terminal.endAnswerLine()
      this.#terminal.answer(result.output)
    }
    this.#terminal.endAnswerLine()
  }

  /** The part of the answer that is on the screen. */
  get #shownText(): string {
    return this.#showAnswer ? lastText(this.#view) : ''
  }

  /** Called when the answer was cut off and starts again. The text of the first attempt stays on the screen. */
  #beginAgain(): void {
    this.#terminal.endAnswerLine()
    this.#terminal.note(this.#terminal.paint('dim', 'The answer broke off and starts again:'))
  }

  #startCall({ tool, args, meta }: Extract<RunEvent, { type: 'TOOL_CALL_START' }>, call: CallView | undefined): void {
    const redacted = this.#redactor.redactArguments(tool, args)
    const running = { tool, args: redacted, meta, number: undefined as number | undefined, isShown: false }
    if (call !== undefined) {
      running.number = this.#calls?.add({ tool, args: redacted })
      this.#running.set(call, running)
    }
    if (!this.#terminal.showsStatus || scriptOf(running) !== undefined || call === undefined) this.#showStart(running)
    this.#terminal.waitFor(
      this.#running.size > 1 ? `running ${this.#running.size} calls` : `running ${tool} ${this.#argumentsOf(redacted)}`,
    )
  }

  #showStart(running: RunningCall): void {
    if (running.isShown) return
    running.isShown = true
    this.#showOuter(running.meta)
    const { tool, args, meta } = running
    const script = scriptOf(running)
    const shown = script === undefined ? this.#terminal.paint('dim', this.#argumentsOf(args)) : ''
    this.#note(`${inset(meta)}${this.#terminal.paint('cyan', `→ ${tool}`)} ${shown}`.trimEnd())
    if (script !== undefined) this.#showScript(script)
  }

  /** Shows that the call that started this nested run has begun. */
  #showOuter({ parentRunId, parentToolCallId }: EventMeta): void {
    if (parentToolCallId === undefined) return
    for (const outer of this.#running.values())
      if (outer.meta.runId === parentRunId && outer.meta.toolCallId === parentToolCallId) this.#showStart(outer)
  }

  /** Prints the lines of a script, with line numbers. */
  #showScript(code: string): void {
    const lines = this.#redactor.redactText(code).split('\n')
    const width = String(Math.min(lines.length, maxScriptLines)).length
    for (const [at, line] of lines.slice(0, maxScriptLines).entries())
      this.#note(this.#terminal.paint('dim', `  ${String(at + 1).padStart(width)} ${shorten(withoutControls(line), maxArgumentsLength)}`))
    if (lines.length > maxScriptLines) this.#note(this.#terminal.paint('dim', `  … ${plural(lines.length - maxScriptLines, 'more line')}`))
  }

  #endCall({ tool, result, meta }: Extract<RunEvent, { type: 'TOOL_CALL_END' }>, call: CallView | undefined): void {
    const running = call && this.#running.get(call)
    // If other calls are running, the line also shows the arguments, to make clear which call has ended.
    const isOneOf = this.#running.size > 1 && running !== undefined
    if (call !== undefined) this.#running.delete(call)
    const isOneLine = running?.isShown === false
    this.#showOuter(meta)
    const shownArgs = isOneLine || isOneOf ? shorten(this.#argumentsOf(running?.args ?? {}), isOneLine ? maxArgumentsLength : 60) : ''
    const which = shownArgs === '' ? '' : ` ${this.#terminal.paint('dim', shownArgs)}`
    const took = meta.durationMs === undefined ? '' : ` ${formatDuration(meta.durationMs)}`
    const ok = meta.ok !== false
    const number = running?.number
    const text = this.#redactor.redactText(result)
    if (number !== undefined) this.#calls?.end(number, `${ok ? 'ok' : 'failed'}${took}`, text)
    const shown = number === undefined ? '' : ` ${this.#terminal.paint('dim', `[${number}]`)}`
    const ending = ok ? formatBytes(Buffer.byteLength(result)) : this.#oneLine(result, maxFailureLength)
    const name = ok ? this.#terminal.paint('green', `✓ ${tool}`) : this.#terminal.paint('red', `✗ ${tool}`)
    this.#note(`${inset(meta)}${name}${which}${took} · ${ending}${shown}`)
    if (ok && running !== undefined && this.#terminal.showsStatus) this.#showPreview(running, text)
    this.#terminal.waitFor(this.#running.size === 0 ? undefined : `running ${this.#running.size} more`)
  }

  /** Prints the first lines of a result. If the call edits a text, prints the first changed lines instead. */
  #showPreview({ args, meta, number }: RunningCall, result: string): void {
    const columns = this.#terminal.columns - inset(meta).length - 2
    const { lines, more } = previewOf(args, result)
    for (const [at, line] of lines.entries()) {
      const rest = at < lines.length - 1 || more === 0 ? '' : ` … ${plural(more, 'more line')}${number === undefined ? '' : ': Ctrl-O'}`
      this.#note(`${inset(meta)}  ${this.#terminal.previewLine(line, columns - rest.length)}${this.#terminal.paint('dim', rest)}`)
    }
  }

  #rejectCall({ tool, args, error, meta }: Extract<RunEvent, { type: 'TOOL_CALL_REJECTED' }>): void {
    // Called only to remember the secrets in the arguments, because the error may quote them.
    if (typeof args !== 'string') this.#redactor.redactArguments(tool, args)
    this.#showOuter(meta)
    this.#note(
      `${inset(meta)}${this.#terminal.paint('red', `✗ ${this.#oneLine(tool, 64)}`)} not run · ${this.#oneLine(error, maxFailureLength)}`,
    )
  }

  #argumentsOf(redacted: JsonObject): string {
    return this.#oneLine(JSON.stringify(redacted), maxArgumentsLength)
  }

  #oneLine(text: string, length: number): string {
    return shorten(withoutControls(this.#redactor.redactText(text)), length)
  }

  #note(line: string): void {
    if (this.#showTools) this.#terminal.note(line)
  }
}

/** Returns the code if the call runs a script. */
function scriptOf({ tool, args: { code } }: RunningCall): string | undefined {
  return tool === scriptTool && typeof code === 'string' ? code : undefined
}

/** Returns the indent of a call. Calls of nested runs are indented. */
function inset({ depth = 0 }: EventMeta): string {
  return '  '.repeat(Math.min(depth, 4))
}

/** Describes progress in the form that MCP servers report: a number, a total, and a message. */
function describeProgress(update: Json): string {
  if (!isJsonObject(update) || typeof update.progress !== 'number') return typeof update === 'string' ? update : JSON.stringify(update)
  const { progress, total, message } = update
  const count = typeof total === 'number' && total > 0 ? `${Math.round((100 * progress) / total)} %` : String(progress)
  return typeof message === 'string' ? `${count} ${message}` : count
}

/** Describes how long a run took, its tokens, and its cost in US dollars if known. */
export function describeSpending({ usage }: RunResult, milliseconds: number): string {
  const { inputTokens, outputTokens, costUsd } = usage
  const cost = costUsd === undefined ? '' : ` · ${formatCost(costUsd)}`
  return `${formatDuration(milliseconds)} · ${inputTokens.toLocaleString('en-US')} tokens in, ${outputTokens.toLocaleString('en-US')} out${cost}`
}

/** Describes in one line why a run ended without an answer. Returns undefined if the run has an answer. */
export function describeEnding(result: RunResult): string | undefined {
  const ending = endingOf(result)
  // Control characters are removed, because parts of the text may come from a provider.
  return ending === undefined ? undefined : withoutControls(redactText(ending))
}

function endingOf(result: RunResult): string | undefined {
  const { stopReason, error, pending, iterations, toolCalls } = result
  switch (stopReason) {
    case 'answered':
      return undefined
    case 'stopped':
      return `ended by the result of \`${toolCalls.at(-1)?.tool ?? 'a tool'}\``
    case 'truncated':
      return 'truncated: the answer was cut off at a token limit'
    case 'max_iterations':
      return `stopped: no answer after ${plural(iterations, 'iteration')}; --max-iterations allows more`
    case 'deadline':
      return 'stopped: the deadline passed; --deadline sets it'
    case 'budget':
      return 'stopped: a budget was used up'
    case 'repeated_calls':
      return `stopped: the model kept repeating the same call of \`${toolCalls.at(-1)?.tool ?? 'a tool'}\``
    case 'paused':
      return `paused: ${plural(pending.length, 'call')} to be decided: ${pending.map(({ tool, kind }) => `${tool} (${pendingWords[kind]})`).join(', ')}`
    case 'aborted':
      return 'aborted'
    case 'refused':
      return `refused: ${error?.message ?? 'the model declined to answer'}`
    case 'model_error':
      return `model error: ${error === undefined ? 'the model failed' : `${error.message} (${error.code})`}`
  }
}

const pendingWords = {
  approval: 'needs an approval',
  client_tool: 'has no `execute`',
  question: 'asks a question',
  budget: 'is used up',
} as const

export function formatDuration(milliseconds: number): string {
  if (milliseconds < 1_000) return `${Math.round(milliseconds)} ms`
  return milliseconds < 60_000
    ? `${(milliseconds / 1_000).toFixed(1)} s`
    : `${Math.floor(milliseconds / 60_000)} min ${Math.round((milliseconds % 60_000) / 1_000)} s`
}

export function formatCost(dollars: number): string {
  return `$${dollars.toFixed(dollars < 0.01 ? 4 : 2)}`
}

export function formatBytes(bytes: number): string {
  if (bytes < 1_024) return `${bytes} B`
  return bytes < 1_048_576 ? `${(bytes / 1_024).toFixed(1)} KiB` : `${(bytes / 1_048_576).toFixed(1)} MiB`
}

export function plural(count: number, word: string): string {
  return `${count} ${word}${count === 1 ? '' : 's'}`
}
