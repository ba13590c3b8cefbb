import { setImmediate } from 'node:timers/promises'
import type { ApprovalDecision, ApprovalRequest, RunnerOptions } from '../../../agent/types/options.ts'
import { messageOf } from '../../../core/errors.ts'
import type { Json, JsonObject } from '../../../core/messages.ts'
import { changedLines } from '../../../core/text/line-diff.ts'
import { changeIn, editsIn, type TextEdit } from '../../../core/text/text-edits.ts'
import { isReordered, visible } from '../../../core/text/visible.ts'
import { plural } from '../render.ts'
import { wrap } from '../rows.ts'
import { isOnTerminal, type Terminal } from '../terminal.ts'
import type { Asker } from './asker.ts'
import { editArguments } from './edit-arguments.ts'
import { asJson, diffRowsOf, rowsOf } from './shown-arguments.ts'

/** The number of cells that the question needs beside the call. */
const questionCells = 60
/** The number of rows below the arguments, for the question and the cursor. */
const otherRows = 3
const answers = { y: '[y]es', n: '[N]o', e: '[e]dit', a: '[a]lways', v: 'ne[v]er', w: '[w]hy not' } as const
const pageAnswers = { m: '[M]ore', n: '[n]o', w: '[w]hy not' } as const
const neverReason = 'The user never allows this tool here.'

type Refusal = 'n' | 'w'

/** Asks about the calls of a run that need approval, and remembers the answers `always` and `never`. */
class Approvals {
  readonly #terminal: Terminal
  readonly #asker: Asker
  /** The decisions about tools for which the person has answered `always` or `never`. */
  readonly #settled = new Map<string, ApprovalDecision>()

  constructor(terminal: Terminal, asker: Asker) {
    this.#terminal = terminal
    this.#asker = asker
  }

  async decide(request: ApprovalRequest): Promise<ApprovalDecision> {
    const { tool, signal } = request
    const settled = this.#settled.get(tool)
    if (settled !== undefined) return settled
    // Text that the model wrote before the call must appear before the question.
    await setImmediate()
    this.#terminal.waitFor(undefined)
    this.#terminal.startLine()
    let args = request.args
    this.#quote(request)
    let refused = (await this.#showAbout(request)) ?? (await this.#show(tool, args, signal))
    for (;;) {
      const answer = refused ?? (await this.#asker.choose(this.#terminal.paint('yellow', this.#question(tool, args)), answers, signal))
      if (answer === 'e') {
        const edited = await this.#edit(request, args)
        refused = edited === undefined ? undefined : await this.#showChange(args, edited, signal)
        args = edited ?? args
        continue
      }
      if (answer === 'a') this.#settled.set(tool, true)
      if (answer === 'v') this.#settled.set(tool, { approved: false, reason: neverReason })
      if (answer === 'y' || answer === 'a') return args === request.args ? true : { approved: true, args }
      if (answer !== 'w') return this.#settled.get(tool) ?? { approved: false }
      const reason = (await this.#asker.ask('why not? ', signal)).trim()
      return { approved: false, ...(reason !== '' && { reason }) }
    }
  }

  /** Shows the line of the script that called the tool. */
  #quote({ script }: ApprovalRequest): void {
    if (script !== undefined) this.#terminal.note(this.#terminal.paint('dim', `line ${script.line} of the script: ${visible(script.code)}`))
  }

  /** Whether the whole call fits on the line that asks about it. */
  #fits(tool: string, args: JsonObject): boolean {
    const short = visible(asJson(args))
    if (editsIn(args).edits.length > 0) return false
    return short.length + tool.length + questionCells <= (this.#terminal.io.stderr.columns ?? 80) && !isReordered(short)
  }

  #question(tool: string, args: JsonObject): string {
    return this.#fits(tool, args) ? `run ${tool} ${visible(asJson(args))}?` : `run ${tool}?`
  }

  /** Shows a call that does not fit on the line of the question. Resolves with the answer if the person refuses the call while reading. */
  async #show(tool: string, args: JsonObject, signal: AbortSignal): Promise<Refusal | undefined> {
    if (this.#fits(tool, args)) return undefined
    this.#terminal.note(this.#terminal.paint('yellow', `${tool} is called with:`))
    return this.#showInPages(this.#rowsOf(editsIn(args)), signal)
  }

  /**
   * Shows the information that the tool or a rule gives about the call. Resolves with the answer if the person refuses the call while
   * reading.
   */
  async #showAbout({ about, signal }: ApprovalRequest): Promise<Refusal | undefined> {
    if (about === undefined || about === null) return undefined
    if (typeof about !== 'string') return this.#showInPages(this.#rowsOf(changeIn(about), about), signal)
    return this.#showInPages(
      about.split('\n').flatMap((line) => wrap(visible(line), this.#terminal.columns)),
      signal,
    )
  }

  /**
   * Returns the rows that show a call. Arguments that replace a text are shown last, as a diff. If no argument replaces a text, shows
   * `whole` instead.
   */
  #rowsOf({ edits, others }: { edits: TextEdit[]; others: JsonObject }, whole: Json = others): string[] {
    const { columns } = this.#terminal
    const isShown = edits.length === 0 || Object.keys(others).length > 0
    return [
      ...(isShown ? rowsOf(edits.length === 0 ? whole : others, columns) : []),
      ...edits.flatMap((edit) => diffRowsOf(edit, columns).map((line) => this.#terminal.diffLine(line))),
    ]
  }

  async #showChange(before: JsonObject, after: JsonObject, signal: AbortSignal): Promise<Refusal | undefined> {
    const lines = changedLines(rowsOf(before, this.#terminal.columns - 2), rowsOf(after, this.#terminal.columns - 2))
    if (lines.every(({ kind }) => kind === 'skipped')) this.#terminal.note('nothing was changed')
    return this.#showInPages(
      lines.map((line) => this.#terminal.diffLine(line)),
      signal,
    )
  }

  /**
   * Shows all lines, one screenful at a time. The person can approve the call only after the last screenful. Resolves with the answer if
   * the person refuses the call earlier.
   */
  async #showInPages(lines: readonly string[], signal: AbortSignal): Promise<Refusal | undefined> {
    const size = Math.max(1, (this.#terminal.io.stderr.rows ?? 24) - otherRows)
    for (let shown = 0; ; ) {
      const page = lines.slice(shown, shown + size)
      for (const line of page) this.#terminal.row(line)
      shown += page.length
      if (shown >= lines.length) return undefined
      const question = `${plural(lines.length - shown, 'more line')} of arguments:`
      const answer = await this.#asker.choose(this.#terminal.paint('yellow', question), pageAnswers, signal, 'm')
      if (answer !== 'm') return answer
    }
  }

  /** Lets the person edit the arguments. Resolves with undefined if nothing was changed. */
  async #edit({ tool, signal }: ApprovalRequest, args: JsonObject): Promise<JsonObject | undefined> {
    try {
      return await editArguments(tool, args, { terminal: this.#terminal, asker: this.#asker, signal })
    } catch (error) {
      signal.throwIfAborted()
      this.#terminal.note(this.#terminal.paint('red', visible(messageOf(error))))
      return undefined
    }
  }
}

/**
 * Creates the function that decides calls that need approval. With `--yes`, it approves all calls. On a terminal, it asks the person there
 * about one call after another, and shows every character of the arguments. Otherwise returns undefined, so that the run ends paused.
 */
export function createApprove(terminal: Terminal, yes: boolean | undefined, asker: Asker): RunnerOptions['approve'] {
  if (yes) return () => true
  if (!isOnTerminal(terminal.io)) return undefined
  const approvals = new Approvals(terminal, asker)
  let last: Promise<unknown> = Promise.resolve()
  return (request) => {
    const decision = last.then(() => approvals.decide(request))
    last = decision.catch(() => {})
    return decision
  }
}
