import { realpathSync, type Stats } from 'node:fs'
import { readdir, stat } from 'node:fs/promises'
import { basename, dirname, isAbsolute, join, relative, resolve, sep } from 'node:path'

/** How long it is remembered which files are private: a search opens very many. */
const rememberedMs = 1_000

/**
 * Which files of a workspace no tool may read: git's own, dot-env files, runs that a service keeps, and those that are named besides.
 * Known by their names in any spelling that a file system takes for the same, and by hard links to them, where they have the links' other
 * names: of dot-env files and of git's configuration those right in the workspace's folder.
 */
export class PrivateFiles {
  readonly #root: string
  readonly #named: readonly string[]
  #links: { at: number; files: Promise<ReadonlySet<string>> } | undefined

  /** `named`: files and folders, absolute or from the working directory; they need not be there yet. */
  constructor(root: string, named: readonly string[] = []) {
    this.#root = root
    this.#named = named.map((path) => realOrPlanned(resolve(path)))
  }

  /** Whether an absolute path, which is in the workspace, is that of a private file or folder, or inside of one. */
  includes(absolute: string): boolean {
    const names = relative(this.#root, absolute).split(sep).map(plainName)
    if (names.some((name, at) => isPrivateName(name) || (name === 'runs' && names[at - 1] === '.toolloop'))) return true
    return this.protects(absolute)
  }

  /** Whether it is one of those that were named besides. */
  protects(absolute: string): boolean {
    return this.#named.some((path) => isWithin(path.toLowerCase(), absolute.toLowerCase()))
  }

  /** Whether an open file is a private one by another name. */
  async isLinkTo({ nlink, dev, ino }: Pick<Stats, 'nlink' | 'dev' | 'ino'>): Promise<boolean> {
    if (nlink < 2) return false
    const now = performance.now()
    if (this.#links === undefined || now - this.#links.at > rememberedMs) this.#links = { at: now, files: this.#findLinks() }
    return (await this.#links.files).has(`${dev}:${ino}`)
  }

  async #findLinks(): Promise<ReadonlySet<string>> {
    const own = await readdir(this.#root).catch(() => [])
    const files = own.filter((name) => isPrivateName(plainName(name))).map((name) => join(this.#root, name))
    const folders = [...this.#named, join(this.#root, '.toolloop', 'runs')]
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

/** The path with all links resolved, as far as it is there. */
export function realOrPlanned(absolute: string): string {
  try {
    return realpathSync(absolute)
  } catch {
    const folder = dirname(absolute)
    return folder === absolute ? absolute : join(realOrPlanned(folder), basename(absolute))
  }
}

/** Dot-env files that are made to be read: they show which variables there are. */
const example = /\.(example|sample|template|dist)$/

function isPrivateName(name: string): boolean {
  return name === '.git' || name === 'git~1' || (/^\.env(rc)?([.~_-]|$)/.test(name) && !example.test(name))
}

/** A name as file systems compare it: some don't tell cases apart, drop characters that can't be seen, dots and spaces at its end, or a stream's name. */
function plainName(name: string): string {
  return name
    .normalize('NFKC')
    .replace(/[\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufeff]/g, '')
    .replace(/:.*$/s, '')
    .replace(/[. ]+$/, '')
    .toLowerCase()
}
