import { jsonBody } from './bodies/json-body.ts'
import { deepseekEnvelopes } from './deepseek.ts'
import type { Dialect, Envelope } from './dialect.ts'
import { gemmaEnvelopes } from './gemma.ts'
import { harmonyEnvelopes } from './harmony.ts'
import { hermes, jsonEnvelope } from './hermes.ts'
import { invoke } from './invoke.ts'
import { kimiEnvelopes } from './kimi.ts'
import { mistral } from './mistral.ts'
import { pythonic } from './pythonic.ts'
import { qwenCoder } from './qwen-coder.ts'
import { renderJsonCalls, renderJsonResults } from './render.ts'

/** Markers of one model each that need no reader of their own. */
const others: readonly Envelope[] = [
  jsonEnvelope('<|START_ACTION|>', '<|END_ACTION|>'),
  jsonEnvelope('<|tools_prefix|>', '<|tools_suffix|>'),
  { open: ['<|function_call|>'], read: jsonBody({ close: [] }) },
]

/**
 * Every marked form there is, for replies of a model that was offered native calls and wrote one as text all the same: leaked special
 * tokens of harmony, Gemma, DeepSeek and Kimi, and the tags of all other dialects. Nothing unmarked is taken for a call.
 */
export const salvage: Dialect = {
  name: 'salvage',
  prompt: hermes.prompt,
  renderCalls: (calls) => renderJsonCalls(salvage, calls),
  renderResults: (results) => renderJsonResults(salvage, results),
  envelopes: [
    ...harmonyEnvelopes,
    ...gemmaEnvelopes,
    ...deepseekEnvelopes,
    ...kimiEnvelopes,
    ...others,
    ...hermes.envelopes,
    ...qwenCoder.envelopes,
    ...invoke.envelopes,
    ...mistral.envelopes,
    ...pythonic.envelopes.filter(({ inFence }) => !inFence),
  ],
  resultMarkers: [
    ...hermes.resultMarkers,
    ...mistral.resultMarkers,
    '<｜tool▁outputs▁begin｜>',
    '<|tool▁outputs▁begin|>',
    '<|tool_response>',
    '<start_function_response>',
  ],
}
