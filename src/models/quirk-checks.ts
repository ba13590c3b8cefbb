import { InvalidOptionError } from '../core/errors.ts'
import { isJsonObject, type Json, type JsonObject } from '../core/messages.ts'

/** Checks the value of a quirk. `expected` completes the error message "Expected … to be …". */
export interface QuirkCheck {
  expected: string
  passes(value: Json): boolean
}

export const isBoolean: QuirkCheck = { expected: 'true or false', passes: (value) => typeof value === 'boolean' }

/**
 * Whether text in thinking tags at the start of a response counts as thinking. `'opened'`: the model's prompt already contains the start
 * tag, so all text before the first end tag counts as thinking.
 */
export type ThinkTags = boolean | 'opened'

/** Markup that servers leave in the response's text because they don't parse the model's format. These quirks exist for every API. */
export interface TextQuirks {
  /** Whether the text contains thinking in tags. If so, the thinking is removed from the text. */
  thinkTags: ThinkTags
  /** Whether the text sometimes contains calls, even if the request offered native calls. */
  salvageTextCalls: boolean
}

export const textQuirks: TextQuirks = { thinkTags: false, salvageTextCalls: false }

export const isThinkTags: QuirkCheck = {
  expected: "true, false or 'opened'",
  passes: (value) => typeof value === 'boolean' || value === 'opened',
}

export const textQuirkChecks: Readonly<Record<keyof TextQuirks, QuirkCheck>> = { thinkTags: isThinkTags, salvageTextCalls: isBoolean }

export const isPositiveInteger: QuirkCheck = {
  expected: 'an integer ≥ 1',
  passes: (value) => typeof value === 'number' && Number.isInteger(value) && value >= 1,
}

export const oneOf = (...words: string[]): QuirkCheck => ({
  expected: words.map((word) => `'${word}'`).join(' or '),
  passes: (value) => typeof value === 'string' && words.includes(value),
})

export const listOf = (...words: string[]): QuirkCheck => ({
  expected: `a list of ${words.map((word) => `'${word}'`).join(', ')}`,
  passes: (value) => Array.isArray(value) && value.every((word) => typeof word === 'string' && words.includes(word)),
})

/** Checks a `structuredOutput` quirk: `'alone'`, `'with-tools'`, or null. */
export const isStructuredOutput: QuirkCheck = {
  expected: "'alone', 'with-tools' or null",
  passes: (value) => value === null || value === 'alone' || value === 'with-tools',
}

export const isSystemMessages: QuirkCheck = oneOf('anywhere', 'first', 'as-user')

export const isMessageOrder: QuirkCheck = oneOf('any', 'assistant-after-tools', 'alternating')

/** Checks a `toolCallId` quirk: the accepted call ids, or a template for generating them. */
export const isCallIdRule: QuirkCheck = {
  expected:
    "null, an object with a `pattern` that is a regular expression and a `length` from 8 to 40, or one with a `template` with 'INDEX'",
  passes: (value) => {
    if (value === null) return true
    if (!isJsonObject(value)) return false
    const { pattern, length, template } = value
    if (template !== undefined) return typeof template === 'string' && template.includes('INDEX')
    return isPattern(pattern) && isLength(length)
  },
}

/**
 * Merges the layers of quirks over the defaults. A later layer takes precedence over an earlier layer. Throws `invalid_option` for an
 * unknown quirk or an invalid value.
 */
export function mergeQuirks<Quirks extends object>(
  defaults: Quirks,
  checks: Readonly<Record<keyof Quirks & string, QuirkCheck>>,
  layers: readonly (JsonObject | undefined)[],
): Quirks {
  const merged: JsonObject = {}
  const known = new Map<string, QuirkCheck>(Object.entries(checks))
  for (const layer of layers) {
    for (const [key, value] of Object.entries(layer ?? {})) {
      const check = known.get(key)
      if (check === undefined) {
        throw new InvalidOptionError(`quirks.${key}`, `absent; the quirks are ${[...known.keys()].join(', ')}`, value)
      }
      if (!check.passes(value)) throw new InvalidOptionError(`quirks.${key}`, check.expected, value)
      merged[key] = value
    }
  }
  return { ...defaults, ...merged }
}

function isPattern(value: Json | undefined): boolean {
  if (typeof value !== 'string') return false
  try {
    return new RegExp(value).source !== ''
  } catch {
    // The pattern is not a regular expression.
    return false
  }
}

function isLength(value: Json | undefined): boolean {
  return typeof value === 'number' && Number.isInteger(value) && value >= 8 && value <= 40
}
