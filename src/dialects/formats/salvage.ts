import { jsonBody, readJsonValues } from '../bodies/json/json-body.ts'
import { readNameTag } from '../bodies/tags/name-tag.ts'
import { readSentinelCalls, sentinel } from '../bodies/tags/sentinel-calls.ts'
import type { CallReading, Dialect, Envelope, ReadBody, Reading } from '../dialect.ts'
import { markerSet } from '../reader/markers.ts'
import { Peek } from '../reader/waits.ts'
import { renderJsonCalls, renderJsonResults } from '../render.ts'
import { deepseekEnvelopes } from './deepseek.ts'
import { functionaryEnvelopes } from './functionary.ts'
import { gemmaEnvelopes } from './gemma.ts'
import { harmonyEnvelopes } from './harmony.ts'
import { hermes, jsonEnvelope } from './hermes.ts'
import { invoke } from './invoke.ts'
import { pythonTag } from './json.ts'
import { kimiEnvelopes } from './kimi.ts'
import { kimiK3Envelopes } from './kimi-k3.ts'
import { mistral } from './mistral.ts'
import { pairTagEnvelopes } from './pair-tags.ts'
import { pythonic } from './pythonic.ts'
import { qwenCoder } from './qwen-coder.ts'
import { solarEnvelopes } from './solar.ts'

/** Markers of Cohere, Doubao, GigaChat, InternLM and Phi-4. */
const others: readonly Envelope[] = [
  jsonEnvelope('<|START_ACTION|>', '<|END_ACTION|>'),
  jsonEnvelope('<|tools_prefix|>', '<|tools_suffix|>'),
  { open: ['Action: ```json', 'Action:```json'], close: ['```'], read: jsonBody({ close: ['```'] }), lineStart: true, inFence: true },
  { open: ['<|function_call|>', 'function call<|role_sep|>'], read: jsonBody({ close: [] }) },
  { open: ['function call{'], read: readFromBracket, lineStart: true },
  jsonEnvelope('<|action_start|><|plugin|>', '<|action_end|>'),
  jsonEnvelope('<|FunctionCallBegin|>', '<|FunctionCallEnd|>'),
  { open: ['functools['], read: readFromBracket },
]

const values = markerSet(['{', '[{', '[ {', '[\n'])
const tagStart = markerSet(['<'])

/** Reads `<function_calls>`, which contains tags (Anthropic) or Python calls (Olmo 3). */
const functionCalls: Envelope = { open: ['<function_calls>'], close: ['</function_calls>'], read: readFunctionCalls }
const readTags = readerOf(invoke, '<function_calls>')
const readPython = readerOf(pythonic, '<function_calls>')

function readerOf({ envelopes }: Dialect, opener: string): ReadBody {
  const found = envelopes.find(({ open }) => open.includes(opener))
  if (found === undefined) throw new Error(`Expected a format that begins with ${opener}`)
  return found.read
}

function* readFunctionCalls(reading: CallReading): Reading {
  const tag = new Peek(tagStart)
  if (!tag.feed(reading.cursor)) yield tag
  return (tag.matched === undefined ? readPython : readTags)(reading)
}

/** Reads calls after a marker such as `functools[`, whose bracket is part of the calls. */
function* readFromBracket(reading: CallReading): Reading {
  reading.cursor.unread(reading.opener.slice(-1))
  const value = new Peek(values)
  if (!value.feed(reading.cursor)) yield value
  return value.matched === undefined ? 'text' : readJsonValues(reading, { close: [] }, [])
}

/**
 * Reads calls of models that were offered native tool calls but wrote a call as text. Knows the special tokens that servers leave in the
 * text, such as those of Harmony, Gemma, DeepSeek and Kimi, and the markers of most other dialects. Text without a marker is never read as
 * a call.
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
    ...functionaryEnvelopes,
    ...kimiK3Envelopes,
    ...solarEnvelopes,
    ...pairTagEnvelopes,
    { open: [sentinel], read: readSentinelCalls },
    ...others,
    pythonTag,
    functionCalls,
    ...[hermes, qwenCoder, invoke, mistral, pythonic].flatMap(({ envelopes }) => envelopes.filter(({ inFence }) => !inFence)),
  ],
  nameTag: readNameTag,
  resultMarkers: [
    ...hermes.resultMarkers,
    ...mistral.resultMarkers,
    '<｜tool▁outputs▁begin｜>',
    '<|tool▁outputs▁begin|>',
    '<|tool_response>',
    '<start_function_response>',
  ],
}
