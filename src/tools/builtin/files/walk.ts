import { constants, type Dirent } from 'node:fs'
import { lstat, open, opendir } from 'node:fs/promises'
import { dirname, join, sep } from 'node:path'
import { setImmediate } from 'node:timers/promises'
import { IgnoreRules } from './gitignore.ts'
import { compileGlob, type PathPattern, type PatternState } from './path-pattern.ts'
import type { Place, Workspace } from './workspace.ts'

export interface WalkOptions {
  /** A glob over the path below the start. Default: everything but hidden files. */
  pattern?: string
  /** Default true. */
  recursive?: boolean
  /** Default `'files'`. */
  kind?: 'files' | 'folders'
  /** How many files and folders are visited before the walk gives up. Default 200,000. */
  maxEntries?: number
  signal: AbortSignal
}

export type WalkEntry = Pick<Place, 'path' | 'real'>

interface Folder extends WalkEntry {
  state: PatternState
  rules: IgnoreRules
}

/** Entries are yielded in batches, so that a consumer can work on several at once. */
const batchSize = 64
/** How long the walk may block the event loop. */
const sliceMs = 8
/** A larger file is not a list of patterns. */
const maxRuleBytes = 1024 * 1024
/** Never listed: nobody asks for it, and it is often enormous. */
const skippedName = 'node_modules'

/**
 * Walks a folder top down, names in order, in batches. Leaves out what git ignores, hidden names the pattern does not spell out,
 * private files, `node_modules`, symbolic links and special files. Rejects with the signal's reason as soon as it is aborted.
 */
export class Walk implements AsyncIterable<WalkEntry[]> {
  readonly #workspace: Workspace
  readonly #start: Place
  readonly #options: WalkOptions
  readonly #pattern: PathPattern
  #left: number
  #truncated = false
  #unreadable = 0
  #sliceStart = performance.now()

  /** Throws `invalid_arguments` for an invalid pattern. */
  constructor(workspace: Workspace, start: Place, options: WalkOptions) {
    this.#workspace = workspace
    this.#start = start
    this.#options = options
    this.#pattern = compileGlob(options.pattern ?? '**')
    this.#left = options.maxEntries ?? 200_000
  }

  /** True once the walk has given up at `maxEntries`. */
  get truncated(): boolean {
    return this.#truncated
  }

  /** In words what the walk could not read, `unreadableFiles` included; empty if nothing was missed. */
  gaps(unreadableFiles: number): string {
    const notes: string[] = []
    if (this.#truncated) notes.push('Stopped early: there are too many files here; give a narrower `path`.')
    if (this.#unreadable > 0) notes.push(`${this.#unreadable} folder(s) could not be read.`)
    if (unreadableFiles > 0) notes.push(`${unreadableFiles} file(s) could not be read.`)
    return notes.join(' ')
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<WalkEntry[]> {
    const { path, real, isFolder } = this.#start
    if (!isFolder) {
      const name = path.slice(path.lastIndexOf('/') + 1)
      const named = this.#options.pattern === undefined || this.#pattern.matches([name])
      if (this.#options.kind !== 'folders' && named) yield [{ path, real }]
      return
    }
    const stack: Folder[] = [{ path, real, state: this.#pattern.start, rules: await this.#rulesAbove() }]
    for (let folder = stack.pop(); folder !== undefined; folder = stack.pop()) {
      const children = await this.#read(folder)
      if (children !== undefined) yield* this.#visit(folder, children, stack)
    }
  }

  async *#visit(folder: Folder, children: Dirent[], stack: Folder[]): AsyncGenerator<WalkEntry[]> {
    const rules = await this.#rulesOf(folder, children)
    const wantsFolders = this.#options.kind === 'folders'
    const below: Folder[] = []
    let batch: WalkEntry[] = []
    for (const child of children) {
      if (this.#isDue()) await this.#rest()
      const isFolder = child.isDirectory()
      if (child.name === skippedName || !(isFolder || child.isFile())) continue
      const state = this.#pattern.enter(folder.state, child.name)
      const real = join(folder.real, child.name)
      if (state.length === 0 || this.#workspace.refuses(real) || (await this.#isIgnored(rules, real, isFolder))) continue
      const entry = { path: folder.path === '.' ? child.name : `${folder.path}/${child.name}`, real }
      if (isFolder === wantsFolders && this.#pattern.accepts(state)) batch.push(entry)
      if (isFolder && this.#options.recursive !== false && this.#pattern.mayContinue(state)) below.push({ ...entry, state, rules })
      if (batch.length === batchSize) {
        yield batch
        batch = []
      }
    }
    if (batch.length > 0) yield batch
    while (below.length > 0) stack.push(...below.splice(-1))
  }

  /** The entries of a folder, sorted by name; undefined if it is gone, was replaced by a link, or can't be read. */
  async #read(folder: Folder): Promise<Dirent[] | undefined> {
    const children: Dirent[] = []
    try {
      if (!(await this.#workspace.isUnmoved(folder.real))) return undefined
      // Not readdir, which would read a folder of millions at once.
      for await (const child of await opendir(folder.real, { bufferSize: 256 })) {
        if (this.#left === 0) {
          this.#truncated = true
          break
        }
        this.#left--
        children.push(child)
        if (this.#isDue()) await this.#rest()
      }
    } catch (error) {
      this.#options.signal.throwIfAborted()
      // Folders come and go during the walk; only one that exists and can't be read is reported.
      if (!(error instanceof Error && 'code' in error && error.code === 'ENOENT')) this.#unreadable++
      if (children.length === 0) return undefined
    }
    return children.sort((a, b) => (a.name < b.name ? -1 : 1))
  }

  async #isIgnored(rules: IgnoreRules, real: string, isFolder: boolean): Promise<boolean> {
    const check = rules.check(slashes(real), isFolder)
    for (let step = check.next(); ; step = check.next()) {
      if (step.done === true) return step.value
      if (this.#isDue()) await this.#rest()
    }
  }

  #isDue(): boolean {
    this.#options.signal.throwIfAborted()
    return performance.now() - this.#sliceStart >= sliceMs
  }

  /** Yields to the event loop. */
  async #rest(): Promise<void> {
    await setImmediate()
    this.#sliceStart = performance.now()
    this.#options.signal.throwIfAborted()
  }

  async #rulesOf(folder: Folder, children: readonly Dirent[]): Promise<IgnoreRules> {
    let rules = folder.rules
    // A nested repository: the rules of the outer one end here.
    if (children.some(({ name }) => name === '.git')) rules = await repositoryRules(folder.real)
    if (children.some(({ name }) => name === '.gitignore')) rules = await withRules(rules, folder.real, join(folder.real, '.gitignore'))
    return rules
  }

  /**
   * The rules from above the start: from its repository's folder down, even above the workspace, as git uses them too; without a repository,
   * from the workspace down.
   */
  async #rulesAbove(): Promise<IgnoreRules> {
    const { root } = this.#workspace
    const above: string[] = []
    let repository: string | undefined
    for (let folder = this.#start.real; repository === undefined; folder = dirname(folder)) {
      if (folder !== this.#start.real) above.unshift(folder)
      if (await exists(join(folder, '.git'))) repository = folder
      if (folder === dirname(folder)) break
    }
    const within = above.filter((folder) => repository !== undefined || folder === root || folder.startsWith(join(root, sep)))
    let rules = repository === undefined ? IgnoreRules.none : await repositoryRules(repository)
    for (const folder of within) rules = await withRules(rules, folder, join(folder, '.gitignore'))
    return rules
  }
}

function repositoryRules(folder: string): Promise<IgnoreRules> {
  return withRules(IgnoreRules.none, folder, join(folder, '.git', 'info', 'exclude'))
}

/** Adds the rules in `file`, if it is a regular file; like git, does not follow a link. */
async function withRules(rules: IgnoreRules, folder: string, file: string): Promise<IgnoreRules> {
  try {
    const handle = await open(file, constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0) | (constants.O_NONBLOCK ?? 0))
    try {
      const stats = await handle.stat()
      if (!stats.isFile() || stats.size > maxRuleBytes) return rules
      return await rules.with(slashes(folder), await handle.readFile('utf8'))
    } finally {
      await handle.close()
    }
  } catch {
    // Like git, without rules if the file does not exist or can't be read.
    return rules
  }
}

async function exists(path: string): Promise<boolean> {
  return lstat(path).then(
    () => true,
    () => false,
  )
}

function slashes(path: string): string {
  const plain = sep === '/' ? path : path.split(sep).join('/')
  return plain.endsWith('/') ? plain.slice(0, -1) : plain
}
