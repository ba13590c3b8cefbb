import { createHash } from 'node:crypto'
import type {
  CallToolResult,
  ClientCapabilities,
  ElicitInputParams,
  InputRequest,
  InputRequiredResult,
  ServerContext,
} from '@modelcontextprotocol/server'
import { isJsonObject, type Json, type JsonObject } from '../../../core/messages.ts'
import { anyText } from '../../question.ts'
import { resultText } from '../../result-text.ts'
import { compileSchema } from '../../schema/schema.ts'
import type { JsonSchema, McpClient, Question } from '../../tool.ts'
import { clientRequestIn } from './client-requests.ts'
import type { McpServerSdk } from './load-sdk.ts'
import { failure } from './wire.ts'

/** One thing that is asked of a client. */
interface Item {
  /** What it is called among the client's answers. */
  key: string
  about: Json
  /** What its answer has to be. Default: a text. */
  schema?: JsonSchema
}

/** What is asked of a client at once: one thing, or several by their names. */
interface Asked {
  about: Json
  items: Item[]
  isOne: boolean
}

/** What a client brings back of a question, signed here: whose call asked what. */
interface AskedState extends Asked {
  caller: string
  /** A digest of the tool's name and the arguments: an answer belongs to one call. */
  call: string
}

/** Signs and checks that state. */
export type StateCodec = ReturnType<McpServerSdk['createRequestStateCodec']>

/** One call of a client, as far as its questions need it. */
export interface AskingCall {
  caller: string
  name: string
  args: unknown
}

/** An answer as the tool gets it, or how the call ends without one. */
export type Answered = { answer: Json; asked: Json } | CallToolResult

type ElicitAnswer = Extract<ReturnType<McpServerSdk['inputResponse']>, { kind: 'elicit' }>

/** How long a user may take to answer. */
export const answerTtlSeconds = 3_600

/** What a question is called that has no `name`, and the field of an answer that is no object. */
const answerKey = 'answer'

/** What the client has said that it can be asked. */
export function askable({ elicitation, sampling, roots }: ClientCapabilities = {}): Omit<McpClient, 'name' | 'version'> {
  return {
    // One that says nothing of forms is as old as they are.
    asksUser: elicitation !== undefined && (elicitation.form !== undefined || elicitation.url === undefined),
    asksModel: sampling !== undefined,
    listsRoots: roots !== undefined,
  }
}

/**
 * The tool's question for the client: for its user a form, whose text is the question's `message`, or all of it, and whose name its `name`. The
 * call comes again with the answer; where the protocol is older, the SDK waits for it. Undefined: it can't be asked like this. A client that
 * can't be asked is refused by the SDK.
 */
export async function asksClient(
  sdk: McpServerSdk,
  codec: StateCodec,
  question: Question,
  call: AskingCall,
): Promise<InputRequiredResult | undefined> {
  const asked = askedBy(question)
  const requests = asked.items.flatMap((item) => {
    const request = requestFor(sdk, item)
    return request === undefined ? [] : [[item.key, request] as const]
  })
  if (requests.length === 0 || requests.length < asked.items.length) return undefined
  const state: AskedState = { caller: call.caller, call: digestOf(call), ...asked }
  return sdk.inputRequired({ inputRequests: Object.fromEntries(requests), requestState: await codec.mint(state) })
}

/** Whether the client can be asked all of it. */
export function canAsk(question: Question, client: McpClient): boolean {
  return askedBy(question).items.every(({ about }) => {
    const method = clientRequestIn(about)?.method
    return method === undefined ? client.asksUser : method === 'roots/list' ? client.listsRoots : client.asksModel
  })
}

/**
 * The answer that a call comes again with; `undefined`: it brings none. A `CallToolResult` ends the call: there is no answer, or not such a one.
 * Throws an error of the SDK for a state that belongs to another call.
 */
export function answerIn(sdk: McpServerSdk, { mcpReq }: ServerContext, call: AskingCall): Answered | undefined {
  const state = mcpReq.requestState<AskedState>()
  if (state === undefined) return undefined
  if (state.caller !== call.caller || state.call !== digestOf(call))
    throw new sdk.ProtocolError(sdk.ProtocolErrorCode.InvalidParams, 'The request state belongs to another call')
  return readAnswers(sdk, mcpReq.inputResponses, state, call)
}

/**
 * The answer to a question that the client has given before it was asked: it knows its name. A question without a name of its own could be any,
 * and is asked.
 */
export function earlyAnswerIn(sdk: McpServerSdk, { mcpReq }: ServerContext, question: Question, call: AskingCall): Answered | undefined {
  if (mcpReq.inputResponses === undefined || mcpReq.requestState() !== undefined) return undefined
  const asked = askedBy(question)
  return asked.items.some(({ key }) => key === answerKey) ? undefined : readAnswers(sdk, mcpReq.inputResponses, asked, call)
}

function readAnswers(
  sdk: McpServerSdk,
  responses: Record<string, unknown> | undefined,
  { about, items, isOne }: Asked,
  call: AskingCall,
): Answered | undefined {
  const answers: [string, Json][] = []
  for (const item of items) {
    const response = sdk.inputResponse(responses, item.key)
    if (response.kind === 'missing') return undefined
    const answer = answerOf(response, item)
    if (answer === undefined)
      return failure('The tool asked the user a question before it went on, and the user did not answer it. It was not finished.')
    const problems = compileSchema(item.schema ?? anyText, call.name)(answer)
    if (problems.length > 0) return failure(`The user's answer is not what the tool asked for: ${problems.join('; ')}.`)
    answers.push([item.key, answer])
  }
  return { answer: isOne ? (answers[0]?.[1] ?? null) : Object.fromEntries(answers), asked: about }
}

/** Undefined: what was asked for was refused, or is of another kind. */
function answerOf(response: ReturnType<McpServerSdk['inputResponse']>, { about, schema = anyText }: Item): Json | undefined {
  const method = clientRequestIn(about)?.method
  if (method === 'roots/list') {
    if (response.kind !== 'roots') return undefined
    return response.roots.filter(isJsonObject).map(({ uri, name }) => textsOf({ uri, name }))
  }
  if (method === 'sampling/createMessage') {
    if (response.kind !== 'sampling') return undefined
    const { content, model, stopReason } = response.result
    const blocks: unknown[] = [content].flat()
    const said = blocks.map((block) => (isJsonObject(block) && typeof block.text === 'string' ? block.text : ''))
    return { text: said.join(''), ...textsOf({ model, stopReason }) }
  }
  return response.kind === 'elicit' ? filledIn(response, schema) : undefined
}

/** Undefined: the user has declined. */
function filledIn({ action, content = {} }: ElicitAnswer, schema: JsonSchema): Json | undefined {
  if (action !== 'accept') return undefined
  const fields = content as JsonObject
  return schema.type === 'object' ? fields : (fields[answerKey] ?? null)
}

/** What a form was answered with, or what is wrong with that. Undefined: the user has declined. */
export function formAnswer(response: ElicitAnswer, schema: JsonSchema): { value: Json } | { problems: string[] } | undefined {
  const value = filledIn(response, schema)
  if (value === undefined) return undefined
  const problems = compileSchema(schema, 'form')(value)
  return problems.length === 0 ? { value } : { problems }
}

/** A form for the client's user; undefined for a schema that is none. */
export function formRequest(sdk: McpServerSdk, message: string, schema: JsonSchema | undefined): InputRequest | undefined {
  const requestedSchema = formOf(schema)
  return requestedSchema === undefined ? undefined : sdk.inputRequired.elicit({ message, requestedSchema })
}

/** The fields that are texts. */
function textsOf(fields: Record<string, unknown>): JsonObject {
  return Object.fromEntries(Object.entries(fields).filter((field): field is [string, string] => typeof field[1] === 'string'))
}

/** One question, or those of `askAll`. */
function askedBy({ about, schema }: Question): Asked {
  const fields = isJsonObject(schema?.properties) ? schema.properties : {}
  if (isJsonObject(about) && isJsonObject(about.questions) && Object.keys(about.questions).every((name) => isJsonObject(fields[name]))) {
    const items = Object.entries(about.questions).map(([key, one]) => ({ key, about: one, schema: fields[key] as JsonSchema }))
    return { about, items, isOne: false }
  }
  const key = isJsonObject(about) && typeof about.name === 'string' ? about.name : answerKey
  return { about, items: [{ key, about, schema }], isOne: true }
}

function requestFor(sdk: McpServerSdk, { about, schema }: Item): InputRequest | undefined {
  const request = clientRequestIn(about)
  if (request?.method === 'roots/list') return sdk.inputRequired.listRoots()
  if (request !== undefined) return sdk.inputRequired.createMessage(request.params)
  // What stands for an agent that waits holds its state, which is for nobody's eyes.
  if (isJsonObject(about) && Array.isArray(about.pending)) return undefined
  return formRequest(sdk, messageIn(about), schema)
}

/** What the user is told of a question. */
export function messageIn(about: Json): string {
  return isJsonObject(about) && typeof about.message === 'string' ? about.message : resultText(about)
}

function digestOf({ name, args }: AskingCall): string {
  return createHash('sha256')
    .update(JSON.stringify([name, args ?? {}]))
    .digest('base64url')
}

type Form = Extract<ElicitInputParams['requestedSchema'], { properties: unknown }>

/** The schema of an answer as a form: a flat object. A single value is asked for under one name; no schema asks for a text. */
export function formOf(schema: JsonSchema = anyText): Form | undefined {
  const form: JsonSchema =
    schema.type === 'object' ? schema : { type: 'object', properties: { [answerKey]: schema }, required: [answerKey] }
  return isForm(form) ? form : undefined
}

function isForm(schema: JsonSchema): schema is Form & JsonSchema {
  return isJsonObject(schema.properties) && Object.values(schema.properties).every(isField)
}

/** A field that every client can show: a text, a number, a choice, or several choices of a list. */
function isField(schema: unknown): boolean {
  if (!isJsonObject(schema)) return false
  if (schema.type === 'array') return isJsonObject(schema.items) && ('enum' in schema.items || 'anyOf' in schema.items)
  return typeof schema.type === 'string' && ['string', 'number', 'integer', 'boolean'].includes(schema.type)
}
