import { createHash } from 'node:crypto'
import type { CallToolResult, ElicitInputParams, InputRequiredResult, ServerContext } from '@modelcontextprotocol/server'
import { isJsonObject, type Json, type JsonObject } from '../../../core/messages.ts'
import { resultText } from '../../result-text.ts'
import { compileSchema } from '../../schema/schema.ts'
import type { JsonSchema, Question } from '../../tool.ts'
import type { McpServerSdk } from './load-sdk.ts'
import { failure } from './wire.ts'

/** What a client brings back of a question, signed here: whose call asked what. */
interface AskedState {
  caller: string
  /** A digest of the tool's name and the arguments: an answer belongs to one call. */
  call: string
  /** What the question is called among the client's answers. */
  key: string
  asked: Json
  /** What its answer has to be. Default: a text. */
  schema?: JsonSchema
}

/** Signs and checks that state. */
export type StateCodec = ReturnType<McpServerSdk['createRequestStateCodec']>

/** One call of a client, as far as its questions need it. */
export interface AskingCall {
  caller: string
  name: string
  args: unknown
}

/** How long a user may take to answer. */
export const answerTtlSeconds = 3_600

/** What is asked for where a question says nothing of it. */
const text: JsonSchema = { type: 'string' }

/** What a question is called that has no `name`, and the field of an answer that is no object. */
const answerKey = 'answer'

/**
 * The tool's question for the client's user: a form, whose text is the question's `message`, or all of it, and whose name its `name`. The call
 * comes again with the answer; where the protocol is older, the SDK waits for it. Undefined: it can't be asked as a form, or not of this client.
 */
export async function asksClient(
  sdk: McpServerSdk,
  codec: StateCodec,
  { about, schema }: Question,
  call: AskingCall,
  canElicit: boolean,
): Promise<InputRequiredResult | undefined> {
  const requestedSchema = formOf(schema)
  // What stands for an agent that waits holds its state, which is for nobody's eyes.
  const isAgents = isJsonObject(about) && Array.isArray(about.pending)
  if (!canElicit || requestedSchema === undefined || isAgents) return undefined
  const key = isJsonObject(about) && typeof about.name === 'string' ? about.name : answerKey
  const state: AskedState = { caller: call.caller, call: digestOf(call), key, asked: about, ...(schema === undefined ? {} : { schema }) }
  const message = isJsonObject(about) && typeof about.message === 'string' ? about.message : resultText(about)
  return sdk.inputRequired({
    inputRequests: { [key]: sdk.inputRequired.elicit({ message, requestedSchema }) },
    requestState: await codec.mint(state),
  })
}

/**
 * The answer that a call comes again with; `undefined`: it brings none. A `CallToolResult` ends the call: there is no answer, or not such a one.
 * Throws an error of the SDK for a state that belongs to another call.
 */
export function answerIn(
  sdk: McpServerSdk,
  { mcpReq }: ServerContext,
  call: AskingCall,
): { answer: Json; asked: Json } | CallToolResult | undefined {
  const state = mcpReq.requestState<AskedState>()
  if (state === undefined) return undefined
  if (state.caller !== call.caller || state.call !== digestOf(call))
    throw new sdk.ProtocolError(sdk.ProtocolErrorCode.InvalidParams, 'The request state belongs to another call')
  const response = sdk.inputResponse(mcpReq.inputResponses, state.key)
  if (response.kind === 'missing') return undefined
  if (response.kind !== 'elicit' || response.action !== 'accept')
    return failure('The tool asked the user a question before it went on, and the user did not answer it. It was not finished.')
  const { schema = text, asked } = state
  const content = (response.content ?? {}) as JsonObject
  const answer = schema.type === 'object' ? content : (content[answerKey] ?? null)
  const problems = compileSchema(schema, call.name)(answer)
  if (problems.length > 0) return failure(`The user's answer is not what the tool asked for: ${problems.join('; ')}.`)
  return { answer, asked }
}

function digestOf({ name, args }: AskingCall): string {
  return createHash('sha256')
    .update(JSON.stringify([name, args ?? {}]))
    .digest('base64url')
}

type Form = Extract<ElicitInputParams['requestedSchema'], { properties: unknown }>

/** The schema of an answer as a form: a flat object. A single value is asked for under one name; no schema asks for a text. */
function formOf(schema: JsonSchema = text): Form | undefined {
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
