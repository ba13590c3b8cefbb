import { messageOf, ToolloopError } from '../../core/errors.ts'
import type { MessageInput } from '../../core/message-input.ts'
import type { ContentPart } from '../../core/messages.ts'
import { looksBinary } from '../../tools/builtin/files/text-file.ts'
import { isFileProblemCode, Workspace } from '../../tools/builtin/files/workspace.ts'
import { formatBytes } from '../terminal/render.ts'

/** Most bytes of one text, of one picture or document, and of all files of a prompt. */
const mostText = 262_144
const mostMedia = 5_242_880
const mostBytes = 20_971_520

/** A prompt with the files it names. */
export interface AttachedPrompt {
  message: MessageInput
  /** What is attached, in words for who has typed the prompt. */
  attached: string[]
  /** References to files that are not there: they stay text. */
  missing: string[]
}

/**
 * A prompt with the files that `@path` names in it: those of the workspace that its tools may read. Texts stand behind the prompt; pictures and
 * PDFs are parts of the message. Rejects with `invalid_option` for a file that can't be attached; a reference to none stays text.
 */
export async function attachFiles(prompt: string, folder: string): Promise<AttachedPrompt> {
  const [texts, media, attached, missing]: [string[], ContentPart[], string[], string[]] = [[], [], [], []]
  const references = new Set(
    Array.from(prompt.matchAll(/(?<=^|\s)@(?:"([^"\n]+)"|([^\s"]+))/g), ([, quoted, plain]) => quoted ?? plain ?? ''),
  )
  if (references.size === 0) return { message: { role: 'user', content: prompt }, attached, missing }
  const workspace = new Workspace(folder)
  let left = mostBytes
  for (const reference of references) {
    const found = await find(workspace, reference)
    if (found === undefined) {
      missing.push(`@${reference}`)
      continue
    }
    const bytes = await read(workspace, found, left)
    left -= bytes.length
    const mediaType = mediaTypeOf(bytes)
    if (mediaType === undefined) texts.push(asText(bytes, found.path))
    else media.push(asPart(bytes, mediaType, found.path))
    attached.push(`${found.path} (${formatBytes(bytes.length)})`)
  }
  const text = [prompt, ...texts].join('\n\n')
  return { message: { role: 'user', content: media.length === 0 ? text : [{ type: 'text', text }, ...media] }, attached, missing }
}

type Found = Awaited<ReturnType<Workspace['locate']>>

/** What stands behind a path may be the end of a sentence. */
async function find(workspace: Workspace, reference: string): Promise<Found | undefined> {
  for (const path of new Set([reference, reference.replace(/[.,;:!?)\]]+$/, '')])) {
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
    throw refusal(path, 'it is no text in UTF-8')
  }
}

function asPart(bytes: Buffer, mediaType: string, path: string): ContentPart {
  const data = bytes.toString('base64')
  return mediaType.startsWith('image/')
    ? { type: 'image', data, mediaType }
    : { type: 'file', data, mediaType, name: path.split('/').at(-1) ?? path }
}

/** By its first bytes: a name may say anything. */
function mediaTypeOf(bytes: Buffer): string | undefined {
  const starts = bytes.toString('latin1', 0, 12)
  if (starts.startsWith('\x89PNG\r\n\x1a\n')) return 'image/png'
  if (starts.startsWith('\xff\xd8\xff')) return 'image/jpeg'
  if (/^GIF8[79]a/.test(starts)) return 'image/gif'
  if (/^RIFF.{4}WEBP/s.test(starts)) return 'image/webp'
  return starts.startsWith('%PDF-') ? 'application/pdf' : undefined
}

function refusal(path: string, why: string): ToolloopError {
  return new ToolloopError('invalid_option', `@${path} can't be attached: ${why}. A space behind the @ sends it as text`)
}
