import type { CallReading, Reading, TextToolCall, Wait } from '../../dialect.ts'
import { markerSet } from '../../reader/markers.ts'
import { Blanks, Match, Until } from '../../reader/waits.ts'
import { readJsonCalls } from '../json/bare-json.ts'
import { ValueFrame } from '../json/value-frame.ts'
import { longestCall, namedCalls, readCallFrame } from './bare-python.ts'
import { listsObjects } from './python-body.ts'

const fencedEnds = markerSet(['```', ';', ','])
const infoEnds = markerSet(['\n', '{', '[', '('])

/**
 * Reads a code fence that contains only calls, as Python or JSON. The opening marker has been read. Ordinary code also contains function
 * calls, so calls are reported only after the whole fence has been read. Calls in a `tool_code` fence are reported at once.
 */
export function* readPythonFence(reading: CallReading): Reading {
  const { cursor } = reading
  const info = new Until(infoEnds, 64)
  if (!info.feed(cursor)) yield info
  const [, language = '', inLine = ''] =
    /^(?:(tool_code|tool_calls?|python3?|py|json|text|plaintext)(?:\s+|$))?(.*)$/s.exec(info.text) ?? []
  const { marker } = info
  // The call may be on the line of the fence: ```f(a=1)```.
  const callInLine = marker === '('
  if (marker !== undefined && marker !== '\n') cursor.unread(callInLine ? `${inLine}(` : marker)
  if (marker === undefined || (inLine !== '' && !callInLine)) return 'text'
  const atOnce = language.startsWith('tool')
  const held: TextToolCall[] = []
  const report = (): void => {
    for (const call of held.splice(0)) reading.call(call)
  }
  for (let called = false; ; ) {
    const end = new Match(fencedEnds)
    if (!end.feed(cursor)) yield end
    if (end.matched === ',' || end.matched === ';') continue
    if (end.matched === '```' || cursor.atEnd) {
      if (end.matched === undefined && reading.cut) return 'text'
      report()
      return called ? 'done' : 'text'
    }
    const calls = yield* readNext(reading, atOnce)
    if (calls === undefined) return 'text'
    called = true
    held.push(...calls)
    if (atOnce) report()
  }
}

function* readNext(reading: CallReading, bare: boolean): Generator<Wait, TextToolCall[] | undefined> {
  const { cursor, tools } = reading
  const blanks = new Blanks()
  if (!blanks.feed(cursor)) yield blanks
  if (blanks.next === 123 || (blanks.next === 91 && (yield* listsObjects(reading)))) return yield* readJsonCalls(reading)
  if (blanks.next !== 91) {
    const text = yield* readCallFrame(reading)
    const calls = text === undefined ? undefined : namedCalls(text, tools)
    // A call without arguments, such as `main()`, may be ordinary code. It doesn't count as a tool call.
    return bare || calls?.every(({ arguments: args }) => Object.keys(args).length > 0) ? calls : undefined
  }
  const frame = new ValueFrame({ python: true, limit: longestCall })
  if (!frame.feed(cursor)) yield frame
  return frame.state === 'complete' ? namedCalls(frame.text, tools) : undefined
}
