import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { entries } from '../pins/public-types.ts'

export const root: string = fileURLToPath(new URL('../..', import.meta.url))

/** A folder in which a project uses the package as it is published. */
export interface PackedProject extends Disposable {
  readonly folder: string
  /** The files of the package, as npm lists them. */
  readonly files: readonly string[]
}

interface Packed {
  filename: string
  files: { path: string }[]
}

/** Builds and packs the package. Returns the path of its file, and what it contains. */
export function packInto(folder: string): { file: string; files: string[] } {
  const output = execFileSync('npm', ['pack', '--json', '--pack-destination', folder], {
    cwd: root,
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  // The build prints before it.
  const packed: Packed[] | Record<string, Packed> = JSON.parse(output.slice(output.search(/^[[{]$/m)))
  const [{ filename, files } = { filename: '', files: [] }] = Object.values(packed)
  return { file: join(folder, basename(filename)), files: files.map(({ path }) => path).toSorted() }
}

/** Packs the package and installs it, with others, in an empty project that only its owner can enter. */
export function installPacked(others: readonly string[] = []): PackedProject {
  // `mkdtemp` makes a folder of mode 0700.
  const parent = mkdtempSync(join(tmpdir(), 'toolloop-packed-'))
  const folder = join(parent, 'project')
  mkdirSync(folder)
  const { file, files } = packInto(parent)
  writeFileSync(join(folder, 'package.json'), '{ "private": true, "type": "module" }\n')
  const options = ['--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error']
  execFileSync('npm', ['install', ...options, file, ...others], { cwd: folder, stdio: 'inherit' })
  return { folder, files, [Symbol.dispose]: () => rmSync(parent, { recursive: true, force: true }) }
}

const names = new Map([...entries].map(([name, file]) => [relative(root, file), name]))

/** A program of this repository as users write it: it imports the package by its name. */
export function asUsersWrite(source: string): string {
  return source.replace(/'(?:\.\.\/)+(src\/[^']+)'/g, (_, file) => `'${names.get(file)}'`)
}
