import { ModelError } from '../../core/errors.ts'
import { type FinishReason, type Json, type ToolCall, withoutUndefined } from '../../core/messages.ts'
import { droppedCalls } from '../chat-model.ts'
import { type ErrorContext, responseError } from '../errors/provider-error.ts'

/**
 * The meaning of a finish reason. Besides toolloop's own finish reasons:
 * - `'context_overflow'`: the context window is full;
 * - `'malformed'`: the provider could not read a tool call or an answer of the model;
 * - `'broken'`: the provider failed while the model was writing;
 * - `'paused'`: the provider stopped in the middle of a turn and expects another request.
 */
type Meaning = FinishReason | 'context_overflow' | 'malformed' | 'broken' | 'paused'

/**
 * The finish reasons of all APIs. Sources:
 * - Chat Completions: https://platform.openai.com/docs/api-reference/chat/object, https://docs.x.ai/docs/api-reference,
 *   https://docs.mistral.ai/api, https://api-docs.deepseek.com/api/create-chat-completion,
 *   https://docs.z.ai/api-reference/llm/chat-completion, https://docs.vllm.ai/en/latest/api/vllm/v1/engine,
 *   https://huggingface.co/docs/text-generation-inference, https://docs.cohere.com/reference/chat,
 *   https://lmstudio.ai/docs/typescript/api-reference/llm-prediction-stop-reason, https://cloud.ibm.com/apidocs/watsonx-ai#text-chat
 * - Responses: https://platform.openai.com/docs/api-reference/responses/object#incomplete_details
 * - Messages: https://platform.claude.com/docs/en/build-with-claude/handling-stop-reasons
 * - Bedrock: https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_Converse.html
 * - Gemini: https://ai.google.dev/api/generate-content#FinishReason. Its Chat Completions endpoint puts a word before the reason, as in
 *   `function_call_filter: MALFORMED_FUNCTION_CALL`.
 */
const words: Readonly<Record<Meaning, string>> = {
  stop: `stop stopped stop_sequence stop_string_found stop_criteria_met end end_turn end_of_text eos eos_token eos_found
    complete completed finish finished done normal`,
  tool_calls: 'tool_calls tool_call tool_use function_call function_calls',
  length: `length max_tokens max_token max_output_tokens max_output max_completion_tokens max_new_tokens max_length max_len model_length
    max_predicted_tokens_reached max_tokens_reached max_tokens_exceeded max_length_reached max_length_exceeded token_limit
    token_limit_reached output_limit output_token_limit length_limit length_cutoff length_capped limit truncated cut_off incomplete
    repetition repetition_truncation repetition_detected`,
  content_filter: `content_filter content_filtered filtered SAFETY RECITATION BLOCKLIST PROHIBITED_CONTENT SPII MODEL_ARMOR JAILBREAK
    IMAGE_SAFETY IMAGE_PROHIBITED_CONTENT IMAGE_RECITATION sensitive sensitive_content moderation moderated guardrail guardrails
    guardrail_intervened content_policy content_policy_violation policy_violation safety_filter safety_block block blocked prohibited
    inappropriate_content responsible_ai_policy_violation data_inspection_failed ERROR_TOXIC`,
  refusal: 'refusal refused',
  error: 'OTHER LANGUAGE NO_IMAGE IMAGE_OTHER MISSING_THOUGHT_SIGNATURE',
  context_overflow: `model_context_window_exceeded context_window_exceeded context_length_exceeded context_length_reached context_length
    context_limit context_limit_reached context_window_full context_full max_context max_context_length ERROR_LIMIT`,
  malformed: `MALFORMED_FUNCTION_CALL malformed_tool_call malformed_tool_use malformed_model_output MALFORMED_RESPONSE UNEXPECTED_TOOL_CALL
    TOO_MANY_TOOL_CALLS invalid_tool_call function_call_filter`,
  broken: `error server_error internal_error network_error failed insufficient_system_resource unavailable overloaded abort aborted
    cancel cancelled canceled user_cancel timeout time_limit model_unloaded`,
  paused: 'pause_turn compaction CONTINUATION',
}

const meanings: ReadonlyMap<string, Meaning> = new Map(
  (Object.keys(words) as Meaning[]).flatMap((meaning) =>
    words[meaning].split(/\s+/).map((word): [string, Meaning] => [withoutSeparators(word), meaning]),
  ),
)

function withoutSeparators(word: string): string {
  return word.toLowerCase().replace(/[^a-z0-9]/g, '')
}

/** Returns the meaning of a finish reason. Letter case and separators are ignored. Undefined if the finish reason is unknown. */
function meaningOf(word: string): Meaning | undefined {
  const forms = [word, ...word.split(':').toReversed()]
  for (const form of forms) {
    const plain = withoutSeparators(form)
    // Some servers prefix the member of an enum with the enum's name, such as `FINISH_REASON_STOP`.
    const meaning = meanings.get(plain) ?? meanings.get(plain.replace(/^(finish|stop)?reason/, ''))
    if (meaning !== undefined) return meaning
  }
  return undefined
}

const ordinary: ReadonlySet<Meaning | undefined> = new Set<Meaning>(['stop', 'tool_calls'])
/** Some servers send these values instead of leaving out the finish reason. */
const unsaid = /^(null|none|(finish_?reason_?)?unspecified|)$/i

/**
 * Combines the finish reason so far (`before`) with the next finish reason (`given`). Later reasons do not override a filter or a refusal.
 * `native`: the finish reason of the provider behind a gateway, used if the gateway reports a normal end.
 */
export function laterReason(before: string | undefined, given: Json | undefined, native?: Json): string | undefined {
  if (typeof given !== 'string' || unsaid.test(given.trim())) return before
  if (before !== undefined && isDeclined(meaningOf(before))) return before
  if (typeof native !== 'string' || !ordinary.has(meaningOf(given))) return given
  const behind = meaningOf(native)
  return behind === undefined || ordinary.has(behind) ? given : native
}

/** Whether the provider expects another request to continue. */
export function isPause(word: string | undefined): boolean {
  return word !== undefined && meaningOf(word) === 'paused'
}

function isDeclined(meaning: Meaning | undefined): meaning is 'content_filter' | 'refusal' {
  return meaning === 'content_filter' || meaning === 'refusal'
}

/** The state of a response at its end. */
export interface ResponseEnd {
  /** The provider's own finish reason. */
  word: string | undefined
  /** The meaning of an unknown finish reason. Default: `'stop'`. */
  otherwise?: 'stop' | 'length'
  /** The provider's explanation of the end. */
  explanation?: string
  text: string
  calls: ToolCall[]
  /** Whether the arguments of a call are incomplete. */
  isCut: boolean
  /** Whether a separate field or item says that the model declined to answer. */
  isRefusal?: boolean
}

export interface ReadEnd {
  finishReason: FinishReason
  /** The calls that may run. Empty if the response was filtered or refused. */
  toolCalls: ToolCall[]
  warnings: string[]
}

/**
 * Determines how a response ended, for every API. A response with complete calls has the finish reason `tool_calls`, unless it was
 * filtered, refused or cut off. Throws a `ModelError` if the response must be requested again, or if the context window is full and there
 * is no answer.
 */
export function readEnd(
  { word, otherwise = 'stop', explanation = '', ...end }: ResponseEnd,
  response: { context(): ErrorContext },
): ReadEnd {
  const { text, calls, isCut, isRefusal = false } = end
  const warnings: string[] = []
  const read = (finishReason: FinishReason, toolCalls = calls): ReadEnd => ({ finishReason, toolCalls, warnings })
  if (word === undefined) warnings.push('The response ended without a finish reason')
  const known = isRefusal ? 'refusal' : word === undefined ? 'stop' : meaningOf(word)
  const meaning = known ?? otherwise
  if (explanation !== '' && !ordinary.has(meaning)) warnings.push(`The provider explains: ${explanation}`)
  const told = explanation === '' ? '' : `: ${explanation}`
  switch (meaning) {
    case 'malformed':
      throw responseError('bad_response', 'a response', `${word}${told}`, response.context(), { retryable: true, ...codeOf(word) })
    case 'broken':
      throw responseError('stream_cut', 'a complete response', `the finish reason \`${word}\`${told}`, response.context(), {
        retryable: true,
        ...codeOf(word),
      })
    case 'content_filter':
    case 'refusal':
      if (calls.length > 0) warnings.push(droppedCalls(calls.length, meaning))
      return read(meaning, [])
    case 'context_overflow':
      if (calls.length === 0 && text.trim() === '') throw overflow(word, response.context())
      warnings.push('The response was cut because the context window is full')
      return read('length')
    case 'length':
      if (known === undefined) warnings.push(takenFor(word, 'length'))
      return read('length')
  }
  const finishReason = calls.length > 0 ? (isCut ? 'length' : 'tool_calls') : meaning === 'paused' ? 'length' : meaning
  if (finishReason === 'error') warnings.push(`The finish reason is \`${word}\``)
  if (known === undefined) warnings.push(takenFor(word, finishReason === 'tool_calls' ? 'tool_calls' : 'stop'))
  if (calls.length > 0 && isCut) warnings.push(`The last tool call was cut off, though the finish reason is \`${word}\``)
  return read(finishReason === 'tool_calls' && calls.length === 0 ? 'stop' : finishReason)
}

function takenFor(word: string | undefined, meaning: FinishReason): string {
  return `The finish reason \`${word}\` is not known and was treated as \`${meaning}\``
}

function codeOf(word: string | undefined): { providerCode?: string } {
  return word === undefined ? {} : { providerCode: word }
}

function overflow(word: string | undefined, { provider, model, partial }: ErrorContext): ModelError {
  const message = `Expected a response from \`${provider}/${model}\`, got none: the conversation fills its context window`
  return new ModelError('context_overflow', message, {
    provider,
    model,
    ...codeOf(word),
    retryable: false,
    ...withoutUndefined({ partial }),
  })
}
