import { isJsonObject, type JsonObject } from '../../core/messages.ts'

/** Throws for a value that is not as it should be: where it stands, what was expected there, and what is there. */
export type Wrong = (place: string, expected: string, got: unknown) => never

type Check = (value: unknown, place: string, wrong: Wrong) => void

/** Checks all that reading and playing a recorded run relies on. `at`: where the run stands, with a dot behind it. */
export function checkRun(run: JsonObject, at: string, wrong: Wrong): void {
  for (const [name, check] of Object.entries(runFields)) check(run[name], at + name, wrong)
}

const isA =
  (expected: string, is: (value: unknown) => boolean): Check =>
  (value, place, wrong) => {
    if (!is(value)) wrong(place, expected, value)
  }
const text = isA('a string', (value) => typeof value === 'string')
const count = isA('an integer ≥ 0', (value) => Number.isSafeInteger(value) && Number(value) >= 0)
const object = (fields: { [name: string]: Check } = {}): Check => {
  return (value, place, wrong) => {
    if (!isJsonObject(value)) return wrong(place, 'an object', value)
    for (const [name, check] of Object.entries(fields)) check(value[name], `${place}.${name}`, wrong)
  }
}
const list = (item: Check): Check => {
  return (value, place, wrong) => {
    if (!Array.isArray(value)) return wrong(place, 'an array', value)
    for (const [at, one] of value.entries()) item(one, `${place}[${at}]`, wrong)
  }
}
const optional = (check: Check): Check => {
  return (value, place, wrong) => {
    if (value !== undefined) check(value, place, wrong)
  }
}
const either = (is: (value: unknown) => boolean, check: Check, other: Check): Check => {
  return (value, place, wrong) => (is(value) ? check : other)(value, place, wrong)
}
const isText = (value: unknown) => typeof value === 'string'

const content = either(isText, text, list(object({ type: text })))
const toolCall = object({ id: text, function: object({ name: text, arguments: text }) })
const message = object({ role: text, content, toolCalls: optional(list(toolCall)) })
const model = object({ provider: text, model: text, capabilities: object() })
const tool = object({ name: text, description: text, parameters: object(), secrets: optional(list(text)) })
const definition = object({ function: object({ name: text }) })
const place = { place: text, tool: text, args: object() }

const call = object({
  ...place,
  id: text,
  outcome: optional(text),
  content: optional(content),
  question: optional(object()),
  runs: optional(list((run, at, wrong) => (isJsonObject(run) ? checkRun(run, `${at}.`, wrong) : wrong(at, 'an object', run)))),
})

const request = object({
  kept: optional(count),
  messages: list(message),
  tools: optional(list(either(isText, text, definition))),
  model: optional(model),
  agent: optional(list(tool)),
})

const turn = object({
  request,
  stream: optional(list(list(() => {}))),
  error: optional(object({ code: text })),
  calls: optional(list(call)),
  decisions: optional(list(object({ ...place, call: text, verdict: object() }))),
  steering: optional(object({ messages: list(message) })),
})

const runFields: { [name: string]: Check } = {
  given: object({
    model,
    instructions: optional(text),
    messages: list(message),
    earlier: count,
    tools: list(tool),
    settings: object(),
    code: optional(list(text)),
    partial: optional(text),
  }),
  turns: list(turn),
  result: optional(object({ stopReason: text, text, usage: object(), pending: optional(list(object({ tool: text, args: object() }))) })),
}
