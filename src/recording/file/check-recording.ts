import { isJsonObject, type JsonObject } from '../../core/messages.ts'
import { type RecordedModelRequest, type RecordedRun, requestsOf } from '../format.ts'

export type Wrong = (place: string, expected: string, got: unknown) => never

type Check = (value: unknown, place: string, wrong: Wrong) => void

/** Checks every field that a replay needs. `at` is the path of the run, with a dot at the end. */
export function checkRun(run: JsonObject, at: string, wrong: Wrong): void {
  for (const [name, check] of Object.entries(runFields)) check(run[name], at + name, wrong)
  checkReferences(run as never, at, wrong)
}

/** Checks the references between the parts of a run. The types of all fields have already been checked. */
function checkReferences(run: RecordedRun, at: string, wrong: Wrong): void {
  const { instructions, messages, earlier, tools } = run.given
  if (earlier > messages.length) wrong(`${at}given.earlier`, `at most ${messages.length}, as many messages there are`, earlier)
  const names = new Set<unknown>(tools.map(({ name }) => name))
  let before = messages.length + (instructions === undefined ? 0 : 1)
  for (const [where, { request }] of requestsOf(run)) {
    const { kept = 0, messages: added, tools: offered = [] }: RecordedModelRequest & { kept?: number } = request
    const place = `${at}steps.${where}: request`
    if (kept > before) wrong(`${place}.kept`, `at most ${before}, as many messages the request before it has`, kept)
    before = kept + added.length
    const unknown = offered.findIndex((tool: unknown) => typeof tool === 'string' && !names.has(tool))
    if (unknown >= 0) wrong(`${place}.tools[${unknown}]`, 'the name of a tool in `given.tools`, or a definition', offered[unknown])
  }
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
const oneOf = (...values: string[]) => isA(`one of ${values.join(', ')}`, (value) => values.includes(value as string))
const yes = isA('true', (value) => value === true)
/** Accepts any text, and any other value that `check` accepts. */
const textOr = (check: Check): Check => {
  return (value, place, wrong) => {
    if (typeof value !== 'string') check(value, place, wrong)
  }
}

const listOfParts = list(object({ type: text }))
const content: Check = (value, place, wrong) => {
  if (typeof value === 'string') return
  if (!Array.isArray(value)) wrong(place, 'a string or an array', value)
  listOfParts(value, place, wrong)
}
const toolCall = object({ id: text, function: object({ name: text, arguments: text }) })
const message = object({ role: text, content, toolCalls: optional(list(toolCall)) })
const model = object({ provider: text, model: text, capabilities: object() })
const approval = optional(isA("true or 'by call'", (value) => value === true || value === 'by call'))
const tool = object({ name: text, description: text, parameters: object(), secrets: optional(list(text)), approval })
const definition = object({ function: object({ name: text }) })
const made = { tool: text, args: object() }

const interrupted = optional(oneOf('aborted', 'deadline'))

const call = object({
  ...made,
  id: text,
  outcome: optional(oneOf('ok', 'failed', 'timeout', 'cancelled', 'question', 'rejected')),
  interrupted,
  content: optional(content),
  question: optional(object()),
  runs: optional(list((run, at, wrong) => (isJsonObject(run) ? checkRun(run, `${at}.`, wrong) : wrong(at, 'an object', run)))),
})

const request = object({
  kept: optional(count),
  messages: list(message),
  tools: optional(list(textOr(definition))),
  model: optional(model),
  agent: optional(list(tool)),
})

const kindOfPieces = oneOf('text', 'reasoning', 'call', 'arguments')
/** Accepts `[kind, ...texts]`, or `[kind, index, ...texts]` for the kinds `call` and `arguments`. */
const pieces: Check = (value, place, wrong) => {
  list(() => {})(value, place, wrong)
  const [kind, ...rest] = value as unknown[]
  kindOfPieces(kind, `${place}[0]`, wrong)
  const ofCall = kind === 'call' || kind === 'arguments'
  if (ofCall) count(rest[0], `${place}[1]`, wrong)
  for (let at = ofCall ? 1 : 0; at < Math.max(rest.length, kind === 'call' ? 3 : 0); at++) text(rest[at], `${place}[${at + 1}]`, wrong)
}

const turn = list(
  object({
    request,
    stream: optional(list(pieces)),
    error: optional(object({ code: text, message: text, retryable: optional(isA('a boolean', (value) => typeof value === 'boolean')) })),
    interrupted,
  }),
)
const decision = object({ ...made, call: text, verdict: object() })
const steering = object({ messages: list(message), stops: optional(yes) })
const stepOf = (value: object) => ('verdict' in value ? decision : 'messages' in value ? steering : call)
const step: Check = (value, place, wrong) => (isJsonObject(value) ? stepOf(value) : turn)(value, place, wrong)
const steps: Check = (value, place, wrong) => {
  object()(value, place, wrong)
  for (const [key, one] of Object.entries(value as object)) step(one, `${place}.${key}`, wrong)
}

const runFields: { [name: string]: Check } = {
  given: object({
    model,
    instructions: optional(text),
    messages: list(message),
    earlier: count,
    tools: list(tool),
    settings: object({ limits: optional(object()) }),
    code: optional(list(text)),
    partial: optional(text),
  }),
  steps,
  result: optional(object({ stopReason: text, text, usage: object(), pending: optional(list(object({ tool: text, args: object() }))) })),
}
