import { unmarkedJson } from '../bodies/json/bare-json.ts'
import { readBarePython, readPythonLine } from '../bodies/python/bare-python.ts'
import { pythonBody } from '../bodies/python/python-body.ts'
import { readPythonFence } from '../bodies/python/python-fence.ts'
import type { Dialect, Envelope, PastCall } from '../dialect.ts'
import { describeTools, markersOf, promptWith, renderJsonResults } from '../render.ts'

function pythonEnvelope(open: string, close: string): Envelope {
  return { open: [open], close: [close], read: pythonBody([close]) }
}

/**
 * Reads calls as Python, `[get_weather(city="Oslo")]`: without markers, in a fence, or between the markers of LFM2, Llama 4 and Olmo.
 * Models that are asked for Python sometimes write JSON. https://docs.vllm.ai/en/latest/features/tool_calling.html
 */
export const pythonic: Dialect = {
  name: 'pythonic',
  envelopes: [
    pythonEnvelope('<|tool_call_start|>', '<|tool_call_end|>'),
    pythonEnvelope('<|python_start|>', '<|python_end|>'),
    pythonEnvelope('<function_calls>', '</function_calls>'),
    pythonEnvelope('<TOOLCALL>', '</TOOLCALL>'),
    { open: ['```'], read: readPythonFence, inFence: true },
  ],
  bare: [{ starts: ['['], read: readBarePython }, ...unmarkedJson, { read: readPythonLine }],
  resultMarkers: ['<tool_response>', '<|tool_response_start|>'],
  prompt: promptWith(
    describeTools,
    `To call tools, answer with a list of python calls, every argument by name with a python literal, and nothing else:

[tool_name(parameter="value", other=1)]

Write it as it is, not in a code block. Then stop and wait: the results come in the next message. Never write those yourself.`,
  ),
  renderCalls: (calls) => `[${calls.map(renderCall).join(', ')}]`,
  renderResults: (results) => renderJsonResults(pythonic, results),
}

function renderCall({ name, arguments: args }: PastCall): string {
  const entries = Object.entries(args)
  const named = entries.every(([key]) => /^[\p{L}_][\p{L}\p{N}_.-]*$/u.test(key))
  // An argument whose name is not valid in Python can only be passed in a dictionary.
  if (!named) return `${name}(**${writePython(args)})`
  return `${name}(${entries.map(([key, value]) => `${key}=${writePython(value)}`).join(', ')})`
}

function writePython(value: unknown): string {
  if (value === null || value === undefined) return 'None'
  if (typeof value === 'boolean') return value ? 'True' : 'False'
  if (typeof value === 'string') return writeString(value)
  if (Array.isArray(value)) return `[${value.map(writePython).join(', ')}]`
  if (typeof value === 'object') {
    return `{${Object.entries(value)
      .map(([key, inner]) => `${writeString(key)}: ${writePython(inner)}`)
      .join(', ')}}`
  }
  return JSON.stringify(value) ?? 'None'
}

/** A JSON string is also a valid Python string. Markers inside the string are escaped. */
function writeString(text: string): string {
  let written = JSON.stringify(text)
  for (const marker of markersOf(pythonic)) {
    written = written.replaceAll(marker, `\\u${marker.charCodeAt(0).toString(16).padStart(4, '0')}${marker.slice(1)}`)
  }
  return written
}
