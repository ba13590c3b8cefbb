import type { FileHandle } from 'node:fs/promises'

const newline = 10
const chunkBytes = 64 * 1024
/**
 * The number of bytes that git reads to distinguish binary files from text: https://git-scm.com/docs/gitattributes#_marking_files_as_binary
 */
const sniffedBytes = 8000

export function looksBinary(start: Uint8Array): boolean {
  return start.subarray(0, sniffedBytes).includes(0)
}

/** Reads a file in chunks. Each chunk overwrites the previous chunk. Rejects with the signal's reason once the signal is aborted. */
async function* readChunks(handle: FileHandle, signal: AbortSignal): AsyncGenerator<Buffer> {
  const buffer = Buffer.allocUnsafe(chunkBytes)
  for (;;) {
    signal.throwIfAborted()
    const { bytesRead } = await handle.read(buffer, 0, chunkBytes)
    if (bytesRead === 0) return
    yield buffer.subarray(0, bytesRead)
  }
}

export function countNewlines(bytes: Uint8Array): number {
  let count = 0
  // Uses a loop, because `indexOf` is slower for lines of ordinary length.
  for (let at = 0; at < bytes.length; at++) if (bytes[at] === newline) count++
  return count
}

/** Returns the number of lines in a text file, including an unterminated last line. Undefined for a binary file. */
export async function countLines(handle: FileHandle, signal: AbortSignal): Promise<number | undefined> {
  let lines = 0
  let first = true
  let terminated = true
  for await (const chunk of readChunks(handle, signal)) {
    if (first && looksBinary(chunk)) return undefined
    first = false
    lines += countNewlines(chunk)
    terminated = chunk[chunk.length - 1] === newline
  }
  return terminated ? lines : lines + 1
}

const blockBytes = 256 * 1024
const minBlockBytes = 4096

/**
 * Reads a file in pieces that consist of whole lines. A line longer than 256 KiB is split into several pieces. Each piece overwrites the
 * previous piece.
 */
export async function* readLineBlocks(handle: FileHandle, size: number, signal: AbortSignal): AsyncGenerator<Buffer> {
  // The buffer is one byte larger than the expected size, so that a single read shows whether the file has ended.
  const buffer = Buffer.allocUnsafe(Math.max(minBlockBytes, Math.min(size + 1, blockBytes)))
  let held = 0
  for (;;) {
    signal.throwIfAborted()
    const { bytesRead } = await handle.read(buffer, held, buffer.length - held)
    held += bytesRead
    const ended = bytesRead === 0 || (held === size && held < buffer.length)
    if (ended) {
      if (held > 0) yield buffer.subarray(0, held)
      return
    }
    if (held < buffer.length) continue
    const last = buffer.lastIndexOf(newline)
    const end = last === -1 ? held : last + 1
    yield buffer.subarray(0, end)
    buffer.copyWithin(0, end, held)
    held -= end
  }
}

/** A range of lines of a file. */
export interface LineRange {
  text: string
  /** The number of the last line in `text`. */
  to: number
  totalLines: number
  truncated: boolean
}

/** Thrown by `readLines` if a file is not text. */
export class BinaryFileError extends Error {
  override readonly name = 'BinaryFileError'
}

/**
 * Reads the lines `from` to `to` (inclusive, from 1), up to `maxBytes` bytes. Returns whole lines if at least one fits, otherwise the
 * beginning of the first line. Reads the whole file to count its lines, but keeps at most `maxBytes` and one chunk in memory.
 */
export async function readLines(
  handle: FileHandle,
  { from, to, maxBytes, signal }: { from: number; to: number; maxBytes: number; signal: AbortSignal },
): Promise<LineRange> {
  const kept = Buffer.allocUnsafe(maxBytes)
  let keptBytes = 0
  let wholeBytes = 0
  let wholeTo = from - 1
  let truncated = false
  let line = 1
  let first = true
  let terminated = true
  const keep = (piece: Buffer, endsLine: boolean) => {
    const fitting = piece.copy(kept, keptBytes)
    keptBytes += fitting
    truncated = fitting < piece.length
    if (endsLine && !truncated) {
      wholeBytes = keptBytes
      wholeTo = line
    }
  }
  for await (const chunk of readChunks(handle, signal)) {
    if (first && looksBinary(chunk)) throw new BinaryFileError('binary file')
    first = false
    terminated = chunk[chunk.length - 1] === newline
    let at = 0
    while (at < chunk.length && line <= to && !truncated) {
      const found = chunk.indexOf(newline, at)
      const end = found === -1 ? chunk.length : found + 1
      if (line >= from) keep(chunk.subarray(at, end), found !== -1)
      if (found !== -1) line++
      at = end
    }
    line += countNewlines(chunk.subarray(at))
  }
  const totalLines = terminated ? line - 1 : line
  const cut = truncated && wholeBytes > 0 ? wholeBytes : keptBytes
  const text = new TextDecoder().decode(kept.subarray(0, cut), { stream: truncated })
  const last = truncated ? Math.max(wholeTo, from) : Math.min(to, totalLines)
  return { text, to: last, totalLines, truncated }
}
