import type { ToolDefinition } from '../../tools/tool.ts'
import { frame, type Phrase } from './phrase.ts'
import { excerpt, type Reading } from './plans.ts'

/** What the demo is, said wherever a user could take it for more. */
const whatItIs = "I am toolloop's built-in demo model: a set of rules, no language model, no key, no network."
const howToUpgrade =
  'For a real model, set OPENAI_API_KEY and use `--model openai/gpt-5.2`, or run a local one with Ollama and use `--model ollama/<name>`.'

/** Questions that can be answered wherever the tools are, whatever the folder holds. */
const examples: [tools: string[], example: string][] = [
  [['list_files'], 'How many files are here, and which is the longest?'],
  [['calculate'], 'What is 15% of 240?'],
  [['current_time'], 'What time is it in Tokyo?'],
  [['search_files'], 'Which files mention “TODO”?'],
  [['list_files', 'read_file'], 'Show the first 5 lines of the longest file.'],
  [['list_files', 'calculate'], 'Which is the largest file, and what is its size divided by 1024?'],
  [['fetch_url'], 'What is the title of https://example.com?'],
]

function examplesFor(tools: readonly ToolDefinition[]): { questions: string[]; calls: string[] } {
  const names = new Set(tools.map((tool) => tool.function.name))
  const questions = examples.filter(([needed]) => needed.every((name) => names.has(name))).map(([, example]) => example)
  const own = tools.filter((tool) => !examples.some(([needed]) => needed.includes(tool.function.name)))
  return { questions, calls: own.slice(0, 3).map(exampleCall) }
}

/** A call of a tool with its required arguments left open. */
function exampleCall({ function: { name, parameters } }: ToolDefinition): string {
  const required: unknown = parameters?.required
  const names = Array.isArray(required) ? required.filter((each) => typeof each === 'string') : []
  return names.length === 0 ? `call ${name}` : `call ${name} with ${names.map((each) => `${each}=…`).join(', ')}`
}

function help(tools: readonly ToolDefinition[]): string {
  const { questions, calls } = examplesFor(tools)
  const all = [...questions, ...calls]
  const intro =
    all.length === 0
      ? 'I answer by calling tools, and none are offered to me here.'
      : 'With the tools offered here I understand, for example:'
  const names = tools.slice(0, 20).map((tool) => tool.function.name)
  const told = tools.length === 0 ? [] : [`The tools here: ${names.join(', ')}${tools.length > 20 ? ' …' : ''}.`]
  return [whatItIs, intro, ...all.map((example) => `- ${example}`), ...told, howToUpgrade].join('\n')
}

/** That a request can't be answered, and what can: three lines. */
export function cannotAnswer(request: string, reason: string, tools: readonly ToolDefinition[]): string {
  const { questions, calls } = examplesFor(tools)
  const shown = [...questions.slice(0, 3), ...calls.slice(0, 1)]
  const why = reason !== '' ? ` ${reason}` : foreignWords.test(request) ? ' I understand English only.' : ''
  const quoted = excerpt(request, 80)
  return [
    `${quoted === '' || quoted === '?' ? 'I find no question in that.' : `I can't answer “${quoted.replace(/[.?!]+$/, '')}”.`}${why} ${whatItIs}`,
    ...(shown.length === 0 ? [] : [`What works here: ${shown.join(' · ')}`]),
    howToUpgrade,
  ].join('\n')
}

/** Words that questions in other languages are made of and English ones aren't. */
const foreignWords =
  /(?<![\p{L}])(wie|wieviele|viele|ist|der|das|und|ich|nicht|kannst|gibt|welche[rs]?|zeige?|mir|bitte|datei(en)?|spät|hallo|combien|quelle?s?|est|les|dans|fichiers?|bonjour|peux|heure|cuántos|qué|hola|archivos|cuál|quanti|quale|ciao|quantos|olá)(?![\p{L}])|[\u0400-\u04ff\u0590-\u06ff\u3040-\u30ff\u4e00-\u9fff\uac00-\ud7af]/iu

/** What is said to what; the first two need no reply beside an answer. */
const topics: [patterns: string[], reply: (tools: readonly ToolDefinition[]) => string, isSmalltalk?: true][] = [
  [
    [
      '(?:hi|hello|hey|good (?:morning|afternoon|evening|day)|greetings|howdy|yo|test|ping|hello world)(?: you| everyone)?',
      'how are you(?: doing)?(?: today)?|how is it going|what is up',
    ],
    (tools) => `Hello! ${help(tools)}`,
    true,
  ],
  [
    [
      '(?:ok |great |cool |perfect )?(?:thanks?|thank you|thx|ty|great|perfect|cool|nice|awesome|good|ok|okay|got it|good job|bye|goodbye)(?: (?:you|so much|very much|lot|again|bye))*',
    ],
    () => 'You are welcome.',
    true,
  ],
  [['(?:tell|show|give|print)(?: what)? (?:result|output|answer|it says|it returns)'], () => 'There is no result yet.', true],
  [
    [
      '(?:who|what) are you|what is your name|who is this|(?:which|what)(?: ai| language)? model (?:are you|is this|do you use)|introduce yourself|tell about yourself|who (?:made|built|created) you|how do you work',
      'are you (?:real |ai )?(?:ai|bot|human|robot|llm|language model|model|chatgpt|gpt|gpt-4|claude|gemini|person|assistant|real)',
      'help(?: please)?|(?:i need |can you |could you )?help|-- ?help|what can (?:you do|i do|i ask|i ask you|i do with you|this do|it do)(?: for)?|what do you (?:do|know|understand)|what are you able to do|what else can you do|how can you help|what can you help(?: with)?|is this (?:real )?(?:ai|llm|chatgpt)|what (?:should|questions can) i ask|how do i use (?:you|this|it)|usage|commands',
      '(?:(?:what|which) (?:tools|skills|functions|commands)(?: (?:do you have|can you use|are available|are|can you call|you have|have you))?|(?:list|show)(?: your| available)? (?:tools|commands|functions)|what are your (?:tools|capabilities)|tools|(?:give |show )?(?:some )?examples?)',
    ],
    help,
  ],
  [
    [
      'how (?:do|can|to) ?(?:i |we )?(?:use|get|set up|configure|switch to|connect|choose|change|set|add) (?:real |another |other |different |better |my own |my |model |local )*(?:model|llm|ai|openai|gpt|gpt-4|chatgpt|claude|anthropic|gemini|ollama|api key|key|models|provider)',
      'can i use (?:real |another |different |my own )?(?:model|openai|gpt|gpt-4|claude|ollama|gemini|chatgpt)',
    ],
    () => `${howToUpgrade} \`toolloop doctor\` shows what is set up.`,
  ],
  [['what (?:is|does) toolloop(?: do)?|tell about toolloop'], () => `toolloop is a TypeScript runtime for tool-using agents. ${whatItIs}`],
]
const replies = topics.map(([patterns, reply, isSmalltalk]) => ({ pattern: frame(patterns.join('|')), reply, isSmalltalk }))

/** A greeting, a thank-you, or a question about the demo itself. */
export function readTalk(phrase: Phrase, tools: readonly ToolDefinition[]): Reading | undefined {
  const topic = replies.find(({ pattern }) => pattern.test(phrase.text))
  return topic && { plan: () => ({ text: topic.reply(tools) }), ...(topic.isSmalltalk ? { isSmalltalk: true } : {}) }
}
