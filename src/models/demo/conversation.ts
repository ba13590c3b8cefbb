import type { ChatMessage } from '../../core/messages.ts'
import type { ToolDefinition } from '../../tools/tool.ts'
import { arithmeticReader } from './arithmetic.ts'
import { readClock } from './clock.ts'
import { readDocument } from './document.ts'
import { readFiles } from './files.ts'
import { makeCall, readNamedCall } from './named-calls.ts'
import { readPackageFacts } from './package-facts.ts'
import { correctTypos, isSeparator, Phrase, type Token, tokenize } from './phrase.ts'
import { Desk, firstOf, type Reading, readTurns, type Told, type WantedCall } from './plans.ts'
import { readSearch } from './search.ts'
import { cannotAnswer, readTalk } from './talk.ts'

/** Longer texts are no questions, nor clauses with more words; only a tool may be given one. */
const maxLength = 2_000
const maxTokens = 120
/** A follow-up reaches back this many messages. */
const maxTurns = 12

/** The calls that are still needed to answer the last user message, or the answer. */
export function nextStep(messages: readonly ChatMessage[], tools: readonly ToolDefinition[]): { calls: WantedCall[]; text: string } {
  const turns = readTurns(messages).slice(-maxTurns)
  const last = turns.pop()
  if (last === undefined) return { calls: [], text: cannotAnswer('', '', tools) }
  let before: Reading | undefined
  const told: Told[] = []
  for (const { request, results } of turns) {
    const { readings } = readRequest(request, before, tools)
    if (readings === undefined) continue
    // Earlier calls are not made again: what has no result is not told.
    const desk = new Desk(results, [], told)
    told.push(...readings.flatMap(({ plan }) => desk.carryOut(plan) ?? []))
    before = subjectOf(readings) ?? before
  }
  const { readings, unread, notes } = readRequest(last.request, before, tools)
  if (readings === undefined) return { calls: [], text: cannotAnswer(unread, '', tools) }
  const names = tools.map((tool) => tool.function.name)
  const desk = new Desk(last.results, names, told)
  const answers = readings.map(({ plan }) => desk.carryOut(plan))
  if (desk.refusal !== undefined) return { calls: [], text: cannotAnswer(last.request, desk.refusal, tools) }
  return desk.wanted.length > 0 ? { calls: desk.wanted, text: '' } : { calls: [], text: compose(readings, answers, notes) }
}

function subjectOf(readings: readonly Reading[]): Reading | undefined {
  return readings.findLast(({ isSmalltalk }) => !isSmalltalk)
}

/** All sentences, each once; greetings need no reply beside an answer. */
function compose(readings: readonly Reading[], answers: readonly (Told | undefined)[], notes: readonly string[]): string {
  const hasSubject = subjectOf(readings) !== undefined
  const texts = answers.flatMap((told, index) => (hasSubject && readings[index]?.isSmalltalk ? [] : [told?.text ?? '']))
  const all = [...new Set(texts), ...(notes.length === 0 ? [] : [`(I read ${notes.join(' and ')}.)`])]
  return all.join(all.some((text) => text.includes('\n')) ? '\n\n' : ' ')
}

/** The readings of all clauses of a request, or the part of it that was not understood, and what was read as what. */
function readRequest(request: string, before: Reading | undefined, tools: readonly ToolDefinition[]) {
  const text = request.trim()
  const whole = text.length > maxLength ? readNamedCall(text, 0, tools) : undefined
  if (whole?.end === text.length) return { readings: [{ plan: makeCall(whole) }], unread: '', notes: [] }
  const tokens = tokenize(text.length > maxLength ? '' : text, (at) => readNamedCall(text, at, tools)?.end)
  const { readings, furthest } = readClauses(tokens, before, tools)
  const { tokens: corrected, notes } = correctTypos(tokens)
  if (readings !== undefined || notes.length === 0) return { readings, unread: text.slice(furthest), notes: [] }
  return { readings: readClauses(corrected, before, tools).readings, unread: text.slice(furthest), notes }
}

const measuring = [readDocument, readPackageFacts, readSearch, readFiles]
const readAny = firstOf([readClock, ...measuring, arithmeticReader(firstOf(measuring))])

const politeness =
  /^(?:(?:can|could|would|will) (?:you|i|we)(?: (?:see|get|have))?|(?:i|i would|i d) (?:want|need|like|love)(?: you)?(?: to)?(?: (?:know|see|find out|get))?|do you know|do you happen to know|tell|let know|let see|say|find out|check|i wonder|so|ok|okay|well|hey|hi|hello|and|then|but|or|also|try to) (?=.)/
const continuation = /^(?:and|then|but|or|also|what about|how about|what of|or) /

/** Reads clause by clause: every word has to belong to one. `furthest` is where the last one begins that was tried. */
function readClauses(tokens: readonly Token[], before: Reading | undefined, tools: readonly ToolDefinition[]) {
  /** Where no clause can begin: it was tried. */
  const hopeless = new Set<number>()
  let furthest = 0
  const readFrom = (from: number, earlier: Reading | undefined, isLater: boolean): Reading[] | undefined => {
    const start = tokens.findIndex((token, index) => index >= from && !isSeparator(token))
    if (start === -1) return isLater ? [] : undefined
    furthest = Math.max(furthest, tokens[start]?.start ?? 0)
    for (const end of hopeless.has(start) ? [] : clauseEnds(tokens, start)) {
      const reading = readClause(new Phrase(tokens.slice(start, end)), earlier, isLater || start > 0, tools)
      // “Those” are the files spoken of last, whatever was asked in between.
      const next = reading && (earlier?.set === undefined ? reading : { set: earlier.set, ...reading })
      const rest = next && readFrom(end, next.isSmalltalk ? earlier : next, true)
      if (next !== undefined && rest !== undefined) return [next, ...rest]
    }
    hopeless.add(start)
    return undefined
  }
  return { readings: readFrom(0, before, false), furthest }
}

/** Where a clause may end, the furthest first; a full stop always ends it. */
function clauseEnds(tokens: readonly Token[], start: number): number[] {
  const stop = tokens.findIndex(({ form }, index) => index > start && form === '.')
  const end = stop === -1 ? tokens.length : stop
  const inside = tokens.flatMap((token, index) => (index > start && index < end && isSeparator(token) ? [index] : []))
  return [end, ...inside.reverse()].slice(-12)
}

function readClause(phrase: Phrase, before: Reading | undefined, isLater: boolean, tools: readonly ToolDefinition[]): Reading | undefined {
  const call = phrase.text === '<call>' ? readNamedCall(phrase.raw, 0, tools) : undefined
  if (call !== undefined) return { plan: makeCall(call) }
  if (phrase.tokens.length > maxTokens) return undefined
  const lead = continuation.exec(phrase.text)?.[0]
  const again = isLater || lead !== undefined ? before?.again?.(withoutLead(phrase, lead)) : undefined
  if (again !== undefined) return again
  for (let asked = phrase, polite: string | undefined; ; asked = withoutLead(asked, polite)) {
    const reading = readTalk(asked, tools) ?? readAny(asked, before)
    if (reading !== undefined) return reading
    polite = politeness.exec(asked.text)?.[0]
    if (polite === undefined) return before?.again?.(asked)
  }
}

function withoutLead(phrase: Phrase, lead: string | undefined): Phrase {
  return lead === undefined ? phrase : phrase.slice(lead.trim().split(' ').length)
}
