import { closeSync, constants, fstatSync, open as openWithCallback } from 'node:fs'
import { opendir, readlink } from 'node:fs/promises'
import { promisify } from 'node:util'
import { ToolloopError } from '../../../core/errors.ts'
import { refusal } from './host-folders.ts'

/** Folders and links count too. Each file takes a descriptor of this process until the script has been started. */
const maxEntries = 256
const maxBytes = 16_777_216
const largestPage = 65_536

interface CopiedFile {
  path: string
  descriptor: number
  isProgram: boolean
}

const { O_RDONLY, O_DIRECTORY, O_NOFOLLOW, O_NONBLOCK } = constants
const openFile = promisify(openWithCallback)

/**
 * What a script's copy of a folder is made of. All files are open: what is put in their place later, such as a link, is not copied. Paths start
 * from the folder.
 */
export class FolderCopy {
  /** What the copy may take, also of files that grow while they are copied: they are rounded up to whole pages. */
  static readonly bytes: number = maxBytes + maxEntries * largestPage
  /** Each comes before what is in it. */
  readonly folders: string[] = []
  readonly files: CopiedFile[] = []
  readonly links: { path: string; target: string }[] = []
  #entries = 0
  #bytes = 0

  /**
   * Opens what is in `folder`, an absolute path without links. The caller closes it. What this user may not read is left out. Undefined when it
   * can't be listed, or is too much to be copied for each run. Rejects with `tool_denied` for a pipe or a socket, with `tool_failed` for what can't be read.
   */
  static async open(folder: string): Promise<FolderCopy | undefined> {
    const copy = new FolderCopy()
    let isComplete = false
    try {
      const isAdded = await inFolder(folder, async (descriptor) => {
        if ((await readlink(pathOf(descriptor))) !== folder) throw new Error('Something else has been put in its place')
        return copy.#add(descriptor, '')
      })
      isComplete = isAdded === true
      return isComplete ? copy : undefined
    } catch (error) {
      if (ToolloopError.isInstance(error)) throw error
      const words = 'The script was not run: its folder could not be read, or was changed while it was read.'
      throw new ToolloopError('tool_failed', words, { cause: error })
    } finally {
      if (!isComplete) copy.close()
    }
  }

  close(): void {
    for (const { descriptor } of this.files.splice(0)) closeSync(descriptor)
  }

  /** False when it is too much. */
  async #add(folder: number, prefix: string): Promise<boolean> {
    for await (const entry of await opendir(pathOf(folder), { bufferSize: maxEntries })) {
      const path = prefix + entry.name
      const place = `${pathOf(folder)}/${entry.name}`
      if (++this.#entries > maxEntries || !isText(path)) return false
      if (entry.isFIFO() || entry.isSocket()) throw refusal(path)
      if (entry.isFile()) {
        if (!(await this.#addFile(place, path))) return false
      } else if (entry.isDirectory()) {
        const isAdded = await inFolder(place, (descriptor) => {
          this.folders.push(path)
          return this.#add(descriptor, `${path}/`)
        })
        if (isAdded === false) return false
      } else if (entry.isSymbolicLink()) {
        const target = await readlink(place)
        if (!isText(target)) return false
        this.links.push({ path, target })
      }
    }
    return true
  }

  async #addFile(place: string, path: string): Promise<boolean> {
    // O_NONBLOCK: a pipe may have been put in its place.
    const descriptor = await openIfReadable(place, O_NONBLOCK)
    if (descriptor === undefined) return true
    const file = { path, descriptor, isProgram: false }
    this.files.push(file)
    const stats = fstatSync(descriptor)
    if (!stats.isFile()) throw new Error('Something else has been put in the place of a file')
    file.isProgram = (stats.mode & 0o111) !== 0
    this.#bytes += stats.size
    return this.#bytes <= maxBytes
  }
}

/** What `use` returns; undefined for a folder that can't be opened. */
async function inFolder(place: string, use: (descriptor: number) => Promise<boolean>): Promise<boolean | undefined> {
  const descriptor = await openIfReadable(place, O_DIRECTORY)
  if (descriptor === undefined) return undefined
  try {
    return await use(descriptor)
  } finally {
    closeSync(descriptor)
  }
}

/** Undefined for what this user may not read, and for what has just been removed. */
async function openIfReadable(place: string, flags: number): Promise<number | undefined> {
  try {
    return await openFile(place, O_RDONLY | O_NOFOLLOW | flags)
  } catch (error) {
    if (error instanceof Error && 'code' in error && (error.code === 'EACCES' || error.code === 'ENOENT')) return undefined
    throw error
  }
}

/** Leads to what is open, wherever it is now: a path that starts with it can't be led elsewhere by a link put in the place of a folder. */
function pathOf(descriptor: number): string {
  return `/proc/self/fd/${descriptor}`
}

/** File systems allow names that are not text. */
function isText(name: string): boolean {
  return !name.includes('\uFFFD')
}
