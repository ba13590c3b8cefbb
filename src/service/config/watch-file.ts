import { type FSWatcher, watch } from 'node:fs'
import { realpath } from 'node:fs/promises'
import { dirname } from 'node:path'

export interface WatchTimes {
  /**
   * How long changes are collected before the callback is called, in milliseconds. Editors often write a file several times when they save
   * it.
   */
  debounceMs: number
  /** The polling interval, in milliseconds. Polling is needed because network and container file systems don't always report changes. */
  pollMs: number
}

/**
 * Calls a callback when a file may have changed. The file need not exist. Watches the folder of the file and, for a symbolic link, the
 * folder of the target. A watch on the file itself would end when an editor replaces the file.
 */
export class FileWatch {
  readonly #path: string
  readonly #times: WatchTimes
  readonly #onChange: () => void
  #watchers: FSWatcher[] = []
  #watched = ''
  #timer: NodeJS.Timeout | undefined
  readonly #poll: NodeJS.Timeout
  #closed = false

  constructor(path: string, times: WatchTimes, onChange: () => void) {
    this.#path = path
    this.#times = times
    this.#onChange = onChange
    this.#poll = setInterval(onChange, times.pollMs).unref()
  }

  /**
   * Watches the current folders of the file and its target. Called before each read of the file, because a symbolic link may have a new
   * target. Never rejects.
   */
  async follow(): Promise<void> {
    const target = await realpath(this.#path).catch(() => this.#path)
    const folders = [...new Set([dirname(this.#path), dirname(target)])]
    if (this.#closed || folders.join('\n') === this.#watched) return
    this.#stopWatching()
    this.#watched = folders.join('\n')
    for (const folder of folders) {
      try {
        const watcher = watch(folder, { persistent: false }, () => this.#changed())
        // If the folder was removed, only polling detects changes.
        watcher.on('error', () => this.#stopWatching())
        this.#watchers.push(watcher)
      } catch {
        // The folder may not exist. Only polling detects changes then.
        this.#watched = ''
      }
    }
  }

  close(): void {
    this.#closed = true
    clearTimeout(this.#timer)
    clearInterval(this.#poll)
    this.#stopWatching()
  }

  #changed(): void {
    clearTimeout(this.#timer)
    this.#timer = setTimeout(this.#onChange, this.#times.debounceMs).unref()
  }

  #stopWatching(): void {
    for (const watcher of this.#watchers) watcher.close()
    this.#watchers = []
    this.#watched = ''
  }
}
