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

/** What differs between Gemini models, and between the two services that have them. Set in `config/providers.yaml`, overridable by `settings.quirks`. */
export interface GoogleQuirks extends TextQuirks {
  /** Which service: it decides on addresses and credentials. */
  service: 'gemini' | 'vertex'
  /** The API's version, `beta` for the service's newest; null: the SDK's. One that is written in the address goes first. */
  apiVersion: string | null
  /** The efforts it knows, with the `thinkingConfig` that asks for each. For others it gets the nearest. */
  reasoningEffort: { [effort: string]: JsonObject }
  /** Asks for summaries of the thoughts. Models that don't think refuse that. */
  includeThoughts: boolean
  /** The signature of a call that has none, because another model made it; null: none is needed. */
  missingSignature: string | null
  /** Takes a schema for its response's text: in requests without tools, beside tools as well, or not at all. */
  structuredOutput: 'alone' | 'with-tools' | null
  /** Sampling settings it refuses. */
  unsupported: string[]
  /** How a tool's parameters and a response's schema are sent: as the JSON Schema they are, or put into the OpenAPI subset. */
  toolSchema: 'json-schema' | 'openapi'
  /** Takes `id` in calls and their results; without, results are told apart by their order. */
  callIds: boolean
  /** Parts it takes besides text in user messages. */
  contentParts: ('image' | 'file')[]
  /** The same for tools' results. */
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

/** The quirks of `layers`, later ones over earlier ones, over the defaults. Throws `invalid_option` for a key or value that is not one. */
export function googleQuirks(...layers: readonly (JsonObject | undefined)[]): GoogleQuirks {
  return mergeQuirks(defaults, checks, layers)
}
