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

interface Item {
  /** Identifies the question in the client's answers. */
  key: string
  about: Json
  /** The schema of the answer. Default: a text. */
  schema?: JsonSchema
}

/** The questions that a tool asks at once. `isOne`: whether it is a single question, not a mapping of questions. */
interface Asked {
  about: Json
  items: Item[]
  isOne: boolean
}

/** The signed state that a client returns with its answers. The state is valid only for the same caller and call. */
interface AskedState extends Asked {
  caller: string
  /** A digest of the tool's name and arguments. */
  call: string
}

/** Signs and verifies an `AskedState`. */
export type StateCodec = ReturnType<McpServerSdk['createRequestStateCodec']>

/** The call that asks the questions. */
export interface AskingCall {
  caller: string
  name: string
  args: unknown
}

/** The answer for the tool, or the result that ends the call without an answer. */
export type Answered = { answer: Json; asked: Json } | CallToolResult

type ElicitAnswer = Extract<ReturnType<McpServerSdk['inputResponse']>, { kind: 'elicit' }>

/** How long a user may take to answer, in seconds. */
export const answerTtlSeconds = 3_600

/** The key of a question without a name, and of the only field in a form for a single value. */
const answerKey = 'answer'

/** Returns which questions a client can answer. */
export function askable({ elicitation, sampling, roots }: ClientCapabilities = {}): Omit<McpClient, 'name' | 'version'> {
  return {
    // Older clients support forms without mentioning them.
    asksUser: elicitation !== undefined && (elicitation.form !== undefined || elicitation.url === undefined),
    asksModel: sampling !== undefined,
    listsRoots: roots !== undefined,
  }
}

/**
 * Converts a tool's question to requests for the client: a form for the user, or a request to the client itself. The client repeats the
 * call with the answers. Undefined if a question can't be shown as a form.
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

/** Whether the client can be asked all questions. */
export function canAsk(question: Question, client: McpClient): boolean {
  return askedBy(question).items.every(({ about }) => {
    const method = clientRequestIn(about)?.method
    return method === undefined ? client.asksUser : method === 'roots/list' ? client.listsRoots : client.asksModel
  })
}

/**
 * Returns the answer in a repeated call, or a failed result if the user declined or the answer is invalid. Undefined if the call has no
 * answer. Throws an error of the SDK if the state belongs to another call.
 */
export function answerIn(sdk: McpServerSdk, { mcpReq }: ServerContext, call: AskingCall): Answered | undefined {
  const state = mcpReq.requestState<AskedState>()
  if (state === undefined) return undefined
  if (state.caller !== call.caller || state.call !== digestOf(call))
    throw new sdk.ProtocolError(sdk.ProtocolErrorCode.InvalidParams, 'The request state belongs to another call')
  return readAnswers(sdk, mcpReq.inputResponses, state, call)
}

/** Returns the answer to a named question, if the client sent it with the first call. Undefined for a question without a name. */
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
      return failure('The tool asked the user a question, and the user did not answer it. The call was not finished.')
    const problems = compileSchema(item.schema ?? anyText, call.name)(answer)
    if (problems.length > 0) return failure(`The user's answer is not what the tool asked for: ${problems.join('; ')}.`)
    answers.push([item.key, answer])
  }
  return { answer: isOne ? (answers[0]?.[1] ?? null) : Object.fromEntries(answers), asked: about }
}

/** Returns the answer in a response. Undefined if the user declined, or if the response does not match the question. */
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

/** Returns the values of a form. Undefined if the user declined. */
function filledIn({ action, content = {} }: ElicitAnswer, schema: JsonSchema): Json | undefined {
  if (action !== 'accept') return undefined
  const fields = content as JsonObject
  return schema.type === 'object' ? fields : (fields[answerKey] ?? null)
}

/** Returns the answer in a form, or the problems with it. Undefined if the user declined. */
export function formAnswer(response: ElicitAnswer, schema: JsonSchema): { value: Json } | { problems: string[] } | undefined {
  const value = filledIn(response, schema)
  if (value === undefined) return undefined
  const problems = compileSchema(schema, 'form')(value)
  return problems.length === 0 ? { value } : { problems }
}

/** Creates a form for the client's user. Undefined if the schema can't be shown as a form. */
export function formRequest(sdk: McpServerSdk, message: string, schema: JsonSchema | undefined): InputRequest | undefined {
  const requestedSchema = formOf(schema)
  return requestedSchema === undefined ? undefined : sdk.inputRequired.elicit({ message, requestedSchema })
}

function textsOf(fields: Record<string, unknown>): JsonObject {
  return Object.fromEntries(Object.entries(fields).filter((field): field is [string, string] => typeof field[1] === 'string'))
}

/** Returns the single question, or the questions of `askAll`. */
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
  // The question of a waiting agent contains its private state.
  if (isJsonObject(about) && Array.isArray(about.pending)) return undefined
  return formRequest(sdk, messageIn(about), schema)
}

/** Returns the text of a question for the user. */
export function messageIn(about: Json): string {
  return isJsonObject(about) && typeof about.message === 'string' ? about.message : resultText(about)
}

function digestOf({ name, args }: AskingCall): string {
  return createHash('sha256')
    .update(JSON.stringify([name, args ?? {}]))
    .digest('base64url')
}

type Form = Extract<ElicitInputParams['requestedSchema'], { properties: unknown }>

/** Converts the schema of an answer to a form with fields. A single value becomes one field. Default: a text. */
export function formOf(schema: JsonSchema = anyText): Form | undefined {
  const form: JsonSchema =
    schema.type === 'object' ? schema : { type: 'object', properties: { [answerKey]: schema }, required: [answerKey] }
  return isForm(form) ? form : undefined
}

function isForm(schema: JsonSchema): schema is Form & JsonSchema {
  return isJsonObject(schema.properties) && Object.values(schema.properties).every(isField)
}

/** Whether every MCP client can show the field: a text, a number, a boolean, or a choice from a list. */
function isField(schema: unknown): boolean {
  if (!isJsonObject(schema)) return false
  if (schema.type === 'array') return isJsonObject(schema.items) && ('enum' in schema.items || 'anyOf' in schema.items)
  return typeof schema.type === 'string' && ['string', 'number', 'integer', 'boolean'].includes(schema.type)
}
