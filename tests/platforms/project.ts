import { execFileSync } from 'node:child_process'
import { cpSync, linkSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('../..', import.meta.url))
const here = fileURLToPath(new URL('.', import.meta.url))
/** Bundlers, other versions of Node.js, Bun and Deno: a package of its own, so that `npm ci` stays quick. */
export const installed: string = join(root, '.ci/platforms/node_modules')

export const node26: string = join(installed, 'node26/bin/node')

interface LockedPackage {
  dev?: true
  devOptional?: true
  optional?: true
  peer?: true
}

/**
 * A project as an application's: the package as it is built, what it depends on and nothing of what is optional, the bundlers, and the files of
 * `project/`. Links instead of copies where both are on one disk.
 */
export function makeProject(): string {
  execFileSync('npm', ['run', 'build'], { cwd: root, stdio: 'pipe' })
  const folder = mkdtempSync(join(tmpdir(), 'toolloop-project-'))
  cpSync(join(here, 'project'), folder, { recursive: true })
  writeFileSync(join(folder, 'package.json'), '{ "private": true, "type": "module" }')
  const own = join(folder, 'node_modules/toolloop')
  cpSync(join(root, 'dist'), join(own, 'dist'), { recursive: true })
  cpSync(join(root, 'package.json'), join(own, 'package.json'))
  const { packages }: { packages: Record<string, LockedPackage> } = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8'))
  for (const [path, { dev, devOptional, optional, peer }] of Object.entries(packages)) {
    if (path !== '' && !(dev || devOptional || optional || peer)) linkTree(join(root, path), join(folder, path))
  }
  for (const name of readdirSync(installed)) {
    if (!/^(\.|node\d|@?esbuild|bun$|@oven$|@?deno$)/.test(name)) linkTree(join(installed, name), join(folder, 'node_modules', name))
  }
  return folder
}

function linkTree(from: string, to: string): void {
  mkdirSync(to, { recursive: true })
  for (const entry of readdirSync(from, { withFileTypes: true })) {
    const [source, target] = [join(from, entry.name), join(to, entry.name)]
    if (entry.isDirectory()) linkTree(source, target)
    else if (entry.isFile()) linkOrCopy(source, target)
  }
}

function linkOrCopy(from: string, to: string): void {
  try {
    linkSync(from, to)
  } catch {
    cpSync(from, to)
  }
}

/** Runs a command line in a project, with the bundlers and a version of Node.js in the path. Throws with all it printed if it fails. */
export function runIn(folder: string, command: string, node: string = process.execPath): string {
  const path = [dirname(node), join(installed, '.bin'), join(root, 'node_modules/.bin'), process.env.PATH].join(delimiter)
  const env = { ...process.env, PATH: path, NEXT_TELEMETRY_DISABLED: '1', NODE_ENV: undefined }
  return execFileSync('sh', ['-c', command], { cwd: folder, env, encoding: 'utf8', stdio: 'pipe' })
}
