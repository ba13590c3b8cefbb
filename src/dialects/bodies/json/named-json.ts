import { withoutDecoration } from '../../../tools/call/written-name.ts'
import type { CallReading, ReadBody, Reading } from '../../dialect.ts'
import { markerSet, onceForEach } from '../../reader/markers.ts'
import { Match, Until } from '../../reader/waits.ts'
import { cutReason } from '../cut.ts'
import { finishCall, looseJson, nameRepairs, readArguments } from './json-calls.ts'
import { readJsonText } from './json-text.ts'
import { ValueFrame } from './value-frame.ts'

export interface NamedJsonOptions {
  /** Markers between the name and the arguments. At least one of them must precede the arguments. */
  readonly separators: readonly string[]
  /** Markers that may follow the arguments. */
  readonly close: readonly string[]
  /** Markers that start the next call. */
  readonly open?: readonly string[]
  /** Extracts the name from the text before the arguments. Default: the text before the first separator. */
  readonly nameOf?: (head: string) => string
  /** Whether the arguments may directly follow a declared name, without a separator. */
  readonly bareName?: true
  /** Reads a call without a separator. Default: such a call is rejected. */
  readonly orElse?: ReadBody
}

const longestHead = 512

/** Markers that end the text before the arguments. */
const stopsOf = onceForEach(({ separators, close, open = [] }: NamedJsonOptions) => markerSet(['{', ...separators, ...close, ...open]))
/** Markers that may follow the arguments. */
const endsOf = onceForEach((close: readonly string[]) => markerSet(['```', ...close]))

/** Reads a name, a separator, and the arguments as JSON: `get_weather[ARGS]{"city": "Oslo"}`. */
export function* readNamedJson(reading: CallReading, options: NamedJsonOptions): Reading {
  const { cursor } = reading
  const { close, open = [] } = options
  const stops = stopsOf(options)
  let head = ''
  /** The text before the first separator. */
  let first: string | undefined
  for (;;) {
    const until = new Until(stops, longestHead)
    if (!until.feed(cursor)) yield until
    head += until.text
    const { marker } = until
    if (marker === '{') break
    if (marker !== undefined && close.includes(marker)) {
      reading.reject('Expected the name of a tool and its arguments as JSON')
      return 'done'
    }
    if (marker === undefined || open.includes(marker) || head.length > longestHead) {
      if (marker !== undefined) cursor.unread(marker)
      return 'text'
    }
    first ??= head
    head += marker
  }
  cursor.unread('{')
  const named = first !== undefined || (options.bareName === true && reading.tools.resolve(head.trim()) !== undefined)
  if (!named) {
    if (options.orElse !== undefined) {
      cursor.unread(head)
      return options.orElse(reading)
    }
    reading.reject('Expected a separator between the name of the tool and its arguments')
    return 'done'
  }
  const written = options.nameOf?.(head) ?? (first ?? head).trim()
  return readNamedArguments(reading, written, close)
}

/** Reads the arguments, starting at their brace, and the markers that close the call. */
export function* readNamedArguments(reading: CallReading, written: string, close: readonly string[]): Reading {
  const frame = new ValueFrame()
  if (!frame.feed(reading.cursor)) yield frame
  const read = readJsonText(frame.text)
  if (!read.ok || frame.state !== 'complete') {
    reading.reject(
      frame.state === 'open' ? cutReason : `The arguments are not valid JSON: ${read.ok ? 'expected an object' : read.problem}`,
    )
    return 'done'
  }
  return closeNamedCall(reading, written, read.value, close, read.strict ? [] : [looseJson])
}

/** Reads the markers that close a call, and reports the call. Its name and arguments have been read. */
export function* closeNamedCall(
  reading: CallReading,
  written: string,
  value: unknown,
  close: readonly string[],
  found: readonly string[],
): Reading {
  const { cursor, tools } = reading
  const repairs = [...found]
  const resolved = tools.resolve(written)
  const stripped = resolved === written ? written : withoutDecoration(written)
  const args = readArguments(value, resolved ?? stripped, tools, repairs)
  if (close.length > 0) {
    // The arguments may be in a fence.
    const end = new Match(endsOf(close))
    if (!end.feed(cursor)) yield end
    let { matched, partial } = end
    if (matched === '```') {
      const last = new Match(markerSet(close))
      if (!last.feed(cursor)) yield last
      matched = last.matched
      partial = last.partial
    }
    if (matched === undefined) {
      if (reading.cut) {
        reading.reject(cutReason)
        return 'done'
      }
      // At the end of the text, a partial closing marker counts as complete.
      if (partial === '') repairs.push('closing tag missing')
    }
  }
  // If only one tool is declared and the arguments fit it, a call without a name, or with a number as its name, is for this tool.
  const lost = stripped === '' || /^\d+$/.test(stripped)
  const name = args === undefined ? undefined : lost ? tools.onlyToolFor(args) : (resolved ?? stripped)
  if (args === undefined || name === undefined) {
    reading.reject(args === undefined ? 'Expected the arguments to be a JSON object' : `Expected the name of a tool, got "${written}"`)
    return 'done'
  }
  reading.call(finishCall(name, args, name === stripped ? repairs : [...repairs, ...nameRepairs(written, name)]))
  return 'done'
}

/** Creates a reader for a marker around calls. The reader skips the marker if one of `begins` follows. Otherwise the marker is text. */
export function wrapperOf(begins: readonly string[]): ReadBody {
  return function* readWrapper({ cursor }): Reading {
    const match = new Match(markerSet(begins))
    if (!match.feed(cursor)) yield match
    if (match.matched !== undefined) cursor.unread(match.matched)
    else if (match.partial !== '') cursor.unread(match.blanks + match.partial)
    return match.matched === undefined ? 'text' : 'done'
  }
}
