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

/** How Gemini models, and the two services that offer them, differ. Set in `config/providers.yaml`; `settings.quirks` overrides it. */
export interface GoogleQuirks extends TextQuirks {
  /** The service, which determines addresses and credentials. */
  service: 'gemini' | 'vertex'
  /** The API's version. `beta`: the service's newest; null: the SDK's. A version in the address takes precedence. */
  apiVersion: string | null
  /** The efforts it knows, with the `thinkingConfig` that requests each. Others become the nearest one. */
  reasoningEffort: { [effort: string]: JsonObject }
  /** Whether to request summaries of thoughts. Models that don't think refuse that. */
  includeThoughts: boolean
  /** The signature to send for a call without one, such as another model's. Null: none is required. */
  missingSignature: string | null
  /** Whether it accepts a schema for the response's text: only in requests without tools, beside tools as well, or not at all. */
  structuredOutput: 'alone' | 'with-tools' | null
  /** Sampling settings that it refuses. */
  unsupported: string[]
  /** How schemas of tools and responses are sent: as JSON Schema, or converted to the OpenAPI subset. */
  toolSchema: 'json-schema' | 'openapi'
  /** Whether it accepts `id` in calls and results. If not, results are matched by their order. */
  callIds: boolean
  /** The parts that it accepts besides text in user messages. */
  contentParts: ('image' | 'file')[]
  /** The parts that it accepts besides text in tool results. */
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

/** Merges the layers of quirks over the defaults, later ones first. Throws `invalid_option` for an unknown quirk or an invalid value. */
export function googleQuirks(...layers: readonly (JsonObject | undefined)[]): GoogleQuirks {
  return mergeQuirks(defaults, checks, layers)
}
