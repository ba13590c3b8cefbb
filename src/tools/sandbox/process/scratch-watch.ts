import { statfs } from 'node:fs/promises'

/** Each file counts as this number of bytes. An empty file takes a quarter of this number in kernel memory, which no other limit counts. */
const bytesAFile = 4_096
const everyMs = 50
/** Maximum number of failed counts in a row. Counting fails while the sandbox is being created. */
const maxMisses = 100
const scratchFolders = ['tmp', 'dev/shm']
/** See https://man7.org/linux/man-pages/man2/statfs.2.html */
const tmpfs = 0x0102_1994

/**
 * Counts the files that a script has created in memory, because bubblewrap limits their size but not their number. Calls `tell` if there
 * are too many files, or if the files can't be counted.
 */
export function watchScratch(first: Promise<{ pid: number } | undefined>, scratchBytes: number, tell: (why: string) => void): Disposable {
  const most = Math.floor(scratchBytes / bytesAFile)
  let pid: number | undefined
  let isCounting = false
  let misses = 0
  void first.then((known) => {
    pid = known?.pid
  })
  const count = async () => {
    if (pid === undefined || isCounting) return
    isCounting = true
    const files = await countScratch(pid, scratchBytes)
    isCounting = false
    misses = files === undefined ? misses + 1 : 0
    if (misses > maxMisses) tell('The script was stopped: the files it makes can not be counted here.')
    if (files !== undefined && files > most) tell(`The script made more than ${most} files in /tmp and /dev/shm and was stopped.`)
  }
  const timer = setInterval(() => void count(), everyMs)
  return { [Symbol.dispose]: () => clearInterval(timer) }
}

/**
 * Returns the number of files in a sandbox's memory. Undefined if its first process does not exist, or if this process may not look into
 * the sandbox.
 */
export async function countScratch(pid: number, scratchBytes: number): Promise<number | undefined> {
  const counts = await Promise.all(scratchFolders.map((folder) => filesIn(`/proc/${pid}/root/${folder}`, scratchBytes)))
  return counts.reduce((sum, files) => (sum === undefined || files === undefined ? undefined : sum + files), 0)
}

async function filesIn(folder: string, scratchBytes: number): Promise<number | undefined> {
  const found = await statfs(folder).catch(() => undefined)
  if (found === undefined || found.type !== tmpfs || found.blocks !== Math.ceil(scratchBytes / found.bsize)) return undefined
  return found.files - found.ffree
}
