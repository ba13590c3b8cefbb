import type { Dialect, Envelope, ReadBody } from './dialect.ts'
import { MarkerSet } from './markers.ts'

/** What a marker that starts no call is for. */
type MarkerRole = 'close' | 'result' | 'result line' | 'think' | 'think end'

export interface Watched {
  readonly marker: string
  readonly envelope?: Envelope
  readonly role?: MarkerRole
}

const thinking: readonly (readonly [string, string])[] = [
  ['<think>', '</think>'],
  ['<thinking>', '</thinking>'],
  ['<seed:think>', '</seed:think>'],
  ['[THINK]', '[/THINK]'],
  ['<|START_THINKING|>', '<|END_THINKING|>'],
]

/** A dialect, made ready for the scanner: which markers to look for and what each is for. */
export class Watch {
  readonly markers: MarkerSet
  readonly thinkMarkers: MarkerSet
  readonly bare: ReadonlyMap<number, ReadBody>
  readonly bareCodes: readonly number[]
  /** Reads an unmarked call that begins with the name of a tool. */
  readonly bareName: ReadBody | undefined
  readonly #watched: readonly Watched[]
  readonly #thinkWatched: readonly Watched[]

  constructor(dialect: Dialect) {
    const bare = new Map<number, ReadBody>()
    for (const form of dialect.bare ?? []) for (const start of form.starts ?? []) bare.set(start.charCodeAt(0), form.read)
    this.bare = bare
    this.bareCodes = [...bare.keys()]
    this.bareName = dialect.bare?.find(({ starts }) => starts === undefined)?.read
    const watched = new Map<string, Watched>()
    const add = (one: Watched): void => {
      if (!watched.has(one.marker)) watched.set(one.marker, one)
    }
    for (const envelope of dialect.envelopes) for (const marker of envelope.open) add({ marker, envelope })
    for (const envelope of dialect.envelopes) for (const marker of envelope.close ?? []) add({ marker, role: 'close' })
    for (const marker of dialect.resultMarkers) add({ marker, role: marker.endsWith(':') ? 'result line' : 'result' })
    // A character can't both begin an unmarked call and a marker.
    for (const [open, close] of thinking) {
      if (this.bareCodes.includes(open.charCodeAt(0))) continue
      add({ marker: open, role: 'think' })
      // The opening tag may have been part of the prompt.
      add({ marker: close, role: 'think end' })
    }
    this.#watched = [...watched.values()]
    this.markers = new MarkerSet(this.#watched.map(({ marker }) => marker))
    this.#thinkWatched = thinking.map(([, close]) => ({ marker: close, role: 'think end' }))
    this.thinkMarkers = new MarkerSet(this.#thinkWatched.map(({ marker }) => marker))
  }

  at(index: number): Watched {
    return this.#watched[index] ?? { marker: '' }
  }

  thinkingAt(index: number): Watched {
    return this.#thinkWatched[index] ?? { marker: '' }
  }
}

const watches = new WeakMap<Dialect, Watch>()

export function watchFor(dialect: Dialect): Watch {
  let watch = watches.get(dialect)
  if (watch === undefined) {
    watch = new Watch(dialect)
    watches.set(dialect, watch)
  }
  return watch
}
