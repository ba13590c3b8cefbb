import type { JsonSchema } from '../../tools/tool.ts'
import { anyObject, count, effortSchema, functionFields, object, text, unless } from '../http/schemas.ts'

const functionSchema: JsonSchema = object({ type: { const: 'function' }, ...functionFields }, ['type', 'name'])
const numberOrNull: JsonSchema = { type: ['number', 'null'] }

/**
 * The supported part of a request of OpenAI's API. An unsupported field is rejected if ignoring it would change the answer, and ignored
 * otherwise. Null means absent.
 */
export const responseRequestSchema: JsonSchema = object(
  {
    model: text,
    input: { type: ['string', 'array'], minItems: 1, items: { type: 'object' } },
    instructions: { type: ['string', 'null'] },
    previous_response_id: { type: ['string', 'null'] },
    store: { type: ['boolean', 'null'], description: 'False: the response is not kept. Default true.' },
    stream: { type: ['boolean', 'null'] },
    tools: {
      type: ['array', 'null'],
      maxItems: 128,
      description:
        'Functions, alone or in a `namespace`. Tools of other types are left out, or refused if `service.hostedTools` is `refuse`.',
      items: {
        type: 'object',
        anyOf: [
          functionSchema,
          object({
            type: { const: 'namespace' },
            name: functionFields.name as JsonSchema,
            tools: { type: 'array', maxItems: 512, items: functionSchema },
          }),
          object({ type: { type: 'string', not: { enum: ['function', 'namespace'] } } }),
        ],
      },
    },
    tool_choice: {
      oneOf: [
        { enum: ['auto', 'none', 'required', null] },
        object({ type: { const: 'function' }, name: text, namespace: { type: ['string', 'null'] } }, ['type', 'name']),
      ],
    },
    parallel_tool_calls: { type: ['boolean', 'null'] },
    text: {
      type: ['object', 'null'],
      properties: {
        format: {
          type: ['object', 'null'],
          properties: {
            type: { enum: ['text', 'json_object', 'json_schema'] },
            schema: object({ type: { const: 'object' } }),
          },
          required: ['type'],
        },
      },
    },
    temperature: numberOrNull,
    top_p: numberOrNull,
    frequency_penalty: numberOrNull,
    presence_penalty: numberOrNull,
    max_output_tokens: { type: ['integer', 'null'], minimum: 1 },
    reasoning: { type: ['object', 'null'], properties: { effort: effortSchema } },
    metadata: {
      type: ['object', 'null'],
      maxProperties: 16,
      propertyNames: { maxLength: 64 },
      additionalProperties: { type: 'string', maxLength: 512 },
    },
    background: { enum: [false, null] },
    top_logprobs: { enum: [0, null] },
    conversation: { type: 'null' },
    prompt: { type: 'null' },
    max_tool_calls: { type: 'null' },
    include: unless({ type: 'array', contains: { const: 'message.output_text.logprobs' } }),
    moderation: unless({ type: 'object' }),
  },
  ['model', 'input'],
)

export const responseSchema: JsonSchema = object(
  {
    id: text,
    object: { const: 'response' },
    created_at: count,
    status: { enum: ['in_progress', 'completed', 'incomplete', 'failed', 'cancelled'] },
    model: text,
    output: { type: 'array', items: anyObject },
    previous_response_id: { type: ['string', 'null'] },
    error: { type: ['object', 'null'] },
    incomplete_details: { type: ['object', 'null'] },
    store: { type: 'boolean' },
    usage: { type: ['object', 'null'] },
  },
  ['id', 'object', 'created_at', 'status', 'model', 'output'],
)

export const deletedResponseSchema: JsonSchema = object({ id: text, object: { const: 'response' }, deleted: { const: true } })

export const inputItemListSchema: JsonSchema = object({
  object: { const: 'list' },
  data: { type: 'array', items: anyObject },
  first_id: { type: ['string', 'null'] },
  last_id: { type: ['string', 'null'] },
  has_more: { type: 'boolean' },
})
