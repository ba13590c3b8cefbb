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

/** What differs between servers that speak Chat Completions. Set for each provider in `config/providers.yaml`, overridable by `settings.quirks`. */
export interface OpenAIQuirks extends TextQuirks {
  /** The field for `maxOutputTokens`. */
  maxTokensField: 'max_tokens' | 'max_completion_tokens'
  /** The field for `seed`. */
  seedField: 'seed' | 'random_seed'
  /** Takes messages of the role `developer`. False: they are sent as `system`. */
  developerRole: boolean
  /** Where it takes system messages. `first`: only one, as the first message. `as-user`: only at the beginning; later ones are sent as the user's. */
  systemMessages: SystemMessages
  /** The order of messages it takes; what is missing in between is added, and what stands together is joined, on the way to it. */
  messageOrder: MessageOrder
  /** Takes `parallel_tool_calls`. */
  parallelToolCalls: boolean
  /** Takes `stream_options: {include_usage: true}`. False: it reports usage without being asked, or not at all. */
  streamOptions: boolean
  /** Answers without a stream. False: is asked for a stream whatever the request says, and the response is put together from it. */
  wholeResponses: boolean
  /** Takes `strict` in a tool's definition. */
  strictTools: boolean
  /** The tool choices it takes; others are sent as the nearest one it does. */
  toolChoice: ('auto' | 'none' | 'required' | 'named')[]
  /** False: refuses `required` and named choices while it thinks. */
  forcedChoiceWhileThinking: boolean
  /** The efforts it knows: `true` or a list: as `reasoning_effort`; or the body fields that ask for each. For others it gets the nearest. */
  reasoningEffort: KnownEfforts
  /** Which efforts it takes beside tools: any; none at all, so that it uses its default; or `none` alone, which has to be sent. */
  effortWithTools: boolean | 'none'
  /** When it reasons, for a model that refuses `temperature`, `topP`, `stop` and penalties while it does. Null: it takes them at any time. */
  reasons: Reasons | null
  /** Wants the reasoning text of assistant messages sent back, in the field it came in. Reasoning in blocks or content parts always goes back. */
  sendReasoningBack: boolean
  /** What it gets as `reasoning_content` of assistant messages that have none, because it insists on the field. */
  missingReasoning: string | null
  /** What it gets back of arguments that are not a JSON object. `'empty'`: `{}`, because it may refuse the whole history for the text itself. */
  malformedArguments: MalformedArguments
  /**
   * Which call ids it takes, as a regular expression: others are replaced by a hash of `length` letters and digits. Or a `template` after which all
   * calls are named, such as `functions.NAME:INDEX`; `INDEX` counts the calls of the conversation. Ids of results follow those of their calls.
   */
  toolCallId: CallIdRule | null
  /** Takes a schema for its response's text: in requests without tools, beside tools as well, or not at all. */
  structuredOutput: 'alone' | 'with-tools' | null
  /** Sampling settings it refuses. */
  unsupported: string[]
  /** Parts of a user message it takes besides text. */
  contentParts: ('image' | 'file')[]
  /** Takes a tool message's content as a list of text parts. False: the texts are joined. */
  toolContentParts: boolean
  /** Reports what a request cost, in US dollars, as `usage.cost`. */
  reportsCost: boolean
  /** Takes `prompt_cache_key`. Null: where it is OpenAI itself. */
  promptCacheKey: TakesCacheKey
}

const defaults: OpenAIQuirks = {
  maxTokensField: 'max_tokens',
  seedField: 'seed',
  developerRole: false,
  systemMessages: 'anywhere',
  messageOrder: 'any',
  parallelToolCalls: true,
  streamOptions: true,
  wholeResponses: true,
  strictTools: false,
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
  parallelToolCalls: isBoolean,
  streamOptions: isBoolean,
  wholeResponses: isBoolean,
  strictTools: isBoolean,
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

/** The quirks of `layers`, later ones over earlier ones, over the defaults. Throws `invalid_option` for a key or value that is not one. */
export function openAIQuirks(...layers: readonly (JsonObject | undefined)[]): OpenAIQuirks {
  return mergeQuirks(defaults, checks, layers)
}
