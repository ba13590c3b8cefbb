import type { ErrorCode } from '../../core/errors.ts'

/** The details that a provider gave about a failure. */
export interface Told {
  /** The HTTP status. A status inside the body of a "200 OK" counts too. */
  status: number | undefined
  message: string
  /** All of the provider's error codes and types, the most specific first. */
  codes: readonly string[]
  /** How long the provider asks to wait, in milliseconds. */
  retryAfterMs: number | undefined
}

export interface Kind {
  code: ErrorCode
  /** Whether the same request may succeed later. */
  retryable: boolean
  /** Whether the account has no credit or its plan is used up. Waiting for a minute does not help then. */
  isOutOfCredit?: true
}

/**
 * Classifies a failure. The order of the checks matters: a failure may match several patterns, and the most specific pattern is tried
 * first.
 */
export function kindOf(told: Told): Kind {
  const { status } = told
  // For a 5xx status, a message that blames the request is ignored, because the request is rarely the cause.
  const isAboutRequest = status === undefined || (status >= 400 && status < 500)
  if (says(told, malformedCall)) return { code: 'bad_response', retryable: true }
  if (hasCode(told, overflowCodes)) return { code: 'context_overflow', retryable: false }
  if (status === 402 || (isAboutRequest && isOutOfQuota(told))) return { code: 'rate_limited', retryable: false, isOutOfCredit: true }
  if (status === 429 || hasCode(told, rateCodes) || (isAboutRequest && rateWords.test(told.message))) {
    return { code: 'rate_limited', retryable: status !== 413 && !neverFits.test(told.message) }
  }
  if (status === 413 || matches(told.message, overflowWords)) return { code: 'context_overflow', retryable: false }
  if (isAboutRequest && says(told, filter)) return { code: 'content_filter', retryable: false }
  if (status === 401 || status === 403 || hasCode(told, accessCodes)) return { code: 'unauthorized', retryable: false }
  const saysItPasses = told.retryAfterMs !== undefined || hasCode(told, passingCodes) || passingWords.test(told.message)
  const mayPass = status === undefined ? saysItPasses : isPassing(status)
  return { code: 'provider_error', retryable: mayPass }
}

/** Whether waiting for a minute or two can't help: the account is empty, or the plan's allowance for hours, days or months is used up. */
function isOutOfQuota(told: Told): boolean {
  const { message, retryAfterMs } = told
  if (hasCode(told, perDayCodes)) return true
  // Some providers use the same code for an exhausted quota and for a rate limit. At DashScope, `insufficient_quota` can also mean a limit
  // of tokens per minute.
  if (says(told, perMinute)) return false
  if (hasCode(told, quotaCodes) || matches(message, quotaWords)) return true
  return retryAfterMs === undefined && ambiguousQuotaWords.test(message)
}

// Groq: https://console.groq.com/docs/tool-use · Nova on Bedrock:
// https://docs.aws.amazon.com/nova/latest/userguide/tool-use-definition.html
const malformedCall = /tool_use_failed|output_parse_failed|json_validate_failed|invalid sequence as part of ToolUse/i

// `request_too_large` is Anthropic's limit in bytes, which a shorter conversation also avoids.
const overflowCodes =
  /context_?length|context_?size|context_?window|context_too_l|context_overflow|max_prompt_tokens|prompt_too_l|input_too_l|request_too_large|^1261$/i

/**
 * The comment before each pattern names its providers. The patterns are collected from the providers' documentation and from
 * earendil-works/pi, anomalyco/opencode and BerriAI/litellm.
 */
const overflowWords: readonly RegExp[] = [
  // OpenAI, Azure, vLLM, SGLang, DeepSeek, OpenRouter, LiteLLM, Mistral, Fireworks
  /maximum context length/i,
  // OpenAI "exceeds the context window", llama.cpp "exceeds the available context size", LM Studio "greater than the context length",
  // Together "longer than the model's context length", MiniMax "context window exceeds limit", Ollama "exceeded max context length",
  // Anthropic "exceed context limit", DS4 "the configured context size"
  /(exceed|overflow|longer|greater|larger|configured).{0,60}\bcontext[ _-]?(window|length|size|limit)/is,
  /\bcontext[ _-]?(window|length|size|limit).{0,60}(exceed|overflow|longer|greater|larger|only|requested)/is,
  // Kimi for Coding, as HTTP 401: https://github.com/MoonshotAI/kimi-code/issues/2655
  /supports only \S+ context/i,
  // Moonshot
  /exceeded model token limit/i,
  // Anthropic, Bedrock "Input is too long for requested model", Ollama, Fireworks; nginx and other proxies
  /(?<!\b(audio|image|video) )\b(prompt|input|messages?|conversation|request|payload|entity|body)( length| size)? ((is|are|was) )?too (long|large)/i,
  // Gemini "input token count (…) exceeds", GitHub Copilot "prompt token count of … exceeds", Ark, Poolside, z.ai "Prompt exceeds max
  // length"
  /\b(prompt|inputs?)( (length|size|tokens?( count)?))?( of)?( \(?[\d,]+( tokens)?\)?)? exceeds?\b/i,
  // Vertex AI
  /input token count is \d+ but/i,
  // Gemini "Request payload size exceeds the limit"
  /payload size exceeds/i,
  // Groq, Cerebras, OpenAI
  /reduce (the length of )?(the |your )?(input )?(messages|prompt|conversation)\b/i,
  // xAI "maximum prompt length", vLLM "maximum model length", SGLang
  /maximum (prompt|model|input) length/i,
  // AI21, Cohere "total number of tokens in the prompt cannot exceed"
  /too many (input |prompt )?tokens/i,
  // vLLM, for a prompt that fills the window
  /max_tokens must be at least 1, got -/i,
  // GLM, by way of several gateways: https://github.com/anomalyco/opencode/issues/27519
  /tokens in request more than max tokens/i,
  // DashScope: https://www.alibabacloud.com/help/en/model-studio/error-code
  /range of input length should be/i,
  // Volcengine Ark
  /exceed max message tokens/i,
  // Text Generation Inference
  /`?inputs`? (tokens \+ `?max_new_tokens`? must be|must have less than)/i,
  // LM Studio
  /tokens to keep from the initial prompt/i,
  // watsonx.ai
  /input tokens \d* ?cannot exceed/i,
  // OpenAI's limits on characters and on messages, but not its limit on a tool's description
  /invalid '(messages|input)[^']*': (string|array) too long/i,
  // Moonshot's limit in bytes
  /total message size \d+ exceeds/i,
  // z.ai, Qianfan
  /(上下文|输入|对话|提示词?|prompt) ?(长度)?.{0,6}(超长|过长|超出|超过)|超[出过].{0,8}上下文/i,
]

const quotaCodes: readonly RegExp[] = [
  /^base_resp_1008$/,
  // OpenAI, Moonshot, DeepSeek, one-api, Vercel AI Gateway
  /insufficient_\w*(quota|balance|funds|credit)|exceeded_current_quota|pre_consume_token_quota|^quota_?exceeded$/i,
  /billing|credit|arrear|overdue|spend(ing)?_?limit|budget_?exceeded|exceeded_?budget/i,
  // OpenCode Zen and Go, ChatGPT plans
  /usage_?limit|usage_not_included|monthly_?limit/i,
  // z.ai: https://docs.z.ai/api-reference/api-code
  /^(1113|1304|1308|1309|1310)$/,
  // DashScope, Tencent
  /FreeTierOnly|ResourcePackExhausted/i,
]
/** Gemini: https://ai.google.dev/gemini-api/docs/rate-limits */
const perDayCodes = /PerDay/

const quotaWords: readonly RegExp[] = [
  // DeepSeek, Moonshot, z.ai, MiniMax, OpenCode, one-api
  /insufficient[ _-]*(\w+[ _-])?(balance|funds|credits?|quota)\b|quota is not enough/i,
  // Anthropic, Ark, OpenCode
  /\b(credit|overdue|available) balance\b/i,
  // z.ai, Moonshot, DashScope
  /\bin arrears\b|\brecharge\b|good standing/i,
  // OpenAI, OpenRouter, xAI, Hugging Face, Together
  /\b(no|any|out of|not enough|more|purchase|buy|add \d*|available|included) ?credits\b|credits? (limit|(have been |are )?(exhausted|depleted|used up))/i,
  // xAI, Fireworks, Groq, LiteLLM, OpenRouter
  /spend(ing)? limit|budget.{0,30}exceeded|exceeded.{0,30}budget|key limit exceeded/i,
  // OpenAI
  /billing (hard|soft) limit|check your billing/i,
  // Anthropic, ChatGPT, OpenCode, z.ai, MiniMax
  /usage limits?\b.{0,40}(reached|exceeded|hit|exhausted)|(reached|exceeded|hit|exhausted).{0,60}usage limits?/i,
  /(daily|weekly|monthly)( \w+)? limit.{0,20}(reached|exceeded|exhausted)|reached (its|the|your) (daily|weekly|monthly)/i,
  // z.ai's plans, Cloudflare, DashScope, Azure, GitHub Copilot
  /(plan|package|subscription) has expired|used up your|free allocation.{0,40}used up|free (tier|quota|trial).{0,40}exhausted|call volume quota|exceeded your.{0,40}allowance/i,
  /余额不足|欠费|请充值|资源包|额度.{0,6}(不足|用完|用尽|耗尽|上限)|(使用|用量|调用次数).{0,4}上限/,
]

/** Texts that don't always mean an exhausted quota. Gemini also uses them for its quotas per minute, and then says how long to wait. */
const ambiguousQuotaWords = /exceeded your current quota|plan and billing|\bper day\b/i

const perMinute = /\bper[ _-]?(minute|min|second|sec)\b|PerMinute|(^|[^a-z])[RT]P[MS]([^a-z]|$)|concurren|allocated quota/i
// MiniMax's codes are `base_resp_…`: https://platform.minimax.io/docs/api-reference/errorcode
const rateCodes = /^base_resp_(1002|1039|1041)$|rate.?limit|too_many_requests|throttl|resource_exhausted|token_quota/i
const rateWords =
  /rate.?limit|too many requests|throttl|\bper[ _-]?(minute|min|second|sec|day)\b|\b[RT]P[MDS]\b|concurrency|please wait|quota|速率|频率|并发/i
/** Messages about a request that alone exceeds the limit per minute. Waiting does not help then. */
const neverFits = /request too large|must be reduced/i

const filter =
  /base_resp_102[67]|content[_ ]?filter|content_?policy|invalid_prompt|(bio|cyber|misalignment)_policy|ResponsibleAI|moderation|SensitiveContent|data_inspection_failed|Content Exists Risk/i
const accessCodes = /^base_resp_(1004|2049)$|invalid_api_key|api_key_invalid|authentication_error|permission/i
// 1305 is a code of z.ai: https://docs.z.ai/api-reference/api-code
const passingCodes = /^base_resp_(1000|1001|1013|1024|1033)$|^1305$|server_error|api_error|overloaded|unavailable|timeout|internal/i
const passingWords = /\boverloaded\b|(try|retry) again later|temporarily unavailable|稍后(再|重)试/i

function says(told: Told, pattern: RegExp): boolean {
  return pattern.test(told.message) || hasCode(told, pattern)
}

function hasCode({ codes }: Told, pattern: RegExp | readonly RegExp[]): boolean {
  return codes.some((code) => (pattern instanceof RegExp ? pattern.test(code) : matches(code, pattern)))
}

function matches(text: string, patterns: readonly RegExp[]): boolean {
  return patterns.some((pattern) => pattern.test(text))
}

function isPassing(status: number): boolean {
  return status === 408 || status === 409 || status === 425 || (status >= 500 && status !== 501)
}
