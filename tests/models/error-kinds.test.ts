import { describe, expect, it } from 'vitest'
import type { ErrorCode } from '../../src/core/errors.ts'
import type { JsonObject } from '../../src/core/messages.ts'
import { isModelError } from '../../src/models/chat-model.ts'
import type { MockFault } from '../../src/testing/mock/fault.ts'
import type { WireName } from '../../src/testing/mock/wires/wire.ts'
import { type Mode, nativeModes } from '../hazards/modes.ts'
import { hello } from './one-request.ts'

/** A provider's error: its HTTP status, and the fields of its `error`. A text is the message. */
type Refusal = [status: number, error: string | JsonObject]

/** Wordings as their providers send them. */
const overflows: readonly Refusal[] = [
  [400, 'prompt is too long: 213462 tokens > 200000 maximum'],
  [400, 'input length and `max_tokens` exceed context limit: 190000 + 20000 > 200000, decrease input length or `max_tokens` and try again'],
  [413, { type: 'request_too_large', message: 'Request exceeds the maximum size' }],
  [400, 'Your input exceeds the context window of this model. Please adjust your input and try again.'],
  [400, { code: 'context_too_large', message: 'Too large.' }],
  [400, 'Input tokens exceed the configured limit of 272000 tokens. Your messages resulted in 300000 tokens.'],
  [400, "Invalid 'messages[1].content': string too long. Expected a string with maximum length 10485760, but got 12000000 instead."],
  [400, "Invalid 'messages': array too long. Expected an array with maximum length 2048, but got 3000 instead."],
  [400, "Requested token count exceeds the model's maximum context length of 131072 tokens"],
  [400, "Input length (265330) exceeds model's maximum context length (262144)."],
  [400, 'The input token count (1196265) exceeds the maximum number of tokens allowed (1048575)'],
  [400, 'Request payload size exceeds the limit: 20971520 bytes.'],
  [400, "This model's maximum prompt length is 131072 but the request contains 537812 tokens"],
  [400, 'Please reduce the length of the messages or completion. Current length is 14018 while limit is 8192'],
  [400, "However, the model's context length is only 131072 tokens, resulting in a maximum input length of 99072 tokens."],
  [400, "This endpoint's maximum context length is 262144 tokens. However, you requested about 284283 tokens"],
  [400, 'Input length 300000 exceeds the maximum allowed input length of 262144 tokens.'],
  [400, "The input (150000 tokens) is longer than the model's context length (131072 tokens)."],
  [400, 'the request exceeds the available context size, try increasing it'],
  [500, 'the input length exceeds the context length'],
  [400, 'The number of tokens to keep from the initial prompt is greater than the context length. Try a larger context length'],
  [
    400,
    'Trying to keep the first 4521 tokens when context the overflows. However, the model is loaded with context length of only 4096 tokens',
  ],
  [400, 'prompt token count of 150000 exceeds the limit of 128000'],
  [400, { code: 'model_max_prompt_tokens_exceeded', message: 'Too long.' }],
  [400, 'invalid params, context window exceeds limit (2013)'],
  [400, 'Your request exceeded model token limit: 262144 (requested: 300000)'],
  [401, 'The model k3 supports only 256K context'],
  [400, 'Prompt contains 140000 tokens and 0 draft tokens, too large for model with 131072 maximum context length'],
  [400, 'prompt too long; exceeded max context length by 1200 tokens'],
  [400, 'Prompt has 9,000 tokens, but the configured context size is 8,192 tokens'],
  [400, 'Input is too long for requested model.'],
  [400, 'tokens in request more than max tokens allowed'],
  [400, { code: '1261', message: 'Prompt 超长' }],
  [400, '输入长度超过模型的最大限制'],
  [400, 'Range of input length should be [1, 129024]'],
  [400, 'Total tokens of image and text exceed max message tokens'],
  [422, 'Input validation error: `inputs` tokens + `max_new_tokens` must be <= 8192. Given: 9000 `inputs` tokens'],
  [422, '`inputs` must have less than 8192 tokens. Given: 9000'],
  [400, 'The decoder prompt (length 5000) is longer than the maximum model length of 4096.'],
  [400, 'max_tokens must be at least 1, got -812'],
  [400, 'The prompt is too long: 267657, model maximum context length: 262143'],
  [400, 'too many tokens: total number of tokens in the prompt cannot exceed 4081 - received 4292. Try using a shorter prompt'],
  [400, 'the number of input tokens 5000 cannot exceed the total tokens limit 4096 for this model'],
  [400, 'total message size 5242997 exceeds limit 4194304'],
  [400, 'messages too long'],
  [400, 'The request was too long for the model'],
  [400, '请求的token数超过模型上下文长度'],
  [400, '对话长度超过上限'],
  [413, ''],
]

const others: readonly [ErrorCode, ...Refusal][] = [
  ['rate_limited', 429, { code: 'ThrottlingException', message: 'Too many tokens, please wait before trying again.' }],
  ['rate_limited', 400, { code: 'ThrottlingException', message: 'Too many tokens, please wait before trying again.' }],
  ['rate_limited', 400, 'Tokens per minute limit exceeded - too many tokens processed.'],
  ['rate_limited', 429, 'This request would exceed the rate limit of 30,000 input tokens per minute. Please reduce the prompt length.'],
  ['rate_limited', 413, { code: 'rate_limit_exceeded', message: 'Request too large for model on tokens per minute (TPM): Limit 6000' }],
  ['provider_error', 400, 'max_tokens: 200000 > 64000, which is the maximum allowed number of output tokens for this model'],
  ['provider_error', 400, 'The audio input is too long: at most 30 minutes'],
  ['provider_error', 400, 'The image size exceeds the limit of 5242880 bytes'],
  ['provider_error', 400, 'messages.0.content.1.image.source.base64: image exceeds 5 MB maximum: 9000000 bytes > 5242880 bytes'],
  ['provider_error', 400, "Invalid 'tools[0].function.description': string too long. Expected a string with maximum length 1024."],
  ['provider_error', 400, 'The requested model does not support context window extension'],
  ['provider_error', 400, 'Model context window too small (minimum is 128k tokens)'],
  ['provider_error', 503, 'The server is overloaded'],
]

/** An empty account, or a plan that is used up. */
const outOfQuota: readonly Refusal[] = [
  [429, { code: 'insufficient_quota', message: 'You exceeded your current quota, please check your plan and billing details.' }],
  [429, { type: 'insufficient_quota', code: 'credit_balance_exhausted', message: 'You have no credits remaining' }],
  [400, { code: 'billing_hard_limit_reached', message: 'Billing hard limit has been reached' }],
  [429, { code: 'billing_not_active', message: 'Your account is not active, please check your billing details on our website.' }],
  [429, 'You exceeded your current quota, please check your plan and billing details.'],
  [402, 'Insufficient Balance'],
  [402, ''],
  [400, 'Your credit balance is too low to access the Anthropic API. Please go to Plans & Billing to upgrade or purchase credits.'],
  [400, 'You have reached your specified API usage limits. You will regain access on 2099-01-01 at 00:00 UTC.'],
  [403, { type: 'exceeded_current_quota_error', message: 'Your account is suspended due to insufficient balance, please recharge.' }],
  [400, { code: 'Arrearage', message: 'Access denied, please make sure your account is in good standing.' }],
  [403, { code: 'AllocationQuota.FreeTierOnly', message: 'The free tier of the model has been exhausted.' }],
  [403, { code: 'AccountOverdueError', message: 'The request failed because your account has an overdue balance.' }],
  [429, { code: '1113', message: 'Insufficient balance or no resource package. Please recharge.' }],
  [429, { code: '1113', message: '余额不足或无可用资源包,请充值。' }],
  [429, { type: 'rate_limit_error', code: '1113', message: '[1113][Insufficient balance or no resource package.][2026]' }],
  [429, { code: '1308', message: 'Usage limit reached for 5 hour. Your limit will reset at 2026-08-27 21:31:39' }],
  [429, { code: '1308', message: '已达到 5 小时的使用上限。您的限额将在 2026-08-27 21:31:39 重置' }],
  [429, { code: '1310', message: 'Weekly/Monthly Limit Exhausted. Your limit will reset at 2026-08-27 21:31:39' }],
  [429, { code: '1310', message: '已达到每周/每月使用上限，您的限额将在 2026-08-27 21:31:39 重置' }],
  [429, '您的账户已欠费，请充值后重试'],
  [429, { type: 'GoUsageLimitError', message: 'Monthly usage limit reached' }],
  [429, { type: 'FreeUsageLimitError', message: 'Rate limit exceeded. Please try again later.' }],
  [429, 'Weekly usage limit reached. Resets in 19hr'],
  [401, { type: 'CreditsError', message: 'Insufficient balance. Manage your billing here' }],
  [429, { type: 'usage_limit_reached', message: 'The usage limit has been reached', resets_in_seconds: 7200 }],
  [429, "You've reached your usage limit for this 5-hour window."],
  [403, "Your newly created team doesn't have any credits yet."],
  [429, 'Your team has either used all available credits or reached its monthly spending limit.'],
  [403, 'Key limit exceeded (total limit). Manage it using https://openrouter.ai/settings/keys'],
  [402, 'This request requires more credits, or fewer max_tokens. You requested up to 32000 tokens, but can only afford 1200'],
  [402, 'You have depleted your monthly included credits for Inference Providers.'],
  [400, 'Budget has been exceeded! Current cost: 10.2, Max budget: 10.0'],
  [403, { code: 'insufficient_user_quota', message: 'user quota is not enough' }],
  [429, { type: 'ExceededBudget', message: 'ExceededBudget: User over budget' }],
  [429, { code: 'quota_exceeded', message: 'You have exceeded your premium request allowance.' }],
  [429, 'You have used up your daily free allocation of 10,000 neurons'],
  [429, { code: 4006, message: 'Daily free allocation of 10,000 neurons used up, please upgrade to the Workers Paid plan' }],
  [403, 'Out of call volume quota. Quota will be replenished in 1.12:03:21.'],
  [429, { code: 'ThrottlingException', message: 'Too many tokens per day, please wait before trying again.' }],
]

/** Limits that pass after a wait. */
const rateLimits: readonly Refusal[] = [
  [429, { code: '1302', message: 'High concurrency usage of this API, please reduce concurrency' }],
  [429, { code: '1302', message: '您当前使用该API的并发数过高，请降低并发，或联系客服增加限额' }],
  [
    429,
    {
      code: 'token_quota_exceeded',
      type: 'too_many_tokens_error',
      message: 'Tokens per minute limit exceeded - too many tokens processed.',
    },
  ],
  [429, { code: 'insufficient_quota', message: 'Allocated quota exceeded, please increase your quota limit.' }],
  [429, { type: 'rate_limit_reached_error', message: 'Your account reached organization max RPM: 3, please try again after 1 seconds' }],
  [
    429,
    'Rate limit reached on requests per day (RPD): Limit 200, Used 200. Please try again in 7m12s. Add a card at https://x.y/account/billing',
  ],
  [429, 'You exceeded your current quota, please check your plan and billing details. Please retry in 36.4s.'],
]

const streaming = nativeModes.filter((mode) => mode.streaming)

describe.each(streaming)('error kinds: $name', (mode) => {
  it('F19 a conversation that is too long is `context_overflow` in every wording', async () => {
    expect(await kindsOf(mode, overflows)).toEqual(overflows.map((refusal) => ['context_overflow', refusal]))
  })

  it('F19 nothing else is mistaken for one', async () => {
    const refusals = others.map(([, ...refusal]): Refusal => refusal)
    const found = await kindsOf(mode, refusals)
    expect(found.map(([kind, refusal]) => [kind.replace(', may pass', ''), refusal])).toEqual(
      others.map(([code, ...refusal]) => [code, refusal]),
    )
  })

  it('F18 an account without credit, or a plan that is used up, is `rate_limited` and not retried', async () => {
    expect(await kindsOf(mode, outOfQuota)).toEqual(outOfQuota.map((refusal) => ['rate_limited', refusal]))
  })

  it('F18 a limit on concurrent requests or tokens is `rate_limited` and may pass', async () => {
    expect(await kindsOf(mode, rateLimits)).toEqual(rateLimits.map((refusal) => ['rate_limited, may pass', refusal]))
  })

  it('F18 F19 an error inside a stream has the same kind as one with a status', async () => {
    const kinds = [
      ['context_overflow', overflows],
      ['rate_limited', outOfQuota],
      ['rate_limited, may pass', rateLimits],
    ] as const
    for (const [kind, refusals] of kinds) {
      const inWords = refusals.filter(([status]) => status !== 413 && status !== 402)
      expect(await kindsOf(mode, inWords, 'in the stream')).toEqual(inWords.map((refusal) => [kind, refusal]))
    }
  })

  it('F18 an overload reported in the stream may pass', async () => {
    const overloads: Refusal[] = [
      [503, { code: '1305', message: '该API当前使用人数过多' }],
      [503, '服务繁忙，请稍后再试'],
      [503, 'The service may be temporarily overloaded, please try again later'],
    ]
    expect(await kindsOf(mode, overloads, 'in the stream')).toEqual(overloads.map((refusal) => ['provider_error, may pass', refusal]))
  })

  it('F18 the message says that the quota is used up; the error says until when', async () => {
    const body = { error: { type: 'usage_limit_reached', message: 'The usage limit has been reached', resets_in_seconds: 7200 } }
    await using open = await mode.open(() => 'never', { faults: { status: 429, body }, settings: { maxRetries: 2 } })
    await expect(open.model.generate({ messages: hello })).rejects.toMatchObject({
      code: 'rate_limited',
      message: expect.stringContaining('The usage limit has been reached — the account has no credit left, or has used up its quota'),
      retryAfterMs: 7_200_000,
    })
    expect(open.provider.requests).toHaveLength(1)
  })
})

/** How each refusal is classified. */
async function kindsOf(mode: Mode, refusals: readonly Refusal[], where?: 'in the stream'): Promise<[kind: string, Refusal][]> {
  const faults = refusals.map(([status, error]): MockFault => {
    if (where === 'in the stream') return { errorInStream: inStream(mode.wire, error) }
    return { status, body: error === '' ? '' : { error: fieldsOf(error) } }
  })
  await using open = await mode.open(() => 'Half', { faults })
  const found: [string, Refusal][] = []
  for (const refusal of refusals) {
    const error: unknown = await open.model.generate({ messages: hello }).catch((thrown: unknown) => thrown)
    if (!isModelError(error)) throw new Error('expected a rejection', { cause: error })
    found.push([`${error.code}${error.retryable ? ', may pass' : ''}`, refusal])
  }
  return found
}

function fieldsOf(error: string | JsonObject): JsonObject {
  return typeof error === 'string' ? { message: error } : error
}

function inStream(wire: WireName, error: string | JsonObject): JsonObject {
  if (wire === 'responses') return { type: 'response.failed', response: { status: 'failed', error: fieldsOf(error) } }
  return { ...(wire === 'anthropic-messages' ? { type: 'error' } : {}), error: fieldsOf(error) }
}
