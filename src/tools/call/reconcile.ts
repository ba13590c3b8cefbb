import { type ErrorCode, show } from '../../core/errors.ts'
import { textOf } from '../../core/messages.ts'
import type { PreparedCall } from '../arguments.ts'
import { loggedFailure, mayHaveTakenEffectText, notTakenEffectText, tookEffectText } from '../call-texts.ts'
import type { Reconciled, ToolContext } from '../tool.ts'
import type { WritableContext } from '../tool-context.ts'
import { type ExecutedEnd, listen, type ToolCallEnd, type ToolCallEnvironment } from './environment.ts'

/** Maximum time for `reconcile`, in milliseconds. A shorter `timeoutMs` of the tool or the run takes precedence. */
const longestMs = 30_000
/** Maximum time for `reconcile` after the run has ended, in milliseconds. */
const longestAfterEndMs = 1_000

/** A tool's answer about whether a call took effect. `continues`: the call has saved a value from which its next attempt can continue. */
export type Finding = { ran: true; value: unknown } | { ran: false; continues: boolean }

/** Asks a tool whether a call took effect. Returns undefined if the tool can't tell or can't be asked. */
export async function askReconcile(
  { tool, args, input }: PreparedCall,
  environment: ToolCallEnvironment,
  attempt: number,
): Promise<Finding | undefined> {
  if (tool.reconcile === undefined) return undefined
  const { runId, toolCallId, logger, signal, whenOver } = environment
  const controller = new AbortController()
  const late = Promise.withResolvers<never>()
  let timer: NodeJS.Timeout | undefined
  const limit = (milliseconds: number) => {
    clearTimeout(timer)
    timer = setTimeout(() => {
      const error = new DOMException(`it took longer than ${milliseconds} ms`, 'TimeoutError')
      late.reject(error)
      controller.abort(error)
    }, milliseconds)
  }
  limit(signal.aborted ? longestAfterEndMs : Math.min(tool.timeoutMs ?? environment.timeoutMs, longestMs))
  const shorten = () => limit(longestAfterEndMs)
  const unfollow = signal.aborted ? undefined : (whenOver?.(shorten) ?? listen(signal, shorten))
  try {
    const ask = async () => {
      const saved = await environment.readSaved?.()
      const ctx = contextOf(environment, attempt, controller.signal)
      const found = read(await tool.reconcile?.(input as never, saved === undefined ? ctx : { ...ctx, saved }))
      return found === undefined || found.ran ? found : { ran: false as const, continues: saved !== undefined }
    }
    return await Promise.race([ask(), late.promise])
  } catch (error) {
    const fields = { tool: tool.name, toolCallId, runId, attempt, ...loggedFailure({ tool, args }, error) }
    logger.error(fields, 'reconcile failed; it is unknown whether the call took effect')
    return undefined
  } finally {
    clearTimeout(timer)
    unfollow?.()
  }
}

/** How a call ended that did not succeed, but may have taken effect. */
export type LeftEnd = Extract<ExecutedEnd, { code: ErrorCode }>

/** Adds what `reconcile` found to `end`. `endOf`: creates the `ToolCallEnd` of a call that returned a value. */
export function withFinding(end: LeftEnd, found: Finding | undefined, endOf: (value: unknown) => ToolCallEnd): LeftEnd {
  const separator = end.outcome === 'failed' ? '\n' : ' '
  const withText = (text: string) => `${end.content}${separator}${text}`
  if (found?.ran !== true) {
    const text = found === undefined || found.continues ? mayHaveTakenEffectText : notTakenEffectText
    return { ...end, content: withText(text), effect: 'possible' }
  }
  const result = endOf(found.value)
  return { ...end, content: withText(tookEffectText(result.outcome === 'question' ? '' : textOf(result.content))), effect: 'known' }
}

function contextOf(environment: ToolCallEnvironment, attempt: number, signal: AbortSignal): ToolContext {
  const { context, metadata, toolCallId, runId, iteration, idempotencyKey, answer, asked, decision, logger } = environment
  const ctx: WritableContext = { context, signal, toolCallId, runId, iteration, idempotencyKey, attempt, logger, progress() {} }
  if (metadata !== undefined) ctx.metadata = metadata
  if (answer !== undefined) ctx.answer = answer
  if (asked !== undefined) ctx.asked = asked
  if (decision !== undefined) ctx.decision = decision
  return ctx
}

/** Throws if a tool's `reconcile` returned anything but a `Reconciled` or undefined. */
function read(found: Reconciled | undefined): Reconciled | undefined {
  if (found === undefined) return undefined
  if (typeof found === 'object' && found !== null && typeof found.ran === 'boolean') return found
  throw new TypeError(`Expected \`reconcile\` to return \`{ ran: true, value }\`, \`{ ran: false }\` or undefined, got \`${show(found)}\``)
}
