import { statfs } from 'node:fs/promises'
import type { FirstProcess } from './isolation.ts'

/** An empty file takes a quarter of this, and nobody counts it: memory of the kernel. */
const bytesAFile = 4_096
const everyMs = 50
/** While a sandbox is being made its files may be out of reach. */
const mostRefusals = 40
const scratchFolders = ['tmp', 'dev/shm']
/** See https://man7.org/linux/man-pages/man2/statfs.2.html */
const tmpfs = 0x0102_1994

/**
 * Counts the files a script has made in memory: bubblewrap bounds their size, not their number. Tells of too many, or that they can't be counted.
 */
export function watchScratch(first: Promise<FirstProcess | undefined>, scratchBytes: number, tell: (why: string) => void): Disposable {
  const most = Math.floor(scratchBytes / bytesAFile)
  let pid: number | undefined
  let isCounting = false
  let refusals = 0
  void first.then((known) => {
    pid = known?.pid
  })
  const count = async () => {
    if (pid === undefined || isCounting) return
    isCounting = true
    try {
      const counts = await Promise.all(scratchFolders.map((folder) => filesIn(`/proc/${pid}/root/${folder}`, scratchBytes)))
      const files = counts.reduce((sum, one) => sum + one, 0)
      if (files > most) tell(`The script made more than ${most} files in /tmp and /dev/shm and was stopped.`)
    } catch {
      if (++refusals > mostRefusals) tell('The script was stopped: the files it makes can not be counted here.')
    } finally {
      isCounting = false
    }
  }
  const timer = setInterval(() => void count(), everyMs)
  return { [Symbol.dispose]: () => clearInterval(timer) }
}

/** None while the sandbox is being made, and when it has gone: then something else is there, or nothing. */
async function filesIn(folder: string, scratchBytes: number): Promise<number> {
  try {
    const { type, blocks, bsize, files, ffree } = await statfs(folder)
    return type === tmpfs && blocks === Math.ceil(scratchBytes / bsize) ? files - ffree : 0
  } catch (error) {
    if (error instanceof Error && 'code' in error && (error.code === 'ENOENT' || error.code === 'ESRCH')) return 0
    throw error
  }
}
