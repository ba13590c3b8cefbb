import type { Dialect, Envelope, ReadBody } from '../dialect.ts'
import { thinkingTags } from '../thinking-tags.ts'
import { backtick, newline } from './line-state.ts'
import { MarkerSet, wide } from './markers.ts'
import type { Lookout } from './scanner.ts'

/** The meaning of a marker that doesn't start a call. */
type MarkerRole = 'close' | 'result' | 'result line' | 'think' | 'think end'

export interface Watched {
  readonly marker: string
  readonly envelope?: Envelope
  readonly role?: MarkerRole
}

/** A call may be written as a string, so a quote may start a call. */
const quotes = [34, 39]

/** The markers and characters of a dialect to look for in a response, and the meaning of each marker. */
export class Watch {
  /** The markers to look for while the model thinks. */
  readonly thinkLookout: Lookout
  readonly bare: ReadonlyMap<number, ReadBody>
  /** The reader for an unmarked call that begins with the name of a tool. */
  readonly bareName: ReadBody | undefined
  readonly #lookout: Lookout
  readonly #watched: readonly Watched[]
  readonly #thinkWatched: readonly Watched[]

  constructor(dialect: Dialect, nameTags: readonly string[]) {
    const bare = new Map<number, ReadBody>()
    for (const form of dialect.bare ?? []) for (const start of form.starts ?? []) bare.set(start.charCodeAt(0), form.read)
    this.bare = bare
    const bareCodes = [...bare.keys()]
    this.bareName = dialect.bare?.find(({ starts }) => starts === undefined)?.read
    const watched = new Map<string, Watched>()
    const add = (one: Watched): void => {
      if (!watched.has(one.marker)) watched.set(one.marker, one)
    }
    for (const envelope of dialect.envelopes) for (const marker of envelope.open) add({ marker, envelope })
    if (dialect.nameTag !== undefined) {
      const envelope: Envelope = { open: nameTags, read: dialect.nameTag }
      for (const marker of nameTags) add({ marker, envelope })
    }
    for (const envelope of dialect.envelopes) for (const marker of envelope.close ?? []) add({ marker, role: 'close' })
    for (const marker of dialect.resultMarkers) add({ marker, role: marker.endsWith(':') ? 'result line' : 'result' })
    // A character that starts calls without a marker can't also start a tag.
    for (const [open, close] of thinkingTags) {
      if (bareCodes.includes(open.charCodeAt(0))) continue
      add({ marker: open, role: 'think' })
      // The end tag is also looked for alone, because its start tag may have been part of the prompt.
      add({ marker: close, role: 'think end' })
    }
    this.#watched = [...watched.values()]
    this.#lookout = lookoutFor(this.#watched, bareCodes)
    this.#thinkWatched = thinkingTags.map(([, close]) => ({ marker: close, role: 'think end' }))
    this.thinkLookout = lookoutFor(this.#thinkWatched, [])
  }

  /** What to look for in an answer. `names` are the names of the tools that were offered. */
  lookout(names: readonly string[]): Lookout {
    if (this.bareName === undefined || names.length === 0) return this.#lookout
    return { ...this.#lookout, bareAtHead: new Set([...quotes, ...names.map((name) => name.charCodeAt(0))]) }
  }

  at(index: number): Watched {
    return this.#watched[index] ?? { marker: '' }
  }

  thinkingAt(index: number): Watched {
    return this.#thinkWatched[index] ?? { marker: '' }
  }
}

function lookoutFor(watched: readonly Watched[], bare: readonly number[]): Lookout {
  const starts = new Uint8Array(wide + 1)
  for (const code of [newline, backtick, ...bare]) starts[Math.min(code, wide)] = 1
  // Markers that count only at the start of a line begin with ordinary letters, which are too frequent to examine elsewhere.
  const anywhere = watched.filter(({ envelope, role }) => envelope?.lineStart === undefined && role !== 'result line')
  for (const { marker } of anywhere) starts[Math.min(marker.charCodeAt(0), wide)] = 1
  return { markers: new MarkerSet(watched.map(({ marker }) => marker)), starts, bare, bareAtHead: new Set() }
}

/** Maximum number of cached `Watch` objects for each dialect. */
const maxWatches = 8
const watches = new WeakMap<Dialect, Map<string, Watch>>()

/** Returns the dialect's `Watch`. */
export function watchFor(dialect: Dialect, names: readonly string[]): Watch {
  const nameTags = dialect.nameTag === undefined ? [] : names.map((name) => `<${name}>`)
  const key = nameTags.join('')
  let known = watches.get(dialect)
  if (known === undefined) {
    known = new Map()
    watches.set(dialect, known)
  }
  let watch = known.get(key)
  if (watch === undefined) {
    watch = new Watch(dialect, nameTags)
    const [oldest] = known.keys()
    if (known.size === maxWatches && oldest !== undefined) known.delete(oldest)
    known.set(key, watch)
  }
  return watch
}
