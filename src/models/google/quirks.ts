import type { JsonObject } from '../../core/messages.ts'
import { isEffortMap } from '../conversion/effort.ts'
import {
  isBoolean,
  isStructuredOutput,
  listOf,
  mergeQuirks,
  oneOf,
  type QuirkCheck,
  type TextQuirks,
  textQuirkChecks,
  textQuirks,
} from '../quirk-checks.ts'

/**
 * The differences between Gemini models, and between the two services that offer them. `config/providers.yaml` sets these quirks, and
 * `settings.quirks` overrides them.
 */
export interface GoogleQuirks extends TextQuirks {
  /** The service, which determines addresses and credentials. */
  service: 'gemini' | 'vertex'
  /**
   * The API version. `beta`: the newest beta version of the service. Null: the SDK's default. A version in the base URL takes precedence.
   */
  apiVersion: string | null
  /**
   * The efforts that the model supports, each with the `thinkingConfig` that requests it. Any other effort is replaced by the nearest one.
   */
  reasoningEffort: { [effort: string]: JsonObject }
  /** Whether to request summaries of thoughts. Models without thinking refuse such requests. */
  includeThoughts: boolean
  /** Placeholder signature for calls without a signature, such as calls that another model made. Null: signatures are not required. */
  missingSignature: string | null
  /**
   * When the model accepts a schema for the response's text: only in requests without tools (`'alone'`), also in requests with tools
   * (`'with-tools'`), or never (null).
   */
  structuredOutput: 'alone' | 'with-tools' | null
  /** Sampling settings that the model refuses. */
  unsupported: string[]
  /** How schemas of tools and responses are sent: as JSON Schema, or converted to the OpenAPI subset. */
  toolSchema: 'json-schema' | 'openapi'
  /** Whether the service accepts `id` in calls and results. If false, results are matched to calls by their order. */
  callIds: boolean
  /** The types of content parts, besides text, that the model accepts in user messages. */
  contentParts: ('image' | 'file')[]
  /** The types of content parts, besides text, that the model accepts in tool results. */
  resultParts: ('image' | 'file')[]
}

const defaults: GoogleQuirks = {
  service: 'gemini',
  apiVersion: null,
  reasoningEffort: {},
  includeThoughts: false,
  missingSignature: null,
  structuredOutput: null,
  unsupported: [],
  toolSchema: 'json-schema',
  callIds: true,
  contentParts: ['image', 'file'],
  resultParts: [],
  ...textQuirks,
}

const isTextOrNull: QuirkCheck = { expected: 'a text or null', passes: (value) => value === null || typeof value === 'string' }

const checks: Record<keyof GoogleQuirks, QuirkCheck> = {
  service: oneOf('gemini', 'vertex'),
  apiVersion: isTextOrNull,
  reasoningEffort: isEffortMap,
  includeThoughts: isBoolean,
  missingSignature: isTextOrNull,
  structuredOutput: isStructuredOutput,
  unsupported: listOf('temperature', 'topP', 'stop', 'seed', 'frequencyPenalty', 'presencePenalty'),
  toolSchema: oneOf('json-schema', 'openapi'),
  callIds: isBoolean,
  contentParts: listOf('image', 'file'),
  resultParts: listOf('image', 'file'),
  ...textQuirkChecks,
}

/**
 * Merges the layers of quirks over the defaults. A later layer takes precedence over an earlier layer. Throws `invalid_option` for an
 * unknown quirk or an invalid value.
 */
export function googleQuirks(...layers: readonly (JsonObject | undefined)[]): GoogleQuirks {
  return mergeQuirks(defaults, checks, layers)
}
