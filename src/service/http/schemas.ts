import { runStatuses } from '../../core/runs/run-states.ts'
import type { JsonSchema } from '../../tools/tool.ts'

export const text: JsonSchema = { type: 'string' }
export const count: JsonSchema = { type: 'integer', minimum: 0 }
export const anyObject: JsonSchema = { type: 'object', additionalProperties: true }

export function object(
  properties: Readonly<Record<string, JsonSchema>>,
  required: readonly string[] = Object.keys(properties),
): JsonSchema {
  return { type: 'object', properties, required: [...required] }
}

export const errorSchema: JsonSchema = object({
  error: object(
    {
      message: text,
      type: text,
      code: text,
      param: { type: ['string', 'null'] },
      problems: { type: 'array', items: object({ path: text, message: text }) },
    },
    ['message', 'type', 'code', 'param'],
  ),
})

/** The fields of a function that a client runs. */
export const functionFields: Readonly<Record<string, JsonSchema>> = {
  name: { type: 'string', pattern: '^[a-zA-Z0-9_-]{1,64}$' },
  description: { type: ['string', 'null'] },
  parameters: { type: ['object', 'null'] },
  strict: { type: ['boolean', 'null'] },
}
const toolSchema: JsonSchema = object({ type: { const: 'function' }, function: object(functionFields, ['name']) })

const usageSchema: JsonSchema = object({ inputTokens: count, outputTokens: count, totalTokens: count }, [
  'inputTokens',
  'outputTokens',
  'totalTokens',
])

const effect: JsonSchema = { enum: ['read', 'idempotent', 'unsafe'] }

const pending: JsonSchema = object(
  {
    kind: { enum: ['approval', 'client_tool', 'question', 'budget'] },
    toolCallId: text,
    tool: text,
    args: anyObject,
    effect,
    said: { type: 'string', description: 'What the model said before the call: at most the last 300 characters.' },
    fingerprint: text,
    place: text,
    path: {
      type: 'array',
      items: object({ agent: text, toolCallId: text }),
      description: 'For an item of an agent inside a call: the agents on the way to it, outermost first, with their calls.',
    },
    script: {
      ...object({ line: count, code: text }, ['line', 'code']),
      description: 'For a call of a script: the number of the line that makes the call, and its text.',
    },
    plan: {
      ...object({ at: count, of: count }, ['at', 'of']),
      description: 'For a call that a preview has noted: its number in the plan, from 1, and the number of calls in it.',
    },
    hidden: { type: 'array', items: text, description: 'JSON Pointers to the hidden parts of this item. Absent if nothing is hidden.' },
  },
  ['kind', 'toolCallId', 'tool', 'args', 'fingerprint'],
)

const decision: JsonSchema = object(
  {
    at: { type: 'string', description: 'When it was decided (ISO 8601).' },
    by: { type: 'string', description: 'The name of the token that decided.' },
    kind: text,
    tool: text,
    toolCallId: text,
    agents: { type: 'array', items: text, description: 'The agents inside calls that asked, outermost first.' },
    verdict: { enum: ['approved', 'edited', 'rejected', 'answered', 'result'] },
    args: { description: 'The arguments as they were shown.' },
    edited: { description: 'The arguments that the call was approved with instead.' },
    about: {},
    reason: text,
    note: text,
    answer: {},
    result: {},
  },
  ['at', 'by', 'tool', 'verdict'],
)

export const runSchema: JsonSchema = object(
  {
    id: text,
    object: { const: 'run' },
    status: { enum: runStatuses },
    kind: { enum: ['run', 'chat'] },
    model: text,
    owner: text,
    session: { type: 'string', description: 'The session that it belongs to: a chat `ui/<id>`, a thread `agui/<threadId>`, or as given.' },
    answeredBy: { type: 'string', description: 'The model that was asked last, as `provider/model`.' },
    input: { type: 'string', description: 'The beginning of the user’s input.' },
    createdAt: { type: 'string' },
    finishedAt: { type: 'string', description: 'When it ended or began to wait.' },
    workedMs: { ...count, description: 'The milliseconds from `createdAt` to `finishedAt`, without waits for decisions.' },
    waitedMs: {
      ...count,
      description: 'The milliseconds that it waited for decisions. Not those of a wait that continues, which began at `finishedAt`.',
    },
    stopReason: text,
    output: text,
    usage: usageSchema,
    iterations: count,
    toolCalls: { ...count, description: 'How many calls there were, including those of agents inside calls.' },
    tools: { type: 'array', items: text, description: 'The tools that were called, each once.' },
    error: object({ code: text, message: text }),
    pending: { type: 'array', items: pending },
    events: object({ first: count, last: count }),
    decisions: { type: 'array', items: decision, description: 'Who decided what, and when. Absent in lists.' },
    result: { type: ['object', 'null'], description: 'The full result: messages, steps, tool calls. Null while the run is running.' },
  },
  ['id', 'object', 'status', 'kind', 'model', 'owner', 'createdAt', 'pending', 'events'],
)

const sums = {
  runs: count,
  running: count,
  waiting: count,
  tokens: count,
  costUsd: { type: 'number' as const },
  workedMs: count,
  waitedMs: count,
}

export const runListSchema: JsonSchema = object(
  {
    object: { const: 'list' },
    data: { type: 'array', items: runSchema },
    next: { type: 'string', description: 'The `cursor` of the next page. Absent on the last page.' },
    totals: { ...object(sums, Object.keys(sums)), description: 'All selected runs, added up. Only with `totals=true`.' },
  },
  ['object', 'data'],
)

export const sessionListSchema: JsonSchema = object(
  {
    object: { const: 'list' },
    data: {
      type: 'array',
      items: object(
        {
          session: text,
          owner: text,
          input: { type: 'string', description: 'The beginning of the input of its first run.' },
          createdAt: text,
          latestAt: { type: 'string', description: 'When its newest run started.' },
          latestRunId: text,
          ...sums,
        },
        ['session', 'owner', 'input', 'createdAt', 'latestAt', 'latestRunId', ...Object.keys(sums)],
      ),
    },
    nextOffset: { ...count, description: 'The `offset` of the next page. Absent on the last page.' },
  },
  ['object', 'data'],
)

/** The limits are those of OpenAI's API. https://platform.openai.com/docs/api-reference/chat/create */
const metadata: JsonSchema = {
  type: 'object',
  maxProperties: 16,
  propertyNames: { maxLength: 64 },
  additionalProperties: { type: ['string', 'number', 'boolean'], maxLength: 512 },
  description: 'At most 16 labels of the run, such as its user or purpose. Its events have them; the model does not see them.',
}

export const startRunSchema: JsonSchema = {
  ...object(
    {
      input: {
        oneOf: [text, { type: 'array', minItems: 1, items: anyObject }],
        description: 'The user’s text, or messages in this package’s format.',
      },
      model: text,
      messages: { type: 'array', items: anyObject, description: 'The conversation so far: `result.messages` of an earlier run.' },
      tools: {
        type: 'array',
        maxItems: 128,
        items: toolSchema,
        description: 'Tools that the client runs: the run pauses when the model calls one.',
      },
      activeTools: { type: 'array', items: text, description: 'Names of the tools that the model may use. Default: all.' },
      maxIterations: { type: 'integer', minimum: 1, description: 'Lowered to the service’s own limit if higher.' },
      limits: {
        ...object(
          {
            deadlineMs: { type: 'number', exclusiveMinimum: 0 },
            tokens: { type: 'number', exclusiveMinimum: 0 },
            costUsd: { type: 'number', exclusiveMinimum: 0 },
            toolCalls: count,
          },
          [],
        ),
        additionalProperties: false,
      },
      temperature: { type: 'number' },
      maxOutputTokens: { type: 'integer', minimum: 1 },
      effects: {
        // `apply` is not accepted: a client must not switch off an agent's `preview`.
        enum: ['preview'],
        description: '`preview`: calls with effects are noted, and the run waits with them as its plan. Default: as the agent says.',
      },
      metadata,
      session: {
        type: 'string',
        minLength: 1,
        maxLength: 200,
        description: 'The session that the run belongs to, a name of your choice. The conversation so far is in `messages`.',
      },
      background: { type: 'boolean', description: 'True: responds with 202 at once; the run continues in the background.' },
      stream: { type: 'boolean', description: 'True: responds with a stream of events, like `accept: text/event-stream`.' },
    },
    ['input'],
  ),
  additionalProperties: false,
}

const pageTools: JsonSchema = {
  type: 'array',
  maxItems: 128,
  items: toolSchema,
  description: 'Tools that the page runs.',
}

/** The messages are not described further, because `toolloop/ui` parses them and reports their problems. */
export const uiChatSchema: JsonSchema = object(
  {
    id: { type: 'string', minLength: 1, maxLength: 200, description: 'The chat.' },
    messages: { type: 'array', minItems: 1, items: anyObject, description: 'UI messages of the AI SDK.' },
    tools: pageTools,
    acknowledgeHidden: { type: 'boolean', description: 'True: approves hidden arguments, too.' },
  },
  ['id', 'messages'],
)

export const agUiInputSchema: JsonSchema = object(
  {
    threadId: { type: 'string', minLength: 1, maxLength: 200 },
    runId: { type: 'string', minLength: 1, maxLength: 200 },
    messages: { type: 'array', items: anyObject },
    tools: { type: 'array', maxItems: 128, items: anyObject },
    context: { type: 'array', items: anyObject },
    resume: { type: 'array', items: anyObject },
  },
  ['threadId', 'runId', 'messages'],
)

export const decisionsSchema: JsonSchema = {
  ...object({
    decisions: {
      type: 'array',
      minItems: 1,
      maxItems: 128,
      items: {
        ...object(
          {
            toolCallId: { type: 'string', description: 'The `toolCallId` of an item in the run’s `pending`.' },
            fingerprint: { type: 'string', description: 'That of the same item in the run’s `pending`.' },
            approved: { type: 'boolean' },
            reason: text,
            note: { type: 'string', description: 'A remark for the record. The model is not told.' },
            args: anyObject,
            remember: { type: 'boolean' },
            result: {},
            isError: { type: 'boolean' },
            answer: {},
            acknowledgeHidden: {
              type: 'boolean',
              description: 'Required to approve a call, or to answer a question, that is partly hidden.',
            },
          },
          ['toolCallId', 'fingerprint'],
        ),
        anyOf: [{ required: ['approved'] }, { required: ['result'] }, { required: ['answer'] }],
      },
    },
  }),
  additionalProperties: false,
}

export const steeringSchema: JsonSchema = {
  ...object({
    input: {
      oneOf: [
        { type: 'string', minLength: 1 },
        { type: 'array', minItems: 1, items: anyObject },
      ],
    },
  }),
  additionalProperties: false,
}

export const modelSchema: JsonSchema = object({ id: text, object: { const: 'model' }, created: count, owned_by: text })
export const modelListSchema: JsonSchema = object({ object: { const: 'list' }, data: { type: 'array', items: modelSchema } })

export const toolFields: Readonly<Record<string, JsonSchema>> = {
  type: { const: 'function' },
  function: object({ name: text, description: text, parameters: anyObject }),
  effect,
  approval: { enum: ['never', 'always', 'depends'] },
}
export const toolListSchema: JsonSchema = object({ object: { const: 'list' }, data: { type: 'array', items: object(toolFields) } })

const texts: JsonSchema = { type: 'array', items: text }
export const skillListSchema: JsonSchema = object({
  object: { const: 'list' },
  data: {
    type: 'array',
    items: object({
      name: text,
      description: text,
      source: { enum: ['configured', 'project', 'user'] },
      folder: text,
      allowedTools: { ...texts, description: 'Tools that the Skill says it needs.' },
      tools: { ...texts, description: 'Scripts of the Skill that are tools of their own.' },
      scripts: texts,
      instructions: text,
    }),
  },
  problems: { type: 'array', items: object({ path: text, severity: { enum: ['error', 'warning'] }, message: text }) },
})

const message: JsonSchema = object({ role: text }, ['role'])
export const effortSchema: JsonSchema = { enum: ['none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max', null] }
const sampling: Record<string, JsonSchema> = {
  temperature: { type: ['number', 'null'] },
  top_p: { type: ['number', 'null'] },
  seed: { type: ['integer', 'null'] },
  frequency_penalty: { type: ['number', 'null'] },
  presence_penalty: { type: ['number', 'null'] },
  max_tokens: { type: ['integer', 'null'], minimum: 1 },
  max_completion_tokens: { type: ['integer', 'null'], minimum: 1 },
  reasoning_effort: effortSchema,
  stop: { type: ['string', 'array', 'null'], items: text },
}

/** Rejects a field if its value matches `kind`. */
export function unless(kind: JsonSchema): JsonSchema {
  return { not: kind }
}

/**
 * The supported part of OpenAI's request. An unsupported field is rejected if ignoring it would change the answer, and ignored otherwise.
 * Null means absent, because many clients send null.
 */
export const chatRequestSchema: JsonSchema = object(
  {
    model: text,
    messages: { type: 'array', minItems: 1, items: message },
    stream: { type: ['boolean', 'null'] },
    stream_options: { type: ['object', 'null'], properties: { include_usage: { type: ['boolean', 'null'] } } },
    tools: { type: ['array', 'null'], maxItems: 128, items: toolSchema },
    tool_choice: {
      oneOf: [{ enum: ['auto', 'none', 'required', null] }, object({ type: { const: 'function' }, function: object({ name: text }) })],
    },
    parallel_tool_calls: { type: ['boolean', 'null'] },
    response_format: {
      type: ['object', 'null'],
      properties: {
        type: { enum: ['text', 'json_object', 'json_schema'] },
        // The schema must be an object: https://platform.openai.com/docs/guides/structured-outputs#supported-schemas
        json_schema: object({ schema: object({ type: { const: 'object' } }) }),
      },
      required: ['type'],
      if: unless({ type: 'object', properties: { type: { const: 'json_schema' } } }),
      else: { required: ['json_schema'] },
    },
    metadata: { ...metadata, type: ['object', 'null'] },
    n: { enum: [1, null] },
    logprobs: { enum: [false, null] },
    logit_bias: unless({ type: 'object', minProperties: 1 }),
    modalities: unless({ type: 'array', contains: { const: 'audio' } }),
    functions: unless({ type: 'array', minItems: 1 }),
    function_call: unless({ type: 'object' }),
    web_search_options: unless({ type: 'object' }),
    moderation: unless({ type: 'object' }),
    ...sampling,
  },
  ['model', 'messages'],
)

const chatUsage: JsonSchema = object({ prompt_tokens: count, completion_tokens: count, total_tokens: count })

export const chatCompletionSchema: JsonSchema = object(
  {
    id: text,
    object: { const: 'chat.completion' },
    created: count,
    model: text,
    choices: {
      type: 'array',
      items: object({
        index: count,
        message: object(
          {
            role: { const: 'assistant' },
            content: { type: ['string', 'null'] },
            refusal: { type: ['string', 'null'] },
            tool_calls: { type: 'array', items: anyObject },
          },
          ['role', 'content'],
        ),
        finish_reason: { enum: ['stop', 'length', 'tool_calls', 'content_filter'] },
        logprobs: { type: 'null' },
      }),
    },
    usage: chatUsage,
  },
  ['id', 'object', 'created', 'model', 'choices', 'usage'],
)

const problems: JsonSchema = { type: 'array', items: object({ path: text, message: text }) }
const configStateSchema: JsonSchema = object({
  file: { type: ['string', 'null'] },
  loadedAt: text,
  reloads: count,
  lastError: { ...object({ at: text, problems }), type: ['object', 'null'] },
  needsRestart: {
    type: 'array',
    items: text,
    description: 'JSON Pointers to the fields that have changed and take effect only after a restart.',
  },
})

export const configSchemaOfResponse: JsonSchema = object({
  etag: text,
  text,
  config: { type: ['object', 'null'] },
  fileOnly: {
    type: 'array',
    items: text,
    description: 'JSON Pointers to what can only be changed in the file; `*` stands for any key.',
  },
  state: configStateSchema,
})
export const configChangeSchema: JsonSchema = {
  ...object({ config: anyObject, text }, []),
  oneOf: [{ required: ['config'] }, { required: ['text'] }],
  additionalProperties: false,
}
export const testProviderSchema: JsonSchema = {
  ...object(
    {
      model: { oneOf: [{ type: 'string', minLength: 1 }, anyObject] },
      providers: { ...anyObject, description: 'Unsaved provider sections; they override those of the configuration.' },
      timeoutMs: { type: 'integer', minimum: 1, maximum: 60_000 },
    },
    ['model'],
  ),
  additionalProperties: false,
}
export const testedProviderSchema: JsonSchema = object(
  {
    ok: { type: 'boolean' },
    provider: text,
    model: text,
    durationMs: { type: 'number' },
    text,
    error: object({ code: text, message: text, path: text }, ['code', 'message']),
  },
  ['ok', 'durationMs'],
)
export const stateSchema: JsonSchema = object(
  {
    version: text,
    startedAt: text,
    draining: { type: 'boolean' },
    config: configStateSchema,
    providers: {
      type: 'array',
      items: object({ name: text, keyEnv: { type: ['string', 'null'] }, hasKey: { type: ['boolean', 'null'] } }),
    },
    models: { type: 'array', items: object({ name: text, provider: text, model: text }) },
    tools: { type: 'array', items: anyObject },
    runs: { type: 'array', items: runSchema },
    pending: {
      type: 'array',
      items: object({ runId: text, ...(pending.properties as Record<string, JsonSchema>) }, [
        'runId',
        'kind',
        'toolCallId',
        'tool',
        'args',
        'fingerprint',
      ]),
    },
    waiting: { ...count, description: 'How many runs wait for a decision.' },
    openStreams: count,
  },
  ['version', 'startedAt', 'draining', 'config', 'providers', 'models', 'tools', 'waiting'],
)
export const statusSchema: JsonSchema = object({ status: text }, ['status'])
