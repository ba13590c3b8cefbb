import type { JsonSchema } from '../../tools/tool.ts'
import { anyObject, count, object, text, toolFields } from '../http/schemas.ts'

export const signInSchema: JsonSchema = object({
  code: { type: 'string', minLength: 1, maxLength: 200, description: 'The part of the link after `#/sign-in/`.' },
})
export const sessionSchema: JsonSchema = object({
  token: {
    type: 'string',
    description: 'To be sent as `authorization: Bearer TOKEN`. Holds until `expiresAt`, or the end of the process.',
  },
  name: text,
  roles: { type: 'array', items: { enum: ['run', 'admin'] } },
  expiresAt: text,
})

const ended: Readonly<Record<string, JsonSchema>> = {
  outcome: { enum: ['ok', 'question', 'failed', 'timeout', 'cancelled', 'rejected', 'denied', 'truncated', 'uncertain'] },
  durationMs: { type: 'number' },
  errorCode: text,
}
export const adminToolListSchema: JsonSchema = object({
  object: { const: 'list' },
  data: {
    type: 'array',
    items: object({
      ...toolFields,
      source: object({ kind: { enum: ['registered', 'builtin', 'skill', 'mcp', 'openapi'] }, name: text }, ['kind']),
      runsHere: { type: 'boolean', description: 'False: the client runs it.' },
      calls: object({
        total: count,
        failed: count,
        recent: { type: 'array', items: object({ at: text, ...ended, runId: text }, ['at', 'outcome', 'durationMs']) },
      }),
    }),
  },
  servers: { type: 'array', items: object({ name: text, state: text, problem: text }, ['name', 'state']) },
})
export const tryToolSchema: JsonSchema = {
  ...object(
    {
      arguments: anyObject,
      approved: { type: 'boolean', description: 'You know that the tool may have side effects, or approve the call. Default false.' },
    },
    ['arguments'],
  ),
  additionalProperties: false,
}
export const triedCallSchema: JsonSchema = object({ ...ended, content: text, attempts: count }, [
  'outcome',
  'durationMs',
  'content',
  'attempts',
])

const amount: JsonSchema = { type: 'number', minimum: 0 }
const milliseconds: JsonSchema = { type: ['number', 'null'], description: 'Null: no run has ended.' }
const sums: Readonly<Record<string, JsonSchema>> = {
  runs: count,
  failed: { ...count, description: 'Runs that failed, not counting cancelled ones.' },
  inputTokens: count,
  outputTokens: count,
  costUsd: amount,
  p50Ms: milliseconds,
  p95Ms: milliseconds,
}
const share = { runs: count, failed: count, tokens: count, costUsd: { type: 'number' as const } }

export const overviewSchema: JsonSchema = object({
  object: { const: 'overview' },
  window: { enum: ['hour', 'day'] },
  from: text,
  to: text,
  stepMs: count,
  since: { type: 'string', description: 'The time from which runs are counted. Later than `from` if more than 20,000 runs have ended.' },
  ...sums,
  series: { type: 'array', items: object(sums), description: 'The same for each step, the earliest first.' },
  reasons: { type: 'array', items: object({ stopReason: text, errorCode: text, runs: count }, ['stopReason', 'runs']) },
  models: { type: 'array', items: object({ model: text, ...share }), description: 'By the model that answered, most runs first.' },
  users: { type: 'array', items: object({ owner: text, ...share }) },
  tools: { type: 'array', items: object({ tool: text, ...share }), description: 'By the tools that a run called: a run counts for each.' },
  running: { ...count, description: 'Runs that this process carries out now.' },
  waiting: { ...count, description: 'Runs that wait for a decision.' },
})
