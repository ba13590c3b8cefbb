import { messageOf, ToolloopError } from '../../core/errors.ts'
import type { MessageInput } from '../../core/message-input.ts'
import type { ContentPart } from '../../core/messages.ts'
import { looksBinary } from '../../tools/builtin/files/text-file.ts'
import { isFileProblemCode, Workspace } from '../../tools/builtin/files/workspace.ts'
import { formatBytes } from '../terminal/render.ts'

/** Maximum sizes in bytes: of a text, of a picture or document, and of all files of a prompt together. */
const mostText = 262_144
const mostMedia = 5_242_880
const mostBytes = 20_971_520

/** A prompt with the files that it refers to. */
export interface AttachedPrompt {
  message: MessageInput
  /** Descriptions of the attached files, for the person who typed the prompt. */
  attached: string[]
  /** References to files that don't exist. They remain part of the text. */
  missing: string[]
}

/**
 * Attaches the files that a prompt refers to as `@path`, if the workspace's tools may read them. Text files are appended to the prompt.
 * Pictures and PDFs become parts of the message. Rejects with `invalid_option` for a file that can't be attached. A reference to a missing
 * file stays text. `pasted` contains the pasted parts of the prompt. An `@` in pasted text counts as a reference only if the file can be
 * attached. `outputs` contains texts to add after the files.
 */
export async function attachFiles(
  prompt: string,
  folder: string,
  { pasted = [], outputs = [] }: { pasted?: readonly string[]; outputs?: readonly string[] } = {},
): Promise<AttachedPrompt> {
  const [texts, media, attached, missing]: [string[], ContentPart[], string[], string[]] = [[], [], [], []]
  const references = countReferences([prompt])
  const inPasted = countReferences(pasted)
  const workspace = new Workspace(folder)
  let left = mostBytes
  for (const [reference, count] of references) {
    const isTyped = count > (inPasted.get(reference) ?? 0)
    try {
      const found = await find(workspace, reference)
      if (found === undefined) {
        if (isTyped) missing.push(`@${withoutEnd(reference)}`)
        continue
      }
      const bytes = await read(workspace, found, left)
      const mediaType = mediaTypeOf(bytes)
      if (mediaType === undefined) texts.push(asText(bytes, found.path))
      else media.push(asPart(bytes, mediaType, found.path))
      left -= bytes.length
      attached.push(`${found.path} (${formatBytes(bytes.length)})`)
    } catch (error) {
      if (isTyped) throw error
    }
  }
  const text = [prompt, ...texts, ...outputs].join('\n\n')
  return { message: { role: 'user', content: media.length === 0 ? text : [{ type: 'text', text }, ...media] }, attached, missing }
}

/** Counts how often an `@` at the start of a word refers to each path. */
function countReferences(texts: readonly string[]): Map<string, number> {
  const counts = new Map<string, number>()
  for (const text of texts) {
    for (const [, quoted, plain] of text.matchAll(/(?<=^|\s)@(?:"([^"\n]+)"|([^\s"]+))/g)) {
      const path = quoted ?? plain ?? ''
      counts.set(path, (counts.get(path) ?? 0) + 1)
    }
  }
  return counts
}

/** Removes punctuation at the end of a reference, because the punctuation may belong to the sentence. */
function withoutEnd(reference: string): string {
  return reference.replace(/[.,;:!?)\]]+$/, '')
}

type Found = Awaited<ReturnType<Workspace['locate']>>

async function find(workspace: Workspace, reference: string): Promise<Found | undefined> {
  for (const path of new Set([reference, withoutEnd(reference)])) {
    try {
      if (path !== '') return await workspace.locate(path)
    } catch (error) {
      if (!isFileProblemCode(error, 'ENOENT') && !isFileProblemCode(error, 'ENOTDIR')) throw refusal(reference, messageOf(error))
    }
  }
  return undefined
}

async function read(workspace: Workspace, found: Found, most: number): Promise<Buffer> {
  const { handle, stats } = await workspace.open(found).catch((error: unknown) => {
    throw refusal(found.path, messageOf(error))
  })
  try {
    const limit = Math.min(most, mostMedia)
    if (stats.size > limit) throw refusal(found.path, `it has ${formatBytes(stats.size)}, more than ${formatBytes(limit)}`)
    return await handle.readFile()
  } finally {
    await handle.close()
  }
}

function asText(bytes: Buffer, path: string): string {
  if (looksBinary(bytes)) throw refusal(path, 'it is neither a text nor a picture (PNG, JPEG, GIF, WebP) or a PDF')
  if (bytes.length > mostText)
    throw refusal(path, `it has ${formatBytes(bytes.length)}, a text may have ${formatBytes(mostText)}; the model can read it in parts`)
  try {
    return `<file path=${JSON.stringify(path)}>\n${new TextDecoder('utf-8', { fatal: true }).decode(bytes)}\n</file>`
  } catch {
    throw refusal(path, 'it is not UTF-8 text')
  }
}

function asPart(bytes: Buffer, mediaType: string, path: string): ContentPart {
  const data = bytes.toString('base64')
  return mediaType.startsWith('image/')
    ? { type: 'image', data, mediaType }
    : { type: 'file', data, mediaType, name: path.split('/').at(-1) ?? path }
}

/** Detects the media type from the first bytes, because the file's name may be wrong. */
function mediaTypeOf(bytes: Buffer): string | undefined {
  const starts = bytes.toString('latin1', 0, 12)
  if (starts.startsWith('\x89PNG\r\n\x1a\n')) return 'image/png'
  if (starts.startsWith('\xff\xd8\xff')) return 'image/jpeg'
  if (/^GIF8[79]a/.test(starts)) return 'image/gif'
  if (/^RIFF.{4}WEBP/s.test(starts)) return 'image/webp'
  return starts.startsWith('%PDF-') ? 'application/pdf' : undefined
}

function refusal(path: string, why: string): ToolloopError {
  return new ToolloopError('invalid_option', `@${path} can't be attached: ${why}. A space after the @ sends it as text`)
}
