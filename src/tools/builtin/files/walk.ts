import { constants, type Dirent } from 'node:fs'
import { lstat, open, opendir } from 'node:fs/promises'
import { dirname, join, relative, sep } from 'node:path'
import { show, ToolloopError } from '../../../core/errors.ts'
import { SearchThread } from './search-thread.ts'
import type { GlobMatch } from './search-worker.ts'
import type { Place, Workspace } from './workspace.ts'

export interface WalkOptions {
  /** A glob for paths relative to the folder where the walk starts. Default: all files that are not hidden. */
  pattern?: string
  /** Whether to visit subfolders. Default true. */
  recursive?: boolean
  /** Whether to list files or folders. Default `'files'`. */
  kind?: 'files' | 'folders'
  /** Maximum number of files and folders to visit. Default 200,000. */
  maxEntries?: number
  /** Time limit for matching 128 names, and for parsing the rules of one file, in milliseconds. Default 5,000. */
  matchTimeoutMs?: number
  signal: AbortSignal
}

export type WalkEntry = Pick<Place, 'path' | 'real'>

interface Folder extends WalkEntry {
  rules: Rules | undefined
}

/** The rules that say which files git ignores (https://git-scm.com/docs/gitignore). */
interface Rules {
  /** The number of the combined rule set in the search thread. */
  number: number
  /** The folder of the first rules file. Paths are matched relative to this folder. */
  top: string
}

/** An entry of a folder, with the result of matching it. */
interface Selected extends GlobMatch {
  entry: WalkEntry
  isFolder: boolean
}

/** Number of entries that are yielded at once, so that a consumer can process several in parallel. */
const batchSize = 64
/** Number of entries of a folder that are matched at once. */
const matchedAtOnce = 128
/** Maximum size of a rules file, in bytes. Parsed rules take about 15 times as much memory as their text. */
const maxRuleBytes = 128 * 1024
/** The name of a folder that is never listed, because it is rarely wanted and often enormous. */
const skippedName = 'node_modules'

/**
 * Walks a folder from the top down, sorted by name, and yields batches of entries. Leaves out files that git ignores, hidden names that the
 * pattern does not contain, private files, `node_modules`, symbolic links and special files. Rejects with the signal's reason as soon as
 * the signal is aborted, and with `invalid_arguments` for an invalid pattern.
 */
export class Walk implements AsyncIterable<WalkEntry[]> {
  /** The thread that matches the pattern. It can also search the content of the entries until the walk ends. */
  readonly thread: SearchThread
  readonly #workspace: Workspace
  readonly #start: Place
  readonly #options: WalkOptions
  readonly #timeoutMs: number
  #left: number
  #truncated = false
  #unreadable = 0
  #largeRules = 0

  constructor(workspace: Workspace, start: Place, options: WalkOptions) {
    this.#workspace = workspace
    this.#start = start
    this.#options = options
    this.#left = options.maxEntries ?? 200_000
    this.#timeoutMs = options.matchTimeoutMs ?? 5_000
    this.thread = new SearchThread(options.signal)
  }

  /** Whether the walk has stopped at `maxEntries`. */
  get truncated(): boolean {
    return this.#truncated
  }

  /**
   * Describes what the walk left out: entries over the limit, ignore files that are too large, and unreadable folders and files.
   * `unreadableFiles`: the number of files that the caller could not read. Empty if nothing was left out.
   */
  gaps(unreadableFiles: number): string {
    const notes: string[] = []
    if (this.#truncated) notes.push('Stopped early: there are too many files here; give a narrower `path`.')
    if (this.#largeRules > 0)
      notes.push(`${this.#largeRules} \`.gitignore\` file(s) larger than ${maxRuleBytes / 1024} KiB were not applied.`)
    if (this.#unreadable > 0) notes.push(`${this.#unreadable} folder(s) could not be read.`)
    if (unreadableFiles > 0) notes.push(`${unreadableFiles} file(s) could not be read.`)
    return notes.join(' ')
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<WalkEntry[]> {
    const { path, real, isFolder } = this.#start
    try {
      if (!isFolder) {
        const [match] = await this.#match([path.slice(path.lastIndexOf('/') + 1)])
        const named = this.#options.pattern === undefined || match?.matches === true
        if (this.#options.kind !== 'folders' && named) yield [{ path, real }]
        return
      }
      const stack: Folder[] = [{ path, real, rules: await this.#rulesAbove() }]
      for (let folder = stack.pop(); folder !== undefined; folder = stack.pop()) {
        const children = await this.#read(folder)
        if (children !== undefined) yield* this.#visit(folder, children, stack)
      }
    } finally {
      await this.thread.close()
    }
  }

  async *#visit(folder: Folder, children: Dirent[], stack: Folder[]): AsyncGenerator<WalkEntry[]> {
    const rules = await this.#rulesOf(folder, children)
    const wantsFolders = this.#options.kind === 'folders'
    const below: Folder[] = []
    let batch: WalkEntry[] = []
    for (let from = 0; from === 0 || from < children.length; from += matchedAtOnce) {
      const selected = await this.#select(folder, rules, children.slice(from, from + matchedAtOnce))
      for (const { entry, isFolder, matches, mayMatchIn } of selected) {
        if (isFolder === wantsFolders && matches) batch.push(entry)
        if (isFolder && this.#options.recursive !== false && mayMatchIn) below.push({ ...entry, rules })
        if (batch.length === batchSize) {
          yield batch
          batch = []
        }
      }
    }
    if (batch.length > 0) yield batch
    while (below.length > 0) stack.push(...below.splice(-1))
  }

  /** Selects entries of a folder that are not ignored. An entry is selected if it matches, or if a path inside it may match. */
  async #select(folder: Folder, rules: Rules | undefined, children: readonly Dirent[]): Promise<Selected[]> {
    const shown: Omit<Selected, keyof GlobMatch>[] = []
    for (const child of children) {
      const isFolder = child.isDirectory()
      if (child.name === skippedName || !(isFolder || child.isFile())) continue
      const real = join(folder.real, child.name)
      if (this.#workspace.refuses(real)) continue
      shown.push({ entry: { path: folder.path === '.' ? child.name : `${folder.path}/${child.name}`, real }, isFolder })
    }
    const matched = await this.#match(shown.map(({ entry }) => slashes(relative(this.#start.real, entry.real))))
    const selected = shown
      .map((one, at) => ({ ...one, ...(matched[at] ?? { matches: false, mayMatchIn: false }) }))
      .filter(({ isFolder, matches, mayMatchIn }) => matches || (isFolder && mayMatchIn))
    const ignored = await this.#areIgnored(rules, selected)
    return selected.filter((_, at) => ignored[at] !== true)
  }

  /** Matches paths against the pattern. The paths are relative to the folder where the walk starts. */
  async #match(paths: readonly string[]): Promise<GlobMatch[]> {
    const { pattern } = this.#options
    if (pattern === undefined) return paths.map((path) => ({ matches: !isHidden(path), mayMatchIn: !isHidden(path) }))
    const refusal = (expected: string) =>
      new ToolloopError('invalid_arguments', `Expected \`pattern\` to be ${expected}, got ${show(pattern)}`)
    const late = () => refusal(`a simpler glob that takes less than ${this.#timeoutMs} ms on the names of a folder`)
    const matched = await this.thread.ask('matchGlob', [pattern, paths], { ms: this.#timeoutMs, late })
    if (typeof matched === 'string') throw refusal(matched)
    return matched
  }

  /** Reads the entries of a folder, sorted by name. Undefined if the folder has been removed, was replaced by a link, or can't be read. */
  async #read(folder: Folder): Promise<Dirent[] | undefined> {
    const children: Dirent[] = []
    try {
      if (!(await this.#workspace.isUnmoved(folder.real))) return undefined
      // `readdir` is not used, because it would read a folder with millions of entries at once.
      for await (const child of await opendir(folder.real, { bufferSize: 256 })) {
        if (this.#left === 0) {
          this.#truncated = true
          break
        }
        this.#left--
        children.push(child)
        this.#options.signal.throwIfAborted()
      }
    } catch (error) {
      this.#options.signal.throwIfAborted()
      // A folder that disappears during the walk is not reported as unreadable.
      if (!(error instanceof Error && 'code' in error && error.code === 'ENOENT')) this.#unreadable++
      if (children.length === 0) return undefined
    }
    return children.sort((a, b) => (a.name < b.name ? -1 : 1))
  }

  async #areIgnored(rules: Rules | undefined, entries: readonly Omit<Selected, keyof GlobMatch>[]): Promise<boolean[]> {
    if (rules === undefined || entries.length === 0) return []
    const paths = entries.map(({ entry, isFolder }) => `${slashes(relative(rules.top, entry.real))}${isFolder ? '/' : ''}`)
    const late = () => {
      const folder = show(this.#workspace.pathOf(dirname(entries[0]?.entry.real ?? rules.top)))
      return new ToolloopError(
        'tool_failed',
        `The rules in \`.gitignore\` take longer than ${this.#timeoutMs} ms on the names in ${folder}`,
      )
    }
    return await this.thread.ask('areIgnored', [rules.number, paths], { ms: this.#timeoutMs, late })
  }

  async #rulesOf(folder: Folder, children: readonly Dirent[]): Promise<Rules | undefined> {
    let { rules } = folder
    // In a nested repository, the rules of the outer repository do not apply.
    if (children.some(({ name }) => name === '.git')) rules = await this.#repositoryRules(folder.real)
    if (children.some(({ name }) => name === '.gitignore')) rules = await this.#withRules(rules, folder.real)
    return rules
  }

  /**
   * Reads the ignore rules in the folders above the start of the walk. As in git, they are read from the root of the repository downwards,
   * even if the root is above the workspace. Without a repository, they are read from the workspace downwards.
   */
  async #rulesAbove(): Promise<Rules | undefined> {
    const { root } = this.#workspace
    const above: string[] = []
    let repository: string | undefined
    for (let folder = this.#start.real; repository === undefined; folder = dirname(folder)) {
      if (folder !== this.#start.real) above.unshift(folder)
      if (await exists(join(folder, '.git'))) repository = folder
      if (folder === dirname(folder)) break
    }
    const within = above.filter((folder) => repository !== undefined || folder === root || folder.startsWith(join(root, sep)))
    let rules = repository === undefined ? undefined : await this.#repositoryRules(repository)
    for (const folder of within) rules = await this.#withRules(rules, folder)
    if (rules === undefined || rules.top === this.#start.real) return rules
    // If the walk starts in an ignored folder, no rules apply, because the model asked for this folder.
    const [isIgnored] = await this.#areIgnored(rules, [{ entry: this.#start, isFolder: true }])
    return isIgnored === true ? undefined : rules
  }

  #repositoryRules(folder: string): Promise<Rules | undefined> {
    return this.#withRules(undefined, folder, join('.git', 'info', 'exclude'))
  }

  /** Combines `rules` with the rules in a file of the folder. The rules in that file take precedence. */
  async #withRules(rules: Rules | undefined, folder: string, file = '.gitignore'): Promise<Rules | undefined> {
    const text = await this.#readRules(join(folder, file))
    if (text === undefined) return rules
    const top = rules?.top ?? folder
    const late = () =>
      new ToolloopError(
        'tool_failed',
        `${show(this.#workspace.pathOf(join(folder, file)))} takes longer than ${this.#timeoutMs} ms to read`,
      )
    const number = await this.thread.ask('addRules', [rules?.number, slashes(relative(top, folder)), text], { ms: this.#timeoutMs, late })
    return { number, top }
  }

  /** Reads the rules in `file` if it is a regular file. Like git, does not follow a link. */
  async #readRules(file: string): Promise<string | undefined> {
    try {
      const handle = await open(file, constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0) | (constants.O_NONBLOCK ?? 0))
      try {
        const stats = await handle.stat()
        if (!stats.isFile()) return undefined
        if (stats.size <= maxRuleBytes) return await handle.readFile('utf8')
        this.#largeRules++
        return undefined
      } finally {
        await handle.close()
      }
    } catch {
      // Like git, uses no rules if the file does not exist or can't be read.
      return undefined
    }
  }
}

async function exists(path: string): Promise<boolean> {
  return lstat(path).then(
    () => true,
    () => false,
  )
}

function isHidden(path: string): boolean {
  return path.slice(path.lastIndexOf('/') + 1).startsWith('.')
}

function slashes(path: string): string {
  return sep === '/' ? path : path.split(sep).join('/')
}
