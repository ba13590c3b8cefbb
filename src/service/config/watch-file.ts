import { type FSWatcher, watch } from 'node:fs'
import { realpath } from 'node:fs/promises'
import { dirname } from 'node:path'

export interface WatchTimes {
  /** Changes that come closer together than this, in milliseconds, are one: an editor makes several of one save. */
  debounceMs: number
  /** How often it is looked at in any case: network and container file systems don't always tell of changes. */
  pollMs: number
}

/**
 * Calls back when a file may have changed; it may be there or not. Its folder is watched, and the folder of the file it leads to: what
 * replaces a file as a whole (a rename, an exchanged symbolic link) is unseen by whoever watches the file itself.
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

  /** Watches the folders as they are now. To be called again before each look at the file: it may lead elsewhere by now. Never rejects. */
  async follow(): Promise<void> {
    const target = await realpath(this.#path).catch(() => this.#path)
    const folders = [...new Set([dirname(this.#path), dirname(target)])]
    if (this.#closed || folders.join('\n') === this.#watched) return
    this.#stopWatching()
    this.#watched = folders.join('\n')
    for (const folder of folders) {
      try {
        const watcher = watch(folder, { persistent: false }, () => this.#changed())
        // A folder that goes away: the poll finds out what has become of the file.
        watcher.on('error', () => this.#stopWatching())
        this.#watchers.push(watcher)
      } catch {
        // No such folder, or no watches left: then the poll alone has to do.
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
