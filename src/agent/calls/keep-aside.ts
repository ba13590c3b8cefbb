import type { Content, ContentPart } from '../../core/messages.ts'
import { capContent, headOf } from '../../tools/result-text.ts'
import { keptId } from '../journal/kept-values.ts'
import { readResultName } from '../large-results/read-result.ts'
import type { RunContext } from '../run/run-context.ts'
import { keptAsideText } from '../run-texts.ts'
import type { AroundTool, CallOutcome } from '../types/running-call.ts'
import { type Ended, withContent } from './changed-call.ts'

/**
 * Stores results that are too long for the conversation, so that the model can read them piece by piece. Runs after hooks and guardrails,
 * so that the model can't read what they removed.
 */
export function keepAside(run: RunContext): AroundTool {
  return (next) => async (call) => withoutLongText(run, await next(call))
}

/** Shortens a long result. The full text is stored, and the model gets its beginning. If the text can't be stored, the text is cut. */
export async function withoutLongText(run: RunContext, outcome: CallOutcome): Promise<CallOutcome> {
  const { call, end } = outcome
  const { largeResults, maxResultBytes } = run.limits
  const { tool } = call.prepared
  if (largeResults === undefined || (end.outcome !== 'ok' && end.outcome !== 'failed') || tool.name === readResultName) return outcome
  const { overBytes, shownBytes, keptBytes } = largeResults
  const text = textIn(end.content)
  const isLong = text.length * 3 > overBytes && Buffer.byteLength(text) > overBytes
  const room = maxResultBytes - noteBytes(text.length)
  // The result of a `final` tool is not stored: the tool ends the run, so no model would read the rest.
  const id = isLong && room >= 0 && tool.final !== true ? await keptIn(run, text, keptBytes) : undefined
  if (id === undefined) return cut(outcome, end, maxResultBytes)
  return shownAs(outcome, end, shortened(id, text, end.content, { shownBytes: Math.min(shownBytes, room), maxResultBytes }))
}

/** Stores a text and returns its id. Undefined if the text can't be stored, for example because the disk is full. */
function keptIn({ keptResults, logger, runId }: RunContext, text: string, maxBytes: number): Promise<string | undefined> {
  return keptResults.keep(text, maxBytes).catch((error: unknown) => {
    logger.warn({ runId, error }, 'a long result could not be stored, and was cut')
    return undefined
  })
}

function cut(outcome: CallOutcome, end: Ended, maxBytes: number): CallOutcome {
  const { content, cutBytes } = capContent(end.content, maxBytes)
  return cutBytes === 0 ? outcome : shownAs(outcome, end, content)
}

/**
 * Returns the outcome with shortened content and without the value, because hundreds of large values would fill the memory of a long run.
 */
function shownAs(outcome: CallOutcome, end: Ended, content: Content): CallOutcome {
  const shown = withContent(end, content)
  return { ...outcome, end: shown.outcome === 'ok' ? { ...shown, value: undefined } : shown }
}

function textIn(content: Content): string {
  if (typeof content === 'string') return content
  return content
    .flatMap((part) => (part.type === 'text' ? part.text : []))
    .join('\n')
    .toWellFormed()
}

/** Replaces the text with its beginning and a note. */
function shortened(
  id: string,
  text: string,
  content: Content,
  { shownBytes, maxResultBytes }: { shownBytes: number; maxResultBytes: number },
): Content {
  const head = headOf(text, shownBytes)
  const told = `${head}${noteOf(id, head.length, text.length)}`
  if (typeof content === 'string') return told
  const media = capContent(
    content.filter(({ type }) => type !== 'text'),
    maxResultBytes,
  ).content
  return [{ type: 'text', text: told }, ...(media as ContentPart[])]
}

function noteOf(id: string, shown: number, of: number): string {
  return `\n\n${keptAsideText({ id, shown, of })}`
}

/** The maximum size, in bytes, of the note that follows a shortened text. */
function noteBytes(of: number): number {
  return Buffer.byteLength(noteOf(keptId(''), of, of))
}
