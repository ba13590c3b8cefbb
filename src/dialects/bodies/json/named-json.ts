import { withoutDecoration } from '../../../tools/call/written-name.ts'
import type { CallReading, ReadBody, Reading } from '../../dialect.ts'
import { markerSet, onceForEach } from '../../reader/markers.ts'
import { Match, Until } from '../../reader/waits.ts'
import { cutReason } from '../cut.ts'
import { finishCall, looseJson, nameRepairs, readArguments } from './json-calls.ts'
import { readJsonText } from './json-text.ts'
import { ValueFrame } from './value-frame.ts'

export interface NamedJsonOptions {
  /** Markers between the name and what follows it; one of them must come before the arguments. */
  readonly separators: readonly string[]
  /** Markers behind the arguments; may be left out. */
  readonly close: readonly string[]
  /** Markers that begin the next call. */
  readonly open?: readonly string[]
  /** Takes the name out of what stands before the arguments. Default: what comes before the first separator. */
  readonly nameOf?: (head: string) => string
  /** A declared name may stand right before its arguments. */
  readonly bareName?: true
  /** Reads what has no separator. Default: it is rejected. */
  readonly orElse?: ReadBody
}

const longestHead = 512

/** What ends the head of a call. */
const stopsOf = onceForEach(({ separators, close, open = [] }: NamedJsonOptions) => markerSet(['{', ...separators, ...close, ...open]))
/** What may stand behind the arguments. */
const endsOf = onceForEach((close: readonly string[]) => markerSet(['```', ...close]))

/** Reads a name, a separator, and the arguments as JSON: `get_weather[ARGS]{"city": "Oslo"}`. */
export function* readNamedJson(reading: CallReading, options: NamedJsonOptions): Reading {
  const { cursor } = reading
  const { close, open = [] } = options
  const stops = stopsOf(options)
  let head = ''
  /** What stands before the first separator. */
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

/** Reads the arguments, at whose brace the cursor stands, and what closes the call. */
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

/** Reads what closes a call whose name and arguments have been read, and reports it. */
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
    // The arguments may stand in a fence.
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
      // At the very end a closing tag that was begun is as good as one.
      if (partial === '') repairs.push('closing tag missing')
    }
  }
  // A name that was lost, or is only the call's number, can still be told if there is but one tool and the arguments fit it.
  const lost = stripped === '' || /^\d+$/.test(stripped)
  const name = args === undefined ? undefined : lost ? tools.onlyToolFor(args) : (resolved ?? stripped)
  if (args === undefined || name === undefined) {
    reading.reject(args === undefined ? 'Expected the arguments to be a JSON object' : `Expected the name of a tool, got "${written}"`)
    return 'done'
  }
  reading.call(finishCall(name, args, name === stripped ? repairs : [...repairs, ...nameRepairs(written, name)]))
  return 'done'
}

/** Reads a marker around calls: it has no meaning if one of `begins` follows, else it is text. */
export function wrapperOf(begins: readonly string[]): ReadBody {
  return function* readWrapper({ cursor }): Reading {
    const match = new Match(markerSet(begins))
    if (!match.feed(cursor)) yield match
    if (match.matched !== undefined) cursor.unread(match.matched)
    else if (match.partial !== '') cursor.unread(match.blanks + match.partial)
    return match.matched === undefined ? 'text' : 'done'
  }
}
