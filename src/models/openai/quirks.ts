import type { JsonObject } from '../../core/messages.ts'
import { type TakesCacheKey, takesCacheKey } from '../conversion/cache-key.ts'
import { isKnownEfforts, isReasons, type KnownEfforts, type Reasons } from '../conversion/effort.ts'
import type { MessageOrder, SystemMessages } from '../conversion/fit-conversation.ts'
import type { CallIdRule, MalformedArguments } from '../conversion/wire.ts'
import {
  isBoolean,
  isCallIdRule,
  isMessageOrder,
  isStructuredOutput,
  isSystemMessages,
  listOf,
  mergeQuirks,
  oneOf,
  type QuirkCheck,
  type TextQuirks,
  textQuirkChecks,
  textQuirks,
} from '../quirk-checks.ts'
import { isToolSchema, type ToolSchema } from './moonshot-schema.ts'

/**
 * How servers that speak Chat Completions differ. `config/providers.yaml` sets these quirks for each provider, and `settings.quirks`
 * overrides them.
 */
export interface OpenAIQuirks extends TextQuirks {
  /** The body field for `maxOutputTokens`. */
  maxTokensField: 'max_tokens' | 'max_completion_tokens'
  /** The body field for `seed`. */
  seedField: 'seed' | 'random_seed'
  /** Whether the server accepts messages with the role `developer`. If false, they are sent as `system`. */
  developerRole: boolean
  /**
   * Where the server accepts system messages. `first`: only one system message, as the first message. `as-user`: only at the start; later
   * system messages are sent as user messages.
   */
  systemMessages: SystemMessages
  /**
   * The order of messages that the server requires. The driver inserts messages, and joins adjacent messages of the same role, until the
   * conversation has this order.
   */
  messageOrder: MessageOrder
  /** Whether the server accepts a conversation that ends with an answer of the model. If false, a user message is added. */
  endsWithAnswer: boolean
  /** Whether the server accepts `parallel_tool_calls`. */
  parallelToolCalls: boolean
  /**
   * Whether the server accepts `stream_options: {include_usage: true}`. Set to `false` for servers that always report usage, and for
   * servers that never do.
   */
  streamOptions: boolean
  /**
   * Whether the server supports requests without streaming. If false, all requests are streamed, and the response is assembled from the
   * stream.
   */
  wholeResponses: boolean
  /** Whether the server accepts `strict` in tool definitions. */
  strictTools: boolean
  /** The JSON Schemas that the server accepts for tool parameters: any schema, or only Moonshot's subset. */
  toolSchema: ToolSchema
  /**
   * Whether the server requires definitions of the tools that were called earlier in the conversation, even if the request offers no tools.
   */
  toolsOfCalls: boolean
  /** Whether the server accepts `name`, the author's name, in messages. */
  messageNames: boolean
  /** Whether the server requires the tool's name in tool results. */
  resultNames: boolean
  /**
   * The tool choices that the server accepts. An unsupported named choice is replaced by `required` if the server accepts that. Any other
   * unsupported choice is left out. If `none` is left out, the tools are left out too.
   */
  toolChoice: ('auto' | 'none' | 'required' | 'named')[]
  /** Whether the tool choice may be `required` or name a tool while the model thinks. */
  forcedChoiceWhileThinking: boolean
  /**
   * The efforts that the model supports. `true` (all) or a list of names: the effort is sent as `reasoning_effort`. An object maps each
   * effort to the body fields that request it. Any other effort is replaced by the nearest one.
   */
  reasoningEffort: KnownEfforts
  /**
   * The efforts that are accepted in requests with tools. `true`: any effort. `false`: no effort, so the field is left out. `'none'`: only
   * the effort `none`, which must be sent.
   */
  effortWithTools: boolean | 'none'
  /**
   * The requests in which the model reasons. Set for models that refuse `temperature`, `topP`, `stop` and penalties in these requests.
   * Null: the model always accepts these settings.
   */
  reasons: Reasons | null
  /**
   * Whether to send back the reasoning text of assistant messages, in its original field. Reasoning in blocks or content parts is always
   * sent back.
   */
  sendReasoningBack: boolean
  /** Placeholder `reasoning_content` for assistant messages without reasoning. Used for servers that require the field. */
  missingReasoning: string | null
  /**
   * How to send back a call whose arguments are not a JSON object. `'keep'`: with the model's text. `'empty'`: with `{}`, for servers that
   * refuse any text that is not a JSON object.
   */
  malformedArguments: MalformedArguments
  /**
   * The call ids that the server accepts. With a `pattern` (a regular expression), any other id is replaced by a hash of `length` letters
   * and digits. With a `template`, such as `functions.NAME:INDEX`, all ids are generated from it. `INDEX` counts the calls of the
   * conversation. Results get the same ids as their calls.
   */
  toolCallId: CallIdRule | null
  /**
   * When the server accepts a schema for the response's text: only in requests without tools (`'alone'`), also in requests with tools
   * (`'with-tools'`), or never (null).
   */
  structuredOutput: 'alone' | 'with-tools' | null
  /** Sampling settings that the model refuses. */
  unsupported: string[]
  /** The types of content parts, besides text, that the server accepts in user messages. */
  contentParts: ('image' | 'file')[]
  /** Whether the content of tool messages may be a list of text parts. If false, the texts are joined into one string. */
  toolContentParts: boolean
  /** Whether the provider reports the cost of a request as `usage.cost`, in US dollars. */
  reportsCost: boolean
  /** Whether the server accepts `prompt_cache_key`. Null: only OpenAI's own servers do. */
  promptCacheKey: TakesCacheKey
}

const defaults: OpenAIQuirks = {
  maxTokensField: 'max_tokens',
  seedField: 'seed',
  developerRole: false,
  systemMessages: 'anywhere',
  messageOrder: 'any',
  endsWithAnswer: true,
  parallelToolCalls: true,
  streamOptions: true,
  wholeResponses: true,
  strictTools: false,
  toolSchema: 'json-schema',
  toolsOfCalls: false,
  messageNames: true,
  resultNames: false,
  toolChoice: ['auto', 'none', 'required', 'named'],
  forcedChoiceWhileThinking: true,
  reasoningEffort: true,
  effortWithTools: true,
  reasons: null,
  sendReasoningBack: false,
  missingReasoning: null,
  malformedArguments: 'empty',
  toolCallId: null,
  structuredOutput: null,
  unsupported: [],
  contentParts: ['image'],
  toolContentParts: false,
  reportsCost: false,
  ...textQuirks,
  promptCacheKey: null,
}

const checks: Record<keyof OpenAIQuirks, QuirkCheck> = {
  maxTokensField: oneOf('max_tokens', 'max_completion_tokens'),
  seedField: oneOf('seed', 'random_seed'),
  developerRole: isBoolean,
  systemMessages: isSystemMessages,
  messageOrder: isMessageOrder,
  endsWithAnswer: isBoolean,
  parallelToolCalls: isBoolean,
  streamOptions: isBoolean,
  wholeResponses: isBoolean,
  strictTools: isBoolean,
  toolSchema: isToolSchema,
  toolsOfCalls: isBoolean,
  messageNames: isBoolean,
  resultNames: isBoolean,
  toolChoice: listOf('auto', 'none', 'required', 'named'),
  forcedChoiceWhileThinking: isBoolean,
  reasoningEffort: isKnownEfforts,
  effortWithTools: { expected: "true, false or 'none'", passes: (value) => typeof value === 'boolean' || value === 'none' },
  reasons: {
    expected: "'never', 'when-asked', 'by-default', 'always' or null",
    passes: (value) => value === null || isReasons.passes(value),
  },
  sendReasoningBack: isBoolean,
  missingReasoning: { expected: 'a text or null', passes: (value) => value === null || typeof value === 'string' },
  malformedArguments: oneOf('keep', 'empty'),
  toolCallId: isCallIdRule,
  structuredOutput: isStructuredOutput,
  unsupported: listOf('temperature', 'topP', 'maxOutputTokens', 'stop', 'seed', 'frequencyPenalty', 'presencePenalty', 'reasoningEffort'),
  contentParts: listOf('image', 'file'),
  toolContentParts: isBoolean,
  reportsCost: isBoolean,
  ...textQuirkChecks,
  promptCacheKey: takesCacheKey,
}

/**
 * Merges the layers of quirks over the defaults. A later layer takes precedence over an earlier layer. Throws `invalid_option` for an
 * unknown quirk or an invalid value.
 */
export function openAIQuirks(...layers: readonly (JsonObject | undefined)[]): OpenAIQuirks {
  return mergeQuirks(defaults, checks, layers)
}
