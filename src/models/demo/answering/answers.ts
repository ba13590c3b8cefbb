import { isJsonObject } from '../../../messages.ts'
import type { ToolDefinition } from '../../../tools/tool.ts'
import type { ClockAspect, Question } from '../intents.ts'
import { howToUpgrade, whatItCan, whatItIs } from './about.ts'
import { answerExists, answerList, answerModified, answerRank } from './answer-files.ts'
import { answerCheck, answerCompare, answerNumber } from './answer-numbers.ts'
import { answerPage, answerRead, answerSearch } from './answer-texts.ts'
import type { Cabinet } from './cabinet.ts'
import { excerpt } from './desk.ts'
import { andThen, failed, knownAs, type Outcome } from './outcome.ts'

/** The answer to one question. `none` says in `lacks` what there is therefore not: `no longest one`. */
export type Answer = Outcome<string> & { lacks?: string }

/** Answers one question, or asks for what it takes. `earlier`: the questions answered before it in the same text. */
export function answerQuestion(
  question: Question,
  cabinet: Cabinet,
  earlier: readonly Question[],
  tools: readonly ToolDefinition[],
): Answer {
  switch (question.ask) {
    case 'number':
      return answerNumber(question.quantity, cabinet, earlier)
    case 'check':
      return answerCheck(question, cabinet)
    case 'compare':
      return answerCompare(question, cabinet)
    case 'exists':
      return answerExists(question.set, cabinet)
    case 'rank':
      return answerRank(question.set, cabinet, earlier)
    case 'list':
      return answerList(question, cabinet)
    case 'modified':
      return answerModified(question.file, cabinet)
    case 'search':
      return answerSearch(question, cabinet)
    case 'read':
      return answerRead(question, cabinet)
    case 'page':
      return answerPage(question, cabinet)
    case 'clock':
      return answerClock(question, cabinet)
    case 'call':
      return answerCall(question.call, cabinet)
    case 'talk':
      return knownAs(answerTalk(question.topic, tools))
    case 'unknown':
      // Collected at the end of the text: see `composeAnswer`.
      return knownAs('')
  }
}

function answerClock({ zone, place, aspects }: Extract<Question, { ask: 'clock' }>, cabinet: Cabinet): Answer {
  if (place !== undefined && zone === undefined) {
    return failed(`I don't know the time zone of ${place}. Please name it as in the IANA list, such as Europe/Berlin.`)
  }
  const turn = cabinet.turn
  return andThen(
    cabinet.desk.askForObject(turn, 'current_time', zone === undefined ? {} : { timeZone: zone }),
    ({ date, time, weekday, timeZone, utcOffset }) => {
      if (typeof date !== 'string' || typeof time !== 'string') return failed('`current_time` answered without a date and a time.')
      const say: Record<ClockAspect, string> = {
        time: time.slice(0, 5),
        weekday: typeof weekday === 'string' ? weekday : '',
        date,
        year: date.slice(0, 4),
        month: monthOf(date),
      }
      const ordered = (['time', 'weekday', 'date', 'month', 'year'] as const).filter((aspect) => aspects.includes(aspect))
      const zoneNote =
        aspects.includes('time') && typeof timeZone === 'string'
          ? ` (${timeZone}${typeof utcOffset === 'string' ? `, UTC${utcOffset}` : ''})`
          : ''
      return knownAs(
        `${place === undefined ? 'It is' : `In ${place} it is`} ${ordered.map((aspect) => say[aspect]).join(', ')}${zoneNote}.`,
      )
    },
  )
}

function monthOf(date: string): string {
  const at = new Date(`${date}T00:00:00Z`)
  return Number.isNaN(at.getTime()) ? date.slice(5, 7) : at.toLocaleString('en-US', { month: 'long', timeZone: 'UTC' })
}

const mostShown = 2_000

/** What a tool of the user said, as it is; a flat object in words. */
function answerCall({ turn, tool, args }: Extract<Question, { ask: 'call' }>['call'], cabinet: Cabinet): Answer {
  return andThen(cabinet.desk.ask(turn, tool, args), ({ text, value }) => {
    const named = `${tool}(${Object.entries(args)
      .map(([key, item]) => `${key}: ${JSON.stringify(item)}`)
      .join(', ')})`
    if (isJsonObject(value) && Object.values(value).every((item) => typeof item !== 'object' || item === null)) {
      return knownAs(
        `${named} → ${
          Object.entries(value)
            .map(([key, item]) => `${key}: ${String(item)}`)
            .join(', ') || '{}'
        }.`,
      )
    }
    const shown = text.length > mostShown ? `${text.slice(0, mostShown).toWellFormed()}…` : text
    return knownAs(shown.includes('\n') ? `${named} →\n${shown}` : `${named} → ${shown === '' ? '(nothing)' : shown}`)
  })
}

function answerTalk(topic: Extract<Question, { ask: 'talk' }>['topic'], tools: readonly ToolDefinition[]): string {
  switch (topic) {
    case 'hello':
      return `Hello! ${whatItIs}\n\n${whatItCan(tools)}\n\n${howToUpgrade}`
    case 'thanks':
      return 'You are welcome.'
    case 'who':
      return `${whatItIs} ${howToUpgrade}`
    case 'what':
      return `${whatItIs}\n\n${whatItCan(tools)}\n\n${howToUpgrade}`
  }
}

/** The whole text: what is known, what is not there, what failed, and what was not understood, each once. */
export function composeAnswer(questions: readonly Question[], answers: readonly Answer[], tools: readonly ToolDefinition[]): string {
  const parts: { fact?: string; lacks: string[]; text: string }[] = []
  const say = (text: string) => {
    if (text !== '' && !parts.some((part) => part.text === text)) parts.push({ text, lacks: [] })
  }
  for (const answer of answers) {
    if (answer.is === 'known') say(answer.value)
    if (answer.is === 'failed') say(answer.why)
    if (answer.is !== 'none') continue
    // `There are no Python files under src, so there is no longest one and nothing to calculate with.`
    const before = parts.find(({ fact, text }) => fact === answer.fact || text === `${answer.fact}.`)
    const lacks = answer.lacks === undefined ? [] : [answer.lacks]
    if (before === undefined) parts.push({ fact: answer.fact, lacks, text: '' })
    else {
      before.fact = answer.fact
      before.lacks.push(...lacks.filter((lack) => !before.lacks.includes(lack)))
    }
  }
  const texts = parts.map(({ fact, lacks, text }) =>
    fact === undefined ? text : lacks.length === 0 ? `${fact}.` : `${fact}, so there is ${joinWords(lacks)}.`,
  )
  const answer = join([...texts, ...apologies(questions, texts.length > 0, tools)])
  return answer === '' ? [`I find no question in that. ${whatItIs}`, whatItCan(tools), howToUpgrade].join('\n\n') : answer
}

/** `a, b and c`. */
export function joinWords(words: readonly string[]): string {
  return words.length < 2 ? (words[0] ?? '') : `${words.slice(0, -1).join(', ')} and ${words.at(-1)}`
}

/** Sentences go on in a line; blocks of several lines stand apart. */
function join(texts: readonly string[]): string {
  return texts.reduce(
    (all, text) =>
      all === '' ? text : `${all}${all.includes('\n', all.lastIndexOf('\n\n') + 2) || text.includes('\n') ? '\n\n' : ' '}${text}`,
    '',
  )
}

/** What was not understood, at the end of the text. */
function apologies(questions: readonly Question[], isPartial: boolean, tools: readonly ToolDefinition[]): string[] {
  const unknown = questions.filter((question) => question.ask === 'unknown')
  const minor = unknown.filter(({ why }) => why?.startsWith('I left out')).map(({ why }) => `${why ?? ''}, which I don't understand.`)
  const major = unknown.filter(({ why }) => !why?.startsWith('I left out'))
  if (major.length === 0) return minor
  const told = major.map(
    ({ text, why }) =>
      `${isPartial ? 'I could not answer' : "I can't answer"} “${excerpt(text, 160)}”${why === undefined ? '' : `: ${why}`}.`,
  )
  if (isPartial) return [...minor, `${told.join(' ')} ${whatItIs} ${howToUpgrade}`]
  return [[`${told.join(' ')} ${whatItIs}`, whatItCan(tools), howToUpgrade].join('\n\n')]
}
