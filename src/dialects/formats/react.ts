import { isJsonObject } from '../../core/messages.ts'
import { cutReason } from '../bodies/cut.ts'
import { finishCall, looseJson, nameRepairs, readArguments } from '../bodies/json/json-calls.ts'
import { readJsonText } from '../bodies/json/json-text.ts'
import { ValueFrame } from '../bodies/json/value-frame.ts'
import type { CallReading, Dialect, Reading } from '../dialect.ts'
import { markerSet } from '../reader/markers.ts'
import { Blanks, Match, Until } from '../reader/waits.ts'
import { describeTools, promptWith, writeJson } from '../render.ts'

const input = 'Action Input:'
const inputLabel = markerSet([input])
const lineEnd = markerSet(['\n'])
/** An action input that is not JSON ends before a line that starts with one of these words. */
const ends = markerSet(['Observation:', 'Thought:', 'Final Answer:', 'Action:'].map((word) => `\n${word}`))

/**
 * Reads `Action: NAME` and `Action Input: …` on separate lines. This is the oldest format for calls in text. Prefer any other dialect.
 * https://arxiv.org/abs/2210.03629
 */
export const react: Dialect = {
  name: 'react',
  envelopes: [{ open: ['Action:'], read: readAction, lineStart: true }],
  resultMarkers: ['Observation:'],
  prompt: promptWith(
    describeTools,
    `To call a tool, write these lines, then stop and wait:

Thought: why the tool is needed
Action: tool name
Action Input: {"parameter": "value"}

The result comes in the next message as "Observation:". Never write one yourself. When you know the answer, write:

Final Answer: the answer`,
  ),
  renderCalls: (calls) => calls.map(({ name, arguments: args }) => `Action: ${name}\nAction Input: ${writeJson(args, react)}`).join('\n'),
  renderResults: (results) =>
    results.map(({ content, isError }) => `Observation: ${isError ? 'Error: ' : ''}${defuseLines(content)}`).join('\n'),
}

/** Prevents a line of a result from looking like a line of the conversation. */
function defuseLines(text: string): string {
  return text.replace(/^([ \t]*)(Action|Action Input|Observation|Thought|Final Answer):/gm, '$1$2\u200b:')
}

function* readAction(reading: CallReading): Reading {
  const { cursor, tools } = reading
  const line = new Until(lineEnd, 128)
  if (!line.feed(cursor)) yield line
  const written = line.text.trim().replace(/^[`*"']+|[`*"'.]+$/g, '')
  const name = tools.resolve(written)
  if (line.marker === undefined || name === undefined) {
    if (line.marker !== undefined) cursor.unread(line.marker)
    return 'text'
  }
  const label = new Match(inputLabel)
  if (!label.feed(cursor)) yield label
  if (label.matched === undefined) return 'text'
  const blanks = new Blanks()
  if (!blanks.feed(cursor)) yield blanks
  const repairs = nameRepairs(written, name)
  let value: unknown
  if (blanks.next === 123) {
    const frame = new ValueFrame()
    if (!frame.feed(cursor)) yield frame
    const read = readJsonText(frame.text)
    if (frame.state !== 'complete' || !read.ok) {
      reading.reject(reading.cut ? cutReason : `The action input is not valid JSON: ${read.ok ? 'unfinished' : read.problem}`)
      return 'done'
    }
    if (!read.strict) repairs.push(looseJson)
    value = read.value
  } else {
    const rest = new Until(ends)
    if (!rest.feed(cursor)) yield rest
    if (rest.marker !== undefined) cursor.unread(rest.marker)
    else if (reading.cut) {
      reading.reject(cutReason)
      return 'done'
    }
    // A fence around the input is ignored.
    value = rest.text
      .trim()
      .replace(/^```\w*|```$/g, '')
      .trim()
  }
  const args = readArguments(value, name, tools, repairs)
  if (args === undefined || !isJsonObject(args)) {
    reading.reject(`Expected the action input to be a JSON object with the arguments of ${name}`)
    return 'done'
  }
  reading.call(finishCall(name, args, repairs))
  return 'done'
}
