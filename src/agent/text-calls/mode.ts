import { InvalidOptionError } from '../../core/errors.ts'
import type { Dialect } from '../../dialects/dialect.ts'
import { dialectNames } from '../../dialects/names.ts'
import type { ChatModel } from '../../models/chat-model.ts'
import type { RunSettings } from '../types/options.ts'

/**
 * The text calls to look for beside native calls. `'tags'`: only `<tool_action>` tags. `'both'`: also calls that a model writes as text by
 * mistake.
 */
type ListenFor = 'tags' | 'both'

/** How a model makes calls: natively, or as text in a dialect. */
export type CallForm =
  | { native: true; listenFor?: ListenFor }
  /** With `reads: false`, the model gets the prompt of the dialect, but its answers are never parsed. */
  | { native: false; dialect: Dialect | string; reads: boolean }

export type CallSettings = Pick<RunSettings<never>, 'toolCalling' | 'enableToolActionParsing' | 'fencedTags'>

/**
 * Determines the form of calls from the settings and the model. Throws `invalid_option` for an unknown dialect, or for `'native'` if the
 * model has no native calls.
 */
export function chooseCallForm(settings: CallSettings, { capabilities, provider, model }: ChatModel): CallForm {
  const { toolCalling = 'auto', enableToolActionParsing = true } = settings
  const { nativeTools, dialect } = capabilities
  if (toolCalling === 'native' && !nativeTools) {
    throw new InvalidOptionError(
      'toolCalling',
      `'auto', 'tags', 'json' or another dialect for \`${provider}/${model}\`, which does not support native calls`,
      toolCalling,
    )
  }
  if (toolCalling === 'native') return { native: true }
  const reads = enableToolActionParsing
  if (toolCalling !== 'auto') return { native: false, dialect: namedDialect('toolCalling', toolCalling), reads }
  if (!nativeTools) return { native: false, dialect: namedDialect('model.dialect', dialect ?? 'tags'), reads }
  const listenFor = reads ? (capabilities.salvageTextCalls ? 'both' : 'tags') : undefined
  return listenFor === undefined ? { native: true } : { native: true, listenFor }
}

function namedDialect(option: string, dialect: Dialect | string): Dialect | string {
  if (dialect === 'tags') return 'tool-action'
  const isOwn = typeof dialect === 'object' && dialect !== null && Array.isArray(dialect.envelopes)
  if (isOwn || (typeof dialect === 'string' && dialectNames.includes(dialect))) return dialect
  throw new InvalidOptionError(option, `'auto', 'native', 'tags', a Dialect or one of ${dialectNames.join(', ')}`, dialect)
}
