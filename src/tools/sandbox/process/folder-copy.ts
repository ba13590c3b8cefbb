import { closeSync, constants, fstatSync, open as openWithCallback } from 'node:fs'
import { opendir, readlink } from 'node:fs/promises'
import { promisify } from 'node:util'
import { ToolloopError } from '../../../core/errors.ts'
import { refusal } from './host-folders.ts'

/** Maximum number of files, folders and links in the copy. Each file uses a descriptor of this process until the script has started. */
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
 * The files, folders and links of a folder that is copied for a script. The files stay open, so replacing a file later does not change the
 * copy. Paths are relative to the folder.
 */
export class FolderCopy {
  /** Maximum size of the copy, in bytes. Sizes are rounded up to whole pages, and files may grow while they are copied. */
  static readonly bytes: number = maxBytes + maxEntries * largestPage
  /** The folders. Each folder precedes the folders inside it. */
  readonly folders: string[] = []
  readonly files: CopiedFile[] = []
  readonly links: { path: string; target: string }[] = []
  #entries = 0
  #bytes = 0

  /**
   * Opens the content of `folder`, an absolute path without links. The caller must close the returned copy. Leaves out files that this user
   * may not read. Undefined if the folder can't be listed or is too large to copy for each run. Rejects with `tool_denied` if the folder
   * contains a pipe or a socket, and with `tool_failed` if reading fails.
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

  /** Adds a folder. Returns false if the folder is too large. */
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
    // O_NONBLOCK is needed because a pipe may have replaced the file.
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

/** Opens a folder and returns the result of `use`. Undefined if the folder can't be opened. */
async function inFolder(place: string, use: (descriptor: number) => Promise<boolean>): Promise<boolean | undefined> {
  const descriptor = await openIfReadable(place, O_DIRECTORY)
  if (descriptor === undefined) return undefined
  try {
    return await use(descriptor)
  } finally {
    closeSync(descriptor)
  }
}

/** Opens a file. Undefined if this user may not read the file, or if it has just been removed. */
async function openIfReadable(place: string, flags: number): Promise<number | undefined> {
  try {
    return await openFile(place, O_RDONLY | O_NOFOLLOW | flags)
  } catch (error) {
    if (error instanceof Error && 'code' in error && (error.code === 'EACCES' || error.code === 'ENOENT')) return undefined
    throw error
  }
}

/** Returns a path to an open file or folder. The path stays valid if the file or folder is moved or replaced by a link. */
function pathOf(descriptor: number): string {
  return `/proc/self/fd/${descriptor}`
}

/** Whether a name is valid text. File systems also allow names that are not valid text. */
function isText(name: string): boolean {
  return !name.includes('\uFFFD')
}
