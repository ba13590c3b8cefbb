import { type CallTags, callTags } from '../bodies/tags/call-tags.ts'
import { readTaggedCall, readTaggedCalls, readToFirstCall } from '../bodies/tags/tagged.ts'
import type { CallReading, Dialect, Envelope, PastCall, Reading } from '../dialect.ts'
import { markerSet } from '../reader/markers.ts'
import { Match } from '../reader/waits.ts'
import { defuse, describeTools, plainKey, plainTexts, promptWith } from '../render.ts'

/** Special tokens around Step-3's calls. */
const stepTokens = { open: ['<｜tool_calls_begin｜>', '<｜tool_call_begin｜>'], close: ['<｜tool_call_end｜>', '<｜tool_calls_end｜>'] }

function tagsWith(prefix: string, wrap: readonly string[] = [], closeWrap: readonly string[] = []): CallTags {
  return callTags({
    call: [`<${prefix}invoke`],
    closeCall: [`</${prefix}invoke>`],
    parameter: [`<${prefix}parameter`],
    closeParameter: [`</${prefix}parameter>`],
    wrap,
    closeWrap: [
      ...closeWrap,
      `</${prefix}function_calls>`,
      `</${prefix}tool_calls>`,
      ...(prefix === '' ? ['</minimax:tool_call>', '</xai:function_call>'] : []),
    ],
  })
}

/** The tags of `<function name="x"><param name="a" …>` inside `<functions>`. */
const functionNameTags = callTags({
  call: ['<function'],
  closeCall: ['</function>'],
  parameter: ['<parameter', '<param'],
  closeParameter: ['</parameter>', '</param>'],
  wrap: ['<params>', '<parameters>', '</params>', '</parameters>'],
  closeWrap: ['</functions>'],
})

/** Returns the envelopes for calls with and without an element around them. */
function taggedEnvelopes(tags: CallTags, wrappers: readonly string[], alone: readonly string[]): Envelope[] {
  const [beginning = ''] = tags.call
  return [
    { open: wrappers, close: [...tags.closeWrap], read: wrapped },
    { open: alone, close: tags.closeCall, read: single },
  ]
  function* wrapped(reading: CallReading): Reading {
    return (yield* readToFirstCall(reading, tags)) ? readTaggedCalls(reading, tags, true) : 'text'
  }
  function single(reading: CallReading): Reading {
    reading.cursor.unread(reading.opener.slice(beginning.length))
    return readTaggedCall(reading, tags)
  }
}

const plain = tagsWith('')

/** The tags of Grok's `<xai:function_call name="x">`. The end tag often lacks its last character. */
const xaiTags = callTags({
  call: ['<xai:function_call'],
  closeCall: ['</xai:function_call'],
  parameter: ['<parameter', '<xai:parameter'],
  closeParameter: ['</parameter>', '</xai:parameter>'],
  wrap: [],
  closeWrap: [],
})
const xaiEnds = markerSet(['>', '">'])

function* readXaiCall(reading: CallReading): Reading {
  reading.cursor.unread(' name')
  const verdict = yield* readTaggedCall(reading, xaiTags)
  const end = new Match(xaiEnds, false)
  if (!end.feed(reading.cursor)) yield end
  return verdict
}

/** The characters around `DSML`: the token's own bars, and the variants that servers and models write. */
const dsmlBars = ['｜', '|', '｜｜', '||', '‖', ' | ']

function prefixedEnvelopes(prefix: string): Envelope[] {
  return taggedEnvelopes(tagsWith(prefix), [`<${prefix}function_calls>`, `<${prefix}tool_calls>`], [`<${prefix}invoke name`])
}

/**
 * Reads `<invoke name="x"><parameter name="a">value</parameter></invoke>`, the format of older Anthropic models, MiniMax-M2, DeepSeek's
 * DSML, Step-3 and Grok. https://huggingface.co/MiniMaxAI/MiniMax-M2 · https://huggingface.co/deepseek-ai/DeepSeek-V3.2
 */
export const invoke: Dialect = {
  name: 'invoke',
  envelopes: [
    ...taggedEnvelopes(plain, ['<function_calls>', '<minimax:tool_call>', '<xai:function_call>'], ['<invoke name']),
    ...['antml:', ...dsmlBars.map((bar) => `${bar}DSML${bar}`)].flatMap(prefixedEnvelopes),
    ...taggedEnvelopes(tagsWith('steptml:', [...stepTokens.open, 'function<｜tool_sep｜>'], stepTokens.close), stepTokens.open, [
      '<steptml:invoke name',
    ]),
    ...taggedEnvelopes(functionNameTags, ['<functions>'], ['<function name']),
    { open: ['<xai:function_call name'], close: ['</xai:function_call>'], read: readXaiCall },
  ],
  resultMarkers: ['<function_results>', '<tool_response>'],
  prompt: promptWith(
    describeTools,
    `To call tools, write this, each value exactly as it is meant, unescaped:

<function_calls>
<invoke name="TOOL_NAME">
<parameter name="PARAMETER_NAME">value</parameter>
</invoke>
</function_calls>

Write lists and objects as JSON. Use one <invoke> for each call, not in a code block. Then stop and wait: the results come in the next message, in <function_results></function_results> tags. Never write those yourself.`,
  ),
  renderCalls: (calls) => `<function_calls>\n${calls.map(renderCall).join('\n')}\n</function_calls>`,
  renderResults: (results) =>
    `<function_results>\n${results
      .map(({ name, content, isError }) => {
        const tag = isError ? 'error' : 'output'
        return `<result name="${name}">\n<${tag}>${defuse(content, invoke).replaceAll('</result>', '&lt;/result>')}</${tag}>\n</result>`
      })
      .join('\n')}\n</function_results>`,
}

function renderCall(call: PastCall): string {
  const { name, arguments: args } = call
  const fits = (key: string, text: string) => plainKey.test(key) && !/^\r?\n|\r?\n$/.test(text)
  const texts = plainTexts(invoke, call, ['<parameter', '</parameter>'], fits)
  if (texts === undefined) return `<invoke name="${name}">\n${JSON.stringify(args).replaceAll('<', '\\u003c')}\n</invoke>`
  return [`<invoke name="${name}">`, ...texts.map(([key, text]) => `<parameter name="${key}">${text}</parameter>`), '</invoke>'].join('\n')
}
