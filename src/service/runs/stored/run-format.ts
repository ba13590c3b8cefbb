import type { FileHandle } from 'node:fs/promises'
import { isJsonObject, type JsonObject } from '../../../core/messages.ts'
import { Pauses } from '../../../tools/yield-to-event-loop.ts'
import { TextPieces } from '../../http/text-pieces.ts'
import type { LoggedEvent } from '../event-log.ts'
import type { Outcome, OutcomeSummary, StoredHead, StoredRun } from './stored-run.ts'

/**
 * A run's file: its head in JSON on the first line, and behind it the parts that the head names, in this order, each with its length in
 * bytes. So a list reads heads alone, and whoever looks at a run reads what is shown of it, but not the state it goes on from.
 */
const partNames = ['known', 'summary', 'events', 'result', 'state'] as const
type PartName = (typeof partNames)[number]
type Lengths = Record<PartName, number>

/** Of a longer one the head has only what a list needs in any case. */
const longestSummary = 8_192
/** More than a head has, unless very many calls wait. */
const headBytes = 32_768

/** As it is written, in pieces: its events, its result and its state may be megabytes each, and others get their turn in between. */
export async function* writtenRun(run: StoredRun, head: StoredHead): AsyncGenerator<string> {
  const { outcome, before } = run
  const { summary, result = '', state = '' }: Partial<Outcome> = outcome ?? before ?? {}
  const { clientTools, ...shownHead } = run.head
  const { said, secrets, hidesAll = false, waiting } = run
  const parts: Record<PartName, readonly string[]> = {
    known: [JSON.stringify({ said, secrets, hidesAll, waiting, clientTools })],
    summary: summary === undefined ? [] : [JSON.stringify(summary)],
    events: run.events.flatMap(({ id, type, data }) => [`${id} ${type} `, data, '\n']),
    result: [result],
    state: [state],
  }
  const lengths: Partial<Lengths> = {}
  for (const name of partNames) {
    lengths[name] = 0
    for await (const piece of piecesOf(parts[name])) lengths[name] += Buffer.byteLength(piece)
  }
  const told = head.outcome
  const isSmall = (lengths.summary ?? 0) <= longestSummary
  yield `${JSON.stringify({
    version: 2,
    ...head,
    head: shownHead,
    ...(told === undefined ? {} : { outcome: { ...told, summary: isSmall ? told.summary : undefined } }),
    ...(before === undefined || outcome !== undefined ? {} : { wasTakenUp: true }),
    lengths,
  })}\n`
  for (const name of partNames) yield* piecesOf(parts[name])
}

const charactersInOneGo = 250_000

async function* piecesOf(texts: readonly string[]): AsyncGenerator<string> {
  const pauses = new Pauses()
  for (const pieces = new TextPieces(texts); !pieces.ended; ) {
    await pauses.take()
    yield pieces.take(charactersInOneGo)
  }
}

/** A run's file that is open to be read. */
export class RunReader {
  readonly #file: FileHandle
  readonly #written: JsonObject
  readonly #lengths: Lengths
  readonly #start: number

  /** Rejects for what is no run, and for one of another version. */
  static async open(file: FileHandle): Promise<RunReader> {
    let text = Buffer.alloc(0)
    for (;;) {
      const end = text.indexOf(0x0a)
      if (end >= 0) return new RunReader(file, JSON.parse(text.toString('utf8', 0, end)), end + 1)
      const more = await readBytes(file, text.length, headBytes)
      if (more.length === 0) throw notARun()
      text = Buffer.concat([text, more])
    }
  }

  private constructor(file: FileHandle, written: unknown, start: number) {
    if (!isJsonObject(written) || written.version !== 2 || !isJsonObject(written.lengths)) throw notARun()
    const { lengths } = written
    if (!partNames.every((name) => Number.isSafeInteger(lengths[name]))) throw notARun()
    this.#file = file
    this.#written = written
    this.#lengths = lengths as Lengths
    this.#start = start
  }

  head(): StoredHead {
    const { head, createdAt, input, firstEventId, lastEventId, size, outcome } = this.#written
    const isWhole =
      isJsonObject(head) &&
      isJsonObject(head.caller) &&
      [head.id, head.agent, createdAt, input].every((field) => typeof field === 'string') &&
      [firstEventId, lastEventId, size].every(Number.isSafeInteger) &&
      (outcome === undefined || (isJsonObject(outcome) && Array.isArray(outcome.waitsFor)))
    if (!isWhole) throw notARun()
    return { ...(this.#written as never as StoredHead), head: { ...(head as never as StoredHead['head']), clientTools: [] } }
  }

  async summary(): Promise<OutcomeSummary> {
    return JSON.parse(await this.#part('summary'))
  }

  /** All but the state it goes on from. */
  async run(): Promise<StoredRun> {
    const { head, createdAt, lastEventId, outcome } = this.head()
    const { clientTools, ...known } = JSON.parse(await this.#part('known'))
    const events = readEvents(await this.#part('events'))
    const shown = async () => ({ summary: await this.summary(), result: await this.#part('result') })
    return {
      head: { ...head, clientTools },
      createdAt,
      lastEventId,
      ...known,
      events,
      ...(outcome === undefined ? {} : { outcome: { ...outcome, ...(await shown()) } }),
      ...(this.#written.wasTakenUp === true ? { before: await shown() } : {}),
    }
  }

  /** As JSON; `''`: it has none. */
  state(): Promise<string> {
    return this.#part('state')
  }

  async #part(name: PartName): Promise<string> {
    const before = partNames.slice(0, partNames.indexOf(name))
    const from = before.reduce((sum, other) => sum + this.#lengths[other], this.#start)
    const bytes = await readBytes(this.#file, from, this.#lengths[name])
    if (bytes.length < this.#lengths[name]) throw notARun()
    return bytes.toString('utf8')
  }
}

async function readBytes(file: FileHandle, from: number, most: number): Promise<Buffer> {
  const bytes = Buffer.alloc(most)
  let length = 0
  while (length < most) {
    const { bytesRead } = await file.read(bytes, length, most - length, from + length)
    if (bytesRead === 0) break
    length += bytesRead
  }
  return bytes.subarray(0, length)
}

/** An event's JSON has no line's end in it. */
function readEvents(text: string): LoggedEvent[] {
  return text
    .split('\n')
    .slice(0, -1)
    .map((line) => {
      const [id = '', type = ''] = line.split(' ', 2)
      return { id: Number(id), type, data: line.slice(id.length + type.length + 2) }
    })
}

/** A run as the version before wrote it, in one JSON; undefined: it is none. */
export function readEarlierRun(text: string): StoredRun | undefined {
  let stored: unknown
  try {
    stored = JSON.parse(text)
  } catch {
    return undefined
  }
  if (!isJsonObject(stored) || stored.version !== 1 || !isJsonObject(stored.head)) return undefined
  const { head, createdAt, said, events, lastEventId, secrets, waiting, outcome } = stored
  const isWhole =
    [head.id, head.agent, createdAt, said].every((field) => typeof field === 'string') &&
    [head.clientTools, events, secrets, waiting].every(Array.isArray) &&
    isJsonObject(head.caller) &&
    Number.isSafeInteger(lastEventId) &&
    (outcome === undefined || (isJsonObject(outcome) && isJsonObject(outcome.summary) && Array.isArray(outcome.waitsFor)))
  return isWhole ? (stored as never as StoredRun) : undefined
}

function notARun(): Error {
  return new Error('The file is not a stored run')
}
