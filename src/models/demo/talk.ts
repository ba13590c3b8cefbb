import { isJsonObject } from '../../core/messages.ts'
import type { ToolDefinition } from '../../tools/tool.ts'
import { excerpt, type Reading } from './reading.ts'

const whatItIs = "I am toolloop's built-in demo model: a set of rules, no language model, no key, no network."
const realModels = 'For a real model, set OPENAI_API_KEY and use `--model openai/gpt-6.1-sol`, or run Ollama and use `--model ollama/NAME`.'
const noTools = 'I answer by calling tools, and none are offered to me here.'

/** For each tool, a request that works with it, and related words. */
const menu: [tool: string, example: string, words: string][] = [
  ['list_files', 'How many files are here, and which is the longest?', 'folder count directory list project code size lines largest tests'],
  ['calculate', 'What is 15% of 240?', 'calculate plus minus percent math equation convert much prime average'],
  ['current_time', 'What time is it in Tokyo?', 'date day days today tomorrow clock hour week month year when'],
  ['search_files', 'Which files mention “TODO”?', 'search find grep where contain function class defined word text bug bugs errors'],
  ['read_file', 'Show the first 5 lines of README.md', 'read open content summarize explain document'],
  ['list_files', 'Which is the newest file?', 'newest oldest changed modified recent latest commit'],
  ['fetch_url', 'call fetch_url with url=https://example.com', 'web page website internet online google download'],
]

/** Returns requests that work with these tools, and related words. For a tool outside the menu: a call with sample arguments. */
export function examplesFor(tools: readonly ToolDefinition[]): { text: string; words: string }[] {
  const known = menu.filter(([tool]) => tools.some(({ function: { name } }) => name === tool))
  const others = tools.filter(({ function: { name } }) => !menu.some(([tool]) => tool === name)).slice(0, 50)
  const calls = others.map(({ function: { name, description = '', parameters } }) => {
    const { properties, required } = parameters ?? {}
    const schemas = isJsonObject(properties) ? properties : {}
    const needed = Array.isArray(required) ? required.map((each) => `${String(each)}=${sampleOf(schemas[String(each)])}`).join(', ') : ''
    return { text: `call ${name}${needed && ` with ${needed}`}`, words: `${name} ${description.slice(0, 500)}` }
  })
  return [...known.map(([, text, words]) => ({ text, words: `${words} ${text}` })), ...calls]
}

/** Returns a value that fits the schema of an argument. If the schema suggests no value, returns a placeholder. */
function sampleOf(schema: unknown): string {
  const { type, format, minimum, examples, enum: choices, default: otherwise } = isJsonObject(schema) ? schema : {}
  const suggested = otherwise ?? [examples, choices].find(Array.isArray)?.[0]
  if (['string', 'number', 'boolean'].includes(typeof suggested)) return JSON.stringify(suggested)
  if (type === 'integer' || type === 'number') return String(typeof minimum === 'number' ? Math.ceil(minimum) : 1)
  if (type === 'boolean') return 'true'
  return format === 'date' ? '2030-12-31' : '…'
}

function help(tools: readonly ToolDefinition[]): string {
  const examples = Array.from(examplesFor(tools).slice(0, 8), ({ text }) => `- ${text}`)
  const names = tools.slice(0, 20).map((tool) => `\`${tool.function.name}\``)
  const calls = `I call any tool by its name: ${names.join(', ')}${tools.length > names.length ? ' …' : ''}.`
  return [whatItIs, ...(tools.length === 0 ? [noTools] : ['This works here:', ...examples, calls]), realModels].join('\n')
}

/** Returns the stems of the words that matter, so that `files` is related to `file`, and `days_until` to `until`. */
function stemsOf(text: string): Set<string> {
  const start = text.slice(0, 1_000).toLowerCase().replace(/\d+/g, ' number ')
  return new Set(start.match(/(?<![\p{L}\d])(?!what|which|with|this|that|call|from|have|how|many|the|are|you|can|and|for)[\p{L}\d]{3,4}/gu))
}

/** Returns the example that shares the most words with a request. */
function nearest(request: string, tools: readonly ToolDefinition[]): string | undefined {
  const asked = stemsOf(request)
  const all = examplesFor(tools).map(({ text, words }) => ({ text, score: [...stemsOf(words)].filter((stem) => asked.has(stem)).length }))
  return all.toSorted((a, b) => b.score - a.score)[0]?.text
}

/** Letters and words of languages other than English. */
const foreign =
  /(?<!\p{L})(?:wie|viele|ist|und|ich|nicht|zeige?|bitte|dateien|hallo|combien|les|fichiers|bonjour|cuántos|qué|hola|archivos|quanti|ciao)(?!\p{L})|[\u0400-\u04ff\u0590-\u06ff\u0900-\u097f\u3040-\u30ff\u4e00-\u9fff\uac00-\ud7af]/iu

/** Says in one line that a request can't be answered, and suggests a similar request. */
export function refuse(request: string, tools: readonly ToolDefinition[], reason?: string): string {
  // Characters of markup are removed, because quoted markup could be read as a call.
  const quoted = excerpt(request, 80)
    .replace(/[<>{}[\]|`]+/g, ' ')
    .replace(/[.?!\s]+$/, '')
  const said = quoted === '' ? 'I find no request in that' : `I can't answer “${quoted}”`
  const what = foreign.test(request.slice(0, 1_000)) ? 'I understand English only' : 'I am a demo made of rules, no language model'
  const near = nearest(request, tools)
  const can = near === undefined ? noTools : `The nearest I can do is “${near}”; “help” lists the rest.`
  return `${said}: ${reason ?? what}. ${can}`
}

const greeting =
  /^(?:(?:hi|hello|hey|good (?:morning|afternoon|evening)|yo|test|ping)(?: there| you| world)?|how are you(?: today)?|what is up)$/i
const thanks = /^(?:(?:ok|okay|great|cool|nice|good|yes|no|bye|thanks?|thank you|thx)(?: (?:so much|very much|a lot|again))?(?: |$))+$/i
const aboutIt =
  /^(?:(?:who|what) are you|what is your name|(?:which|what) model (?:are you|is this)|(?:are you|is this) (?:a |an )?(?:real )?(?:ai|bot|human|robot|llm|language model|model|chatgpt|gpt|claude|person)|(?:i need )?help(?: me)?|what can (?:you do|i do|i ask)(?: here)?|(?:what|which) tools(?: do you have| are there)?|(?:list|show)(?: the| your| me)* tools|tools|examples|what is toolloop|how (?:do|can) i (?:use|get|set up|connect|add) .{0,30}(?:model|key|openai|gpt|claude|gemini|ollama))$/i

/** Reads greetings, thanks, and questions about the demo itself. */
export function readTalk(clause: string): Reading | undefined {
  if (greeting.test(clause)) return { says: (tools) => `Hello! ${help(tools)}`, isGreeting: true }
  if (thanks.test(clause)) return { says: () => 'At your service; “help” lists what I can do.', isGreeting: true }
  return aboutIt.test(clause) ? { says: help } : undefined
}
