import { amount, boolean, callback, checkOptions, expecting, integer, oneOf, unchecked } from '../../core/check-options.ts'
import { InvalidOptionError } from '../../core/errors.ts'
import type { ChatMessage, JsonObject } from '../../core/messages.ts'
import type { Dialect } from '../../dialects/dialect.ts'
import type { ToolChoice } from '../../models/chat-model.ts'
import type { HookPlace } from '../callbacks/hooks.ts'
import type { SettingRows } from './setting-row.ts'

/** Settings of model requests and of how responses are read. */
export interface RequestSettings {
  /** `false`: requests whole responses instead of streams. Default true. */
  stream?: boolean
  /**
   * Whether the model may, must or must not call tools: `'none'`, `'required'`, or `{ type: 'function', function: { name } }`. With
   * `'required'` or a named function, only a `final` tool or a limit ends the run. A call that this setting doesn't allow is refused, even
   * if the provider lets the model make it. Default `'auto'`.
   */
  toolChoice?: ToolChoice
  /** `false` asks for at most one call per response, if the provider supports it. Default: the provider's default. */
  parallelToolCalls?: boolean
  /** Names of the tools that the model gets. Other tools can't be called. Default: all. */
  activeTools?: readonly string[]
  /**
   * Whether the model calls tools natively or in its text. Default `'auto'`.
   *
   * `'native'`: uses the model's own function calling. `'tags'`: the model writes calls as text, in `<tool_action>` tags. `'json'`, the
   * name of another dialect of `toolloop/dialects`, or a dialect of your own: the model writes calls as text in that dialect. `'auto'`:
   * uses native calls if the model supports them, and also finds tags in its text. For other models, `'auto'` uses the `dialect` in the
   * model's settings, or tags.
   *
   * @see [text calls](docs/text-calls.md)
   */
  toolCalling?: ToolCalling
  /**
   * `false`: never searches text for calls. Default true.
   *
   * `true`: searches the text of models that write calls as text. With `toolCalling: 'auto'`, also finds `<tool_action>` tags in responses
   * that have no native call.
   */
  enableToolActionParsing?: boolean
  /** `'run'`: text calls inside a code fence, or quoted in backticks, run too. Default `'text'`. */
  fencedTags?: 'text' | 'run'
  /**
   * `'continue'`: the model is asked, at most 3 times, to continue an answer that was cut off at a token limit. The parts become one
   * message. `'stop'`: the run ends with `truncated`. Default `'stop'`.
   *
   * @see [answers that are cut off](docs/options.md#answers-that-are-cut-off)
   */
  onTruncated?: 'stop' | 'continue'
  /**
   * What happens if a response breaks off after part of it was shown. `'end'`: the run ends with `model_error`. `'restart'`: the response
   * is always requested again. Default: the response is requested again if all consumers can discard the part that they have received.
   *
   * Event listeners and web pages can discard a part (see `MODEL_RETRY`). `.text`, `onText` and some formats can't: if text has reached
   * them, the run ends.
   *
   * @see [responses that break off](docs/streaming-and-events.md#responses-that-break-off)
   */
  onCut?: 'end' | 'restart'
  /** How often the model may answer again after `output` or a guardrail has refused its answer. Default 2. */
  outputRetries?: number
  /**
   * Keeps a long conversation within the model's context window. Fields: `maxTokens`, `estimate` and `summarise`. The run's result still
   * contains the whole conversation. Default: off.
   *
   * @see [long conversations](docs/long-conversations-and-steering.md)
   */
  compaction?: CompactionOptions
  /**
   * Routes requests with the same key and the same prefix to the same provider cache. OpenAI calls the key `prompt_cache_key`. `false`: no
   * key. Default: derived from the session's id.
   *
   * The key is sent to OpenAI's own address, and to providers with the quirk `promptCacheKey`.
   *
   * @see [caching](docs/providers.md#caching)
   */
  cacheKey?: string | false
  /** Fields that are copied unchanged into the request body. */
  providerOptions?: JsonObject
}

/** How tools are described to the model, and how the model writes calls. */
export type ToolCalling = 'auto' | 'native' | 'tags' | 'json' | (string & {}) | Dialect

/**
 * How a long conversation is shortened for each request. Old tool results are shortened first; then the oldest turns are left out. A call
 * is never sent without its result. System messages and the task are kept. A conversation is shortened if its estimated size exceeds the
 * limit, or if the provider reports that it is too long.
 */
export interface CompactionOptions {
  /**
   * Maximum number of conversation tokens to send. Default: three quarters of the model's context window; no limit if the window is not
   * known.
   */
  maxTokens?: number
  /**
   * Estimates the tokens of a message. Default: by its length, see `estimateTokens`.
   *
   * Contract: not awaited. If it throws, the error is logged and the tokens are estimated from the message's length.
   */
  estimate?(message: ChatMessage): number
  /**
   * Summarizes the messages that are left out. The summary replaces them.
   *
   * Contract: awaited. If it throws or rejects, the error is logged, and there is no summary. Returning an empty text means no summary.
   */
  summarise?(messages: readonly ChatMessage[], place: HookPlace): string | Promise<string>
}

const compactionChecks = { maxTokens: amount, estimate: callback, summarise: callback }

export const requestSettings: SettingRows<RequestSettings> = {
  stream: { check: unchecked, stored: 'json' },
  toolChoice: { check: unchecked, stored: 'json' },
  parallelToolCalls: { check: unchecked, stored: 'json' },
  activeTools: { check: expecting('an array of names', isNames), stored: 'json' },
  toolCalling: { check: unchecked, stored: 'json' }, // Checked by `chooseCallForm`, together with the model.
  enableToolActionParsing: { check: boolean, stored: 'json' },
  fencedTags: { check: oneOf('text', 'run'), stored: 'json' },
  onTruncated: { check: oneOf('stop', 'continue'), stored: 'json' },
  onCut: { check: oneOf('end', 'restart'), stored: 'json' },
  outputRetries: { check: integer(0), stored: 'json' },
  compaction: { check: checkCompaction, stored: 'numbers' },
  cacheKey: { check: expecting('a string, not empty, or false', isCacheKey), stored: 'json' },
  providerOptions: { check: unchecked, stored: 'json' },
}

function checkCompaction(value: unknown, at: string): void {
  if (typeof value !== 'object' || value === null) throw new InvalidOptionError(at, 'options', value)
  checkOptions(value, compactionChecks satisfies Record<keyof CompactionOptions, unknown>, 'a run', at)
}

function isNames(value: unknown): boolean {
  return Array.isArray(value) && value.every((name) => typeof name === 'string')
}

function isCacheKey(value: unknown): boolean {
  return value === false || (typeof value === 'string' && value !== '')
}
