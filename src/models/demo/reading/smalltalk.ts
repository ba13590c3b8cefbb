import type { Question } from '../intents.ts'
import type { Token } from './tokens.ts'
import { wordSet } from './words.ts'

type Topic = Extract<Question, { ask: 'talk' }>['topic']

const topics: [Topic, RegExp][] = [
  [
    'what',
    /^(please )?(help|help me|what can you do( for me)?|what do you do|what can i ask( you)?|how do you work|how does this work|what are you able to do|what (tools|skills|abilities) do you have|which tools (do|can) you (have|use)|what are your (capabilities|tools|abilities)|examples?|show me (some )?examples?|what else can you do|how can you help( me)?|what is this)$/,
  ],
  [
    'who',
    /^(who are you|what are you|what is your name|who is this|which model (are you|is this)|what model (are you|is this)|are you (a |an )?(real )?(ai|bot|human|robot|llm|language model|chatgpt|gpt|claude|demo|model|person)|introduce yourself|tell me about yourself|who made you|who am i talking to)$/,
  ],
  [
    'thanks',
    /^(thanks?( you)?( (so|very) much| a lot)?|thx|ty|many thanks|great|perfect|cool|nice|awesome|good|ok|okay|got it|well done|good job|great job|bye|goodbye|see you|ciao|danke|谢谢)$/,
  ],
  [
    'hello',
    /^(hi|hello|hey|hi there|hello there|hey there|good (morning|afternoon|evening|day)|greetings|howdy|yo|hallo|guten tag|moin|servus|你好|how are you( doing)?( today)?|test|ping)$/,
  ],
]

/** A greeting, a thank-you, or a question about the demo itself, standing alone. */
export function readSmalltalk(tokens: readonly Token[]): Question | undefined {
  const text = tokens
    .filter(({ kind }) => kind === 'word')
    .map(({ word }) => word)
    .join(' ')
  const topic = topics.find(([, wanted]) => wanted.test(text))?.[0]
  return topic && { ask: 'talk', topic }
}

const greeting = wordSet(`
  hi hello hey thanks thank you there great ok okay perfect cool nice good morning afternoon evening please well so now
  alright yes no sure`)

/** A greeting in front of a question: it needs no answer of its own. */
export function isGreeting(tokens: readonly Token[]): boolean {
  return tokens.every(({ kind, word }) => kind === 'comma' || (kind === 'word' && greeting.has(word)))
}
