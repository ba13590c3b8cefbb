import { type ChatMessage, textOf } from '../../../messages.ts'
import type { ToolDefinition } from '../../../tools/tool.ts'
import type { Question } from '../intents.ts'
import { type ClauseContext, readClause } from './clause.ts'
import { splitSentence, splitSentences } from './clauses.ts'
import { type Discourse, noteQuestion, startDiscourse } from './discourse.ts'
import { isGreeting, readSmalltalk } from './smalltalk.ts'
import { type Token, tokenise } from './tokens.ts'
import { type NamedCall, readNamedCalls } from './tool-requests.ts'
import { isEmptyWord, wordSet } from './words.ts'

/** What one user message asks, in order. */
export interface Request {
  turn: number
  questions: Question[]
}

/** How far back a request may refer; reading a whole long conversation again at every step would make it slower and slower. */
const mostTurns = 12
const mostCharacters = 8_000
/** A clause longer than this is prose, not a request; reading it would take long and lead nowhere. */
const mostTokens = 160

/** Reads every user message of a conversation; each may refer to what those before it spoke of. */
export function readRequests(messages: readonly ChatMessage[], tools: readonly ToolDefinition[]): Request[] {
  const discourse = startDiscourse()
  const given = messages.filter((message) => message.role === 'user')
  return given.map(({ content }, turn) => {
    discourse.turn = turn
    const questions = given.length - turn > mostTurns ? [] : readText(textOf(content), tools, discourse)
    return { turn, questions }
  })
}

/** The questions of one message: calls by name where they stand, the prose around them sentence by sentence. */
function readText(given: string, tools: readonly ToolDefinition[], discourse: Discourse): Question[] {
  const text = given.replace(/\r\n?/g, '\n')
  if (text.length > mostCharacters)
    return [{ ask: 'unknown', text: `${text.slice(0, 80)}…`, why: `it is longer than ${mostCharacters} characters` }]
  const talk = readSmalltalk(tokenise(text))
  if (talk !== undefined) return [talk]
  const questions: Question[] = []
  const calls = readNamedCalls(text, tools)
  let at = 0
  for (const call of calls) {
    readProse(text.slice(at, call.start), discourse, questions, true)
    add(askOfCall(call, discourse, text), discourse, questions)
    at = call.end
  }
  readProse(text.slice(at), discourse, questions, calls.length > 0)
  return questions
}

function add(question: Question, discourse: Discourse, questions: Question[]): void {
  questions.push(question)
  noteQuestion(discourse, question)
}

function askOfCall({ tool, args, problem, start, end }: NamedCall, discourse: Discourse, text: string): Question {
  if (problem !== undefined) return { ask: 'unknown', text: text.slice(start, end), why: problem }
  return { ask: 'call', call: { turn: discourse.turn, tool, args } }
}

/** `and tell me the result`, beside a call: the result is told anyway. */
const tellsResult = wordSet(`
  report tell show give say what is me us the its it their result results answer answers output outputs back with and
  then return returns says please to i want know you get got do does first finally also now can could ,`)

/** Reads sentence by sentence, clause by clause, and adds what they ask. */
function readProse(text: string, discourse: Discourse, questions: Question[], besideCall: boolean): void {
  for (const sentence of splitSentences(tokenise(text))) {
    discourse.sentenceHasSet = false
    delete discourse.topic
    const clauses = splitSentence(sentence).filter(
      (tokens) => !isGreeting(tokens) && !(besideCall && tokens.every(({ word }) => tellsResult.has(word))),
    )
    for (const [index, tokens] of clauses.entries()) {
      const following = clauses.slice(index + 1)
      const shown = text.slice(tokens[0]?.start, tokens.at(-1)?.end).trim()
      const hasCompany = questions.length + following.length > 0
      for (const question of readOne(tokens, discourse, { shown, following })) {
        if (question.ask !== 'unknown' || !hasCompany || !saysNothing(tokens)) add(question, discourse, questions)
      }
    }
  }
}

function readOne(tokens: readonly Token[], discourse: Discourse, context: ClauseContext): Question[] {
  if (tokens.length <= mostTokens) return readClause(tokens, discourse, context)
  return [{ ask: 'unknown', text: `${context.shown.slice(0, 80)}…`, why: `a sentence of it has more than ${mostTokens} words` }]
}

/** `I need three things:` and `what do I get?`, beside what does ask for something. */
function saysNothing(tokens: readonly Token[]): boolean {
  return tokens.every(({ kind, word }) => kind === 'comma' || kind === 'number' || isEmptyWord(word))
}
