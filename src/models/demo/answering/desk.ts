import { type ChatMessage, hasToolCalls, isJsonObject, isToolResult, type Json, type JsonObject, textOf } from '../../../messages.ts'
import { failed, knownAs, type Outcome, pending } from './outcome.ts'

/** A call the demo wants to make. */
export interface WantedCall {
  tool: string
  args: JsonObject
}

/** What a tool said: its text, and the value when the text is JSON. */
export interface Said {
  text: string
  value: Json | undefined
  /** The loop has cut the text; of `value` the end is missing. */
  cut: boolean
}

type Fact = Outcome<Said>

/**
 * Where questions get what they need: results that are in the conversation, and a list of the calls to be made for those that are not.
 * A call is known again by its tool and arguments, so nothing has to be remembered between two requests.
 */
export class Desk {
  readonly #facts: Map<string, Fact>[]
  readonly #offered: ReadonlySet<string>
  readonly #turn: number
  readonly wanted: WantedCall[] = []
  readonly #wantedKeys = new Set<string>()

  constructor(messages: readonly ChatMessage[], offered: ReadonlySet<string>) {
    this.#facts = readFacts(messages)
    this.#offered = offered
    this.#turn = this.#facts.length - 1
  }

  /** The result of a call: from the message (`turn`) that needed it first, else from this one. Asked for when it is in neither. */
  ask(turn: number, tool: string, args: JsonObject): Outcome<Said> {
    const key = keyOf(tool, args)
    const fact = this.#facts[turn]?.get(key) ?? this.#facts[this.#turn]?.get(key)
    if (fact !== undefined) return fact
    if (!this.#offered.has(tool)) return failed(`I would need the tool \`${tool}\` for that, and it is not offered to me here.`)
    if (!this.#wantedKeys.has(key)) this.wanted.push({ tool, args })
    this.#wantedKeys.add(key)
    return pending
  }

  /** The same for a tool that answers with a JSON object. */
  askForObject(turn: number, tool: string, args: JsonObject): Outcome<JsonObject & { cut?: boolean }> {
    const said = this.ask(turn, tool, args)
    if (said.is !== 'known') return said
    const { value, text, cut } = said.value
    if (!isJsonObject(value)) return failed(`\`${tool}\` answered with something I can't read: ${excerpt(text)}`)
    if (typeof value.error === 'string') return failed(`\`${tool}\` failed: ${sentence(value.error)}`)
    return knownAs(cut ? { ...value, truncated: true } : value)
  }
}

function keyOf(tool: string, args: Json): string {
  return `${tool} ${stableText(args)}`
}

/** JSON whose keys are in order: the same arguments give the same text, however they were written. */
function stableText(value: Json): string {
  if (Array.isArray(value)) return `[${value.map(stableText).join()}]`
  if (!isJsonObject(value)) return JSON.stringify(value)
  return `{${Object.keys(value)
    .sort()
    .map((key) => `${JSON.stringify(key)}:${stableText(value[key] ?? null)}`)
    .join()}}`
}

/** The results of each user message, by call. */
function readFacts(messages: readonly ChatMessage[]): Map<string, Fact>[] {
  const turns: Map<string, Fact>[] = []
  const open = new Map<string, { tool: string; key: string }>()
  for (const message of messages) {
    if (message.role === 'user') {
      turns.push(new Map())
      open.clear()
    } else if (hasToolCalls(message)) {
      for (const { id, function: called } of message.toolCalls) {
        open.set(id, { tool: called.name, key: keyOf(called.name, parse(called.arguments) ?? {}) })
      }
    } else if (isToolResult(message)) {
      const call = open.get(message.toolCallId)
      if (call !== undefined) turns.at(-1)?.set(call.key, readResult(call.tool, textOf(message.content), message.isError === true))
    }
  }
  return turns
}

function readResult(tool: string, text: string, isError: boolean): Fact {
  if (isError) return failed(`\`${tool}\` failed: ${sentence(text)}`)
  const value = parse(text)
  if (value !== undefined) return knownAs({ text, value, cut: false })
  const rest = repairCut(text)
  return knownAs({ text, value: rest, cut: rest !== undefined })
}

function parse(text: string): Json | undefined {
  try {
    const value: Json = JSON.parse(text)
    return value
  } catch {
    // Plain text is a result too; whoever needs JSON says so.
    return undefined
  }
}

const cutNote = /\n\n\(… \d+ of \d+ bytes cut here …\)\n\n/

/** The readable head of a JSON text that was cut in the middle: what is open is closed, what is incomplete is left out. */
function repairCut(text: string): Json | undefined {
  const cut = cutNote.exec(text)
  if (cut === null) return undefined
  const head = text.slice(0, cut.index)
  const closers: string[] = []
  let inText = false
  let safe = { end: 0, closers: '' }
  for (let at = 0; at < head.length; at++) {
    const char = head.charAt(at)
    if (inText) {
      if (char === '\\') at++
      else if (char === '"') inText = false
    } else if (char === '"') inText = true
    else if (char === '{' || char === '[') closers.unshift(char === '{' ? '}' : ']')
    else if (char === '}' || char === ']') closers.shift()
    if (!inText && (char === ',' || char === '}' || char === ']')) safe = { end: char === ',' ? at : at + 1, closers: closers.join('') }
  }
  const whole = inText ? `${head.replace(/\\u?[\da-f]{0,3}$/i, '')}"${closers.join('')}` : undefined
  return (whole === undefined ? undefined : parse(whole)) ?? parse(head.slice(0, safe.end) + safe.closers)
}

/** A piece of any text, on one line. */
export function excerpt(text: string, most = 200): string {
  const line = text.replace(/\s+/g, ' ').trim()
  return line === '' ? '(nothing)' : line.length > most ? `${line.slice(0, most).toWellFormed()}…` : line
}

/** Somebody else's message as the end of a sentence. */
function sentence(text: string): string {
  const line = excerpt(text, 400)
  return /[.!?…)]$/.test(line) ? line : `${line}.`
}
