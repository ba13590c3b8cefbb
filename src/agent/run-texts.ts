import type { Content } from '../core/messages.ts'

// Texts for the model about the calls and answers of a run. Texts that can also occur outside a run are in `tools/call-texts.ts`.

/** The content with a sentence appended. */
export function withNote(content: Content, note: string): Content {
  return typeof content === 'string' ? `${content}\n\n${note}` : [...content, { type: 'text' as const, text: note }]
}

// Texts for calls that don't run.

export function truncatedText(tool: string): string {
  return `The response was truncated before it was complete, so this call to \`${tool}\` was not run. Make it again, shorter.`
}

export function unreadableText(why: string): string {
  return `The call could not be read, and was not run. ${why}`
}

const onlyQuoted = 'also occurs in a text that you were given, so it was treated as a quotation.'

export function quotedText(tool: string): string {
  return `Not run: this call to \`${tool}\` ${onlyQuoted} If you mean it, call the tool itself, with arguments of your own; don't write it as text.`
}

export function isQuotedText(text: string): boolean {
  return text.includes(onlyQuoted)
}

export const callNothingNowText = 'Not run: no tool may be called now. Answer with what you know.'

export function onlyCallableText(tool: string): string {
  return `Not run: only \`${tool}\` may be called now.`
}

export function callLimitText(limit: number): string {
  return `Not run: the limit of ${limit} tool calls is reached.`
}

export const noMoreCallsText = 'Not run: the run may call no more tools.'

export function refusedText(tool: string, reason?: string): string {
  return `The call to \`${tool}\` was refused${reason === undefined ? '.' : `: ${reason}`}`
}

/** Reads the reason of a refusal from the result of a call. Undefined if the result was not written by `refusedText`. */
export function refusalIn(tool: string, text: string): { reason?: string } | undefined {
  if (text === refusedText(tool)) return {}
  const before = refusedText(tool, '')
  return text.startsWith(before) ? { reason: text.slice(before.length) } : undefined
}

/** The reason for refusing a call whose arguments kept changing during its approval. */
export const changedTooOften = 'its arguments were changed twice, and still need an approval'

export function refusedByText(tool: string, guardrail: string): string {
  return `The call to \`${tool}\` was refused by ${guardrail}`
}

export function unansweredText(tool: string, reason?: string): string {
  return `The question of \`${tool}\` was not answered${reason === undefined ? '.' : `: ${reason}`}`
}

export function waitsWithinText(agent: string): string {
  return `The agent \`${agent}\` waits for decisions.`
}

export const neverStartedText = 'Cancelled: the run ended before this call could run.'

/** Reasons to insert into the texts above. */
export const approvalFailed = 'the approval failed'
export const nobodyDecided = 'nobody decided in time'
export const shownAlready = 'it would change what was shown already'
export const checkFailed = 'the check itself failed'
export const endedBeforeCheck = 'the run ended before the check'

/** The result of a call during a preview, until the call is carried out. */
export function notedText(tool: string): string {
  return `Noted, not done: the call to \`${tool}\` will be carried out after the user has approved it. Continue with the rest of the task.`
}

export const answeredTooEarlyText =
  'Not accepted: this answer was given before the other calls were carried out. Answer again, using their results.'

// Texts for calls whose result needs an explanation.

export function notCompletedText(tool: string, problem: string): string {
  return `The call to \`${tool}\` was run, but could not be completed: ${problem}`
}

export const noResultText = 'No result was recorded for this call.'

export function uncertainText(tool: string): string {
  return `The run was interrupted while \`${tool}\` was running. Whether it took effect is not known.`
}

export function withheldResultText(guardrail: string): string {
  return `The result was withheld by ${guardrail}`
}

export function otherArgumentsNote(args: object): string {
  return `Note: the call was run with other arguments: ${JSON.stringify(args)}`
}

export const repeatNote =
  'Note: this same call has now been repeated several times in a row. Repeating it again ends the run. Use what you have, try something else, or answer.'

export function handedOffText(agent: string): string {
  return `The conversation is now with ${agent}.`
}

// Texts for results that are too long, and for parts of such results.

/** The note in a result that was shortened. It is at the end of the text, because a later shortening of the conversation keeps the end. */
export function keptAsideText({ id, shown, of }: { id: string; shown: number; of: number }): string {
  return `(… Shortened: these are the first ${shown} of ${of} characters. The whole result is kept: read_result reads it by its id ${JSON.stringify(id)} …)`
}

export function partText({ part, from, line, of, lines }: { part: string; from: number; line: number; of: number; lines: number }): string {
  if (from >= of) return `The result has ${of} characters in ${lines} lines: there is nothing from character ${from} on.`
  const end = from + part.length
  const more = end < of ? `(… ${of - end} more characters: continue with "offset": ${end} …)` : '(… the end of the result …)'
  return `Characters ${from} to ${end} of ${of}, from line ${line} of ${lines} on:\n\n${part}\n\n${more}`
}

/** The result of a search. */
export interface Found {
  wanted: string
  from: number
  count: number
  mostCounted: number
  /** The first matches, with the text around them. */
  shown: readonly string[]
  /** The position to continue from, if there are more matches than are shown. */
  next?: number
  of: number
}

export function foundText({ wanted, from, count, mostCounted, shown, next, of }: Found): string {
  const what = JSON.stringify(wanted)
  if (count === 0) return `Not found: ${what}, from character ${from} to the end at ${of}.`
  const times = count > mostCounted ? `more than ${mostCounted} times` : count === 1 ? 'once' : `${count} times`
  const more = next === undefined ? '' : `\n\n(… continue with "offset": ${next} …)`
  return `Found ${what} ${times} from character ${from} on:\n\n${shown.join('\n\n')}${more}`
}

export function goneResultText(id: string): string {
  return `No result is kept under the id ${JSON.stringify(id)}. A result is kept until its run ends: make the call again if it was another run's, or correct the id.`
}

// Texts for answers that are cut off or not accepted.

export const continueText =
  'Your answer was cut off at a token limit. Continue it exactly where it ends, in the middle of a word if need be. Repeat nothing, and write nothing else.'

export function cutAnswerText(agent: string, part: string): string {
  return `The answer of ${agent} was cut off at a token limit, and is not complete: ${part}`
}

export function withheldAnswerText(why: string): string {
  return `Your answer was withheld (${why}). Give another one.`
}

/** `tool`: the tool that gives the answer. Undefined if the model itself enforces the schema. */
export function unfitAnswerText(problem: string, tool: string | undefined): string {
  return problem + (tool === undefined ? ' Give it again, as JSON alone.' : ` Give it by calling \`${tool}\`.`)
}

export function unfitAnswerProblem(problems: string): string {
  return `The answer does not fit its schema: ${problems}.`
}

export const severalAnswersProblem = 'The text has several JSON values that could be the answer.'

/** The note that replaces a text that a guardrail has withheld from the conversation. */
export function withheldText(reason: string): string {
  return `[Withheld: ${reason}]`
}

export const answerGivenText = 'The answer was given.'

// Sentences for the system prompt of a model that writes its calls as text.

export const callNothingText = 'Call no tool now: answer with what you know.'
export const oneCallText = 'Write at most one call in an answer.'

export function mustCallText(tool?: string): string {
  if (tool === undefined) return 'You must call a tool now: do not answer without a call.'
  return `You must call the tool \`${tool}\` now: do not answer without that call.`
}

// The notice about messages that were left out of a long conversation.

export function leftOutText(count: number, summary: string | undefined): string {
  const what = `[${count} earlier ${count === 1 ? 'message was' : 'messages were'} left out to save space.`
  return summary === undefined ? `${what}]` : `${what} In short:]\n${summary}`
}

/** Parses the notice that `leftOutText` wrote. Undefined for any other text. */
export function readLeftOut(text: string): { count: number; summary?: string } | undefined {
  if (!text.startsWith('[')) return undefined
  const found = /^\[(\d+) earlier messages? (?:was|were) left out to save space\.(?:\]$| In short:\]\n([\s\S]*)$)/.exec(text)
  if (found === null) return undefined
  return { count: Number(found[1]), summary: found[2] }
}

export function shortenedText(leftOut: number): string {
  return `\n… [${leftOut} characters left out] …\n`
}
