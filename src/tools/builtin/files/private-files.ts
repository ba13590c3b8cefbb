import { realpathSync, type Stats, statSync } from 'node:fs'
import { readdir, stat } from 'node:fs/promises'
import { basename, dirname, extname, isAbsolute, join, relative, resolve, sep } from 'node:path'

/** Private folders in a `.toolloop` folder. They contain the runs of a service, and tokens for MCP servers. */
const keptFolders = new Set(['runs', 'mcp'])

/** How long the hard links to private files are cached, in milliseconds. A cache is needed because a search opens very many files. */
const rememberedMs = 1_000

/**
 * The files of a workspace that no tool may read: git's own files, dot-env files, stored passwords, stored runs and tokens, files named in
 * the options, and copies of all these files. Private files are recognized by name, in any spelling that a file system treats as the same,
 * and by hard links. Hard links are detected only for the dot-env files and the git configuration directly in the workspace's folder.
 */
export class PrivateFiles {
  readonly #root: string
  readonly #named: readonly string[]
  /** Names of the files given in the options, in lower case. Copies next to these files are private, too. */
  readonly #copied: readonly { folder: string; name: string }[]
  #links: { at: number; files: Promise<ReadonlySet<string>> } | undefined

  /** `named`: files and folders, absolute or relative to the working directory. These files and folders need not exist yet. */
  constructor(root: string, named: readonly string[] = []) {
    this.#root = root
    this.#named = named.map((path) => realOrPlanned(resolve(path)))
    this.#copied = this.#named
      .filter(isFile)
      .map((path) => ({ folder: dirname(path).toLowerCase(), name: nameOfOriginal(basename(path).toLowerCase()) }))
  }

  /** Whether an absolute path in the workspace is private: a private file or folder, or a path inside one. */
  includes(absolute: string): boolean {
    const names = relative(this.#root, absolute).split(sep).map(plainName)
    if (names.some((name, at) => isPrivateName(name) || (keptFolders.has(name) && names[at - 1] === '.toolloop'))) return true
    return this.protects(absolute)
  }

  /** Whether a path is one of the named files or folders, is inside a named folder, or is a copy next to a named file. */
  protects(absolute: string): boolean {
    const lower = absolute.toLowerCase()
    if (this.#named.some((path) => isWithin(path.toLowerCase(), lower))) return true
    return this.#copied.some(
      ({ folder, name }) => isWithin(folder, lower) && nameOfOriginal(relative(folder, lower).split(sep)[0] ?? '').startsWith(name),
    )
  }

  /** Whether an open file is a private file under another name. */
  async isLinkTo({ nlink, dev, ino }: Pick<Stats, 'nlink' | 'dev' | 'ino'>): Promise<boolean> {
    if (nlink < 2) return false
    const now = performance.now()
    if (this.#links === undefined || now - this.#links.at > rememberedMs) this.#links = { at: now, files: this.#findLinks() }
    return (await this.#links.files).has(`${dev}:${ino}`)
  }

  async #findLinks(): Promise<ReadonlySet<string>> {
    const own = await readdir(this.#root).catch(() => [])
    const files = own.filter((name) => isPrivateName(plainName(name))).map((name) => join(this.#root, name))
    const folders = [...this.#named, ...[...keptFolders].map((name) => join(this.#root, '.toolloop', name))]
    const inside = await Promise.all(
      folders.map(async (path) => (await readdir(path, { recursive: true }).catch(() => [])).map((name) => join(path, name))),
    )
    const links = new Set<string>()
    for (const path of [...files, join(this.#root, '.git', 'config'), ...this.#named, ...inside.flat()]) {
      const found = await stat(path).catch(() => undefined)
      if (found?.isFile()) links.add(`${found.dev}:${found.ino}`)
    }
    return links
  }
}

export function isWithin(folder: string, absolute: string): boolean {
  const path = relative(folder, absolute)
  return path === '' || (path !== '..' && !path.startsWith(`..${sep}`) && !isAbsolute(path))
}

/** Returns the path with its links resolved. The part of the path that does not exist is unchanged. */
export function realOrPlanned(absolute: string): string {
  try {
    return realpathSync(absolute)
  } catch {
    const folder = dirname(absolute)
    return folder === absolute ? absolute : join(realOrPlanned(folder), basename(absolute))
  }
}

/** Matches templates of dot-env files. They are not private, because they only list the names of the variables. */
const example = /^\.env.*\.(example|sample|template|dist)$/
/** Matches dot-env files, copies of them, folders with such names, and files in which git and other programs store passwords. */
const secret = /^\.env|.\.env$|^\.git-credentials|^[._]netrc/
/** Matches temporary files that the service writes before it replaces a file. A crash leaves such files behind. */
const unfinished = /^\.toolloop-.*\.tmp$/

function isPrivateName(name: string): boolean {
  return name === '.git' || name === 'git~1' || unfinished.test(name) || (secret.test(name) && !example.test(name))
}

/** Whether a path is a file. If the path does not exist yet, its name decides. */
function isFile(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isFile() ?? extname(path) !== ''
}

/** Removes the characters that editors put before the name of a copy: `.toolloop.yaml.swp`, `.#toolloop.yaml`, `#toolloop.yaml#`. */
function nameOfOriginal(name: string): string {
  return plainName(name).replace(/^[.#~]+/, '')
}

/**
 * Normalizes a name for comparison. Some file systems ignore case, invisible characters, trailing dots and spaces, or a stream name after a
 * colon.
 */
function plainName(name: string): string {
  return name
    .normalize('NFKC')
    .replace(/[\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufeff]/g, '')
    .replace(/:.*$/s, '')
    .replace(/(?<![. ])[. ]+$/, '')
    .toLowerCase()
}
