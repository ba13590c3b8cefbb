import type { ServerResponse } from 'node:http'
import { createGzip, type Gzip } from 'node:zlib'
import { pause, settlesBeforeAbort, waitForAbort } from '../wait.ts'
import type { BodyMark, MockFault } from './fault.ts'
import type { BodyPart } from './framing.ts'

/** A response that is ready to be sent. */
export interface OutgoingResponse {
  status: number
  headers: Readonly<Record<string, string>>
  body: Iterable<BodyPart>
}

/** A request's response while it is being sent. */
export interface Exchange {
  readonly res: ServerResponse
  /** Aborted when the client disconnects or the server closes. */
  readonly signal: AbortSignal
  /** True once the server itself has broken the connection. */
  brokenOff: boolean
}

/** Destroys the connection in the middle of a response. */
export function breakOff(exchange: Exchange): void {
  exchange.brokenOff = true
  exchange.res.destroy()
}

type Stop = { at: BodyMark; how: 'stall' | 'cut' | 'reset' | 'garbage' }

/**
 * Sends a response with the given fault. Resolves when the response is sent or broken off, or when `signal` is aborted. Rejects if a
 * promise in the body rejects.
 */
export async function transmit(exchange: Exchange, { status, headers, body }: OutgoingResponse, fault: MockFault): Promise<void> {
  const { res, signal } = exchange
  if (fault.slowFirstByteMs !== undefined) await pause(fault.slowFirstByteMs, signal)
  if (signal.aborted) return
  if (fault.resetAfterBytes === 0) {
    exchange.brokenOff = true
    res.socket?.resetAndDestroy()
    return
  }
  if (fault.closeKeepAlive === true) {
    const { socket } = res
    res.once('finish', () => socket?.end())
  }
  res.writeHead(status, { ...headers, ...(fault.gzip === true ? { 'content-encoding': 'gzip' } : {}), ...fault.headers })
  const sender = new BodySender(exchange, fault)
  for (const part of body) if (!(await sender.send(part))) return
  await sender.finish()
}

/** Whether the fault changes the length of the body. The headers then can't announce the length. */
export function changesLength(fault: MockFault): boolean {
  return fault.gzip === true || stopsOf(fault).length > 0
}

class BodySender {
  readonly #exchange: Exchange
  readonly #stops: readonly Stop[]
  readonly #compressor: Compressor | undefined
  readonly #pieceSize: (() => number) | undefined
  #sent = 0

  constructor(exchange: Exchange, fault: MockFault) {
    this.#exchange = exchange
    this.#stops = stopsOf(fault)
    this.#compressor = fault.gzip === true ? new Compressor() : undefined
    this.#pieceSize = pieceSizes(fault)
  }

  /** Sends a part of the body. Resolves with true if more may follow. */
  async send(part: BodyPart): Promise<boolean> {
    switch (part.type) {
      case 'wait':
        this.#exchange.res.flushHeaders()
        return settlesBeforeAbort(part.until, this.#exchange.signal)
      case 'content-end': {
        const stop = this.#stops.find(({ at }) => at === 'content')
        if (stop !== undefined) await this.#breakOff(stop)
        return stop === undefined
      }
      case 'bytes':
        return this.#sendBytes(this.#compressor === undefined ? part.bytes : await this.#compressor.add(part.bytes))
    }
  }

  async finish(): Promise<void> {
    if (this.#compressor !== undefined && !(await this.#sendBytes(await this.#compressor.finish()))) return
    this.#exchange.res.end()
  }

  async #sendBytes(bytes: Uint8Array): Promise<boolean> {
    for (const stop of this.#stops) {
      if (stop.at === 'content' || stop.at > this.#sent + bytes.length) continue
      if (await this.#write(bytes.subarray(0, stop.at - this.#sent))) await this.#breakOff(stop)
      return false
    }
    return this.#write(bytes)
  }

  async #write(bytes: Uint8Array): Promise<boolean> {
    const { res, signal } = this.#exchange
    this.#sent += bytes.length
    for (let start = 0; start < bytes.length && !signal.aborted; ) {
      const end = this.#pieceSize === undefined ? bytes.length : Math.min(start + this.#pieceSize(), bytes.length)
      const piece = bytes.subarray(start, end)
      // Without waiting, data for a slow client would fill the memory, and bytes before a reset could be lost.
      if (end < bytes.length && !res.writableNeedDrain) res.write(piece)
      else if (!(await settlesBeforeAbort(new Promise<void>((resolve) => void res.write(piece, () => resolve())), signal))) return false
      // Lets a client in the same process receive each piece as a separate chunk.
      if (this.#pieceSize !== undefined) await new Promise((resolve) => setImmediate(resolve))
      start = end
    }
    return !signal.aborted
  }

  async #breakOff({ how }: Stop): Promise<void> {
    switch (how) {
      case 'stall':
        this.#exchange.res.flushHeaders()
        return waitForAbort(this.#exchange.signal)
      case 'reset':
        return breakOff(this.#exchange)
      case 'garbage':
        return void this.#exchange.res.end(garbage)
      case 'cut':
        return void this.#exchange.res.end()
    }
  }
}

/** The end of the current line, followed by an event with incomplete JSON and bytes that are not UTF-8. */
const garbage = Buffer.concat([
  Buffer.from('\n\ndata: {"choices":[{"delta":'),
  Buffer.from([0xff, 0xfe, 0x00, 0xc3, 0x28]),
  Buffer.from('\n\n'),
])

function stopsOf(fault: MockFault): Stop[] {
  const all: (Stop | { at: undefined; how: Stop['how'] })[] = [
    { at: fault.stallAfterBytes, how: 'stall' },
    { at: fault.cutAfterBytes, how: 'cut' },
    { at: fault.resetAfterBytes, how: 'reset' },
    { at: fault.garbageAfterBytes, how: 'garbage' },
  ] as const
  const place = ({ at }: Stop): number => (at === 'content' ? Number.POSITIVE_INFINITY : at)
  return all.filter((stop): stop is Stop => stop.at !== undefined).sort((a, b) => place(a) - place(b))
}

function pieceSizes({ splitBytes, seed = 1 }: MockFault): (() => number) | undefined {
  if (splitBytes === undefined) return undefined
  if (splitBytes !== 'random') return () => splitBytes
  let state = seed >>> 0
  return () => {
    // A linear congruential generator with the constants from Numerical Recipes. Its numbers only have to be reproducible.
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return 1 + (state >>> 28)
  }
}

/** A gzip stream that returns the compressed bytes of each added chunk. */
class Compressor {
  readonly #gzip: Gzip = createGzip()
  #ready: Uint8Array[] = []

  constructor() {
    this.#gzip.on('data', (bytes: Uint8Array) => this.#ready.push(bytes))
  }

  add(bytes: Uint8Array): Promise<Uint8Array> {
    return new Promise((resolve) => {
      this.#gzip.write(bytes)
      this.#gzip.flush(() => resolve(this.#take()))
    })
  }

  finish(): Promise<Uint8Array> {
    return new Promise((resolve) => {
      this.#gzip.once('end', () => resolve(this.#take()))
      this.#gzip.end()
    })
  }

  #take(): Uint8Array {
    const taken = Buffer.concat(this.#ready)
    this.#ready = []
    return taken
  }
}
