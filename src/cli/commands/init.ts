import { constants, existsSync, lstatSync } from 'node:fs'
import { chmod, copyFile, mkdir, readdir, readFile, writeFile } from 'node:fs/promises'
import { basename, dirname, join, relative, resolve } from 'node:path'
import { messageOf, ToolloopError } from '../../core/errors.ts'
import { isJsonObject } from '../../core/messages.ts'
import { version } from '../../core/version.ts'
import { EXIT_OK } from '../exit-codes.ts'
import { shellWord } from '../setup/command-line.ts'
import { packageFolder } from '../setup/own-package.ts'
import { type CliIO, Terminal } from '../terminal/terminal.ts'

/**
 * `toolloop init FOLDER`: creates a small project with an agent, a tool, a test and a configuration. Resolves with the exit code. Rejects
 * with `invalid_option`, without writing anything, if one of these files already exists.
 */
export async function init(given: string, io: CliIO): Promise<number> {
  const terminal = new Terminal(io)
  const folder = resolve(io.cwd, given)
  const templates = join(packageFolder, 'config/new-project')
  // The template of .gitignore is named gitignore, because npm would leave out a file named .gitignore.
  const files = (await readdir(templates)).map((name) => ({
    from: join(templates, name),
    name: name === 'gitignore' ? '.gitignore' : name,
  }))
  const names = [...files.map(({ name }) => name), 'package.json']
  const there = names.filter((name) => isThere(join(folder, name)))
  if (there.length > 0)
    throw new ToolloopError('invalid_option', `Expected a folder without ${there.join(', ')}, got ${folder}. Nothing was written.`)
  await mkdir(folder, { recursive: true }).catch((error: unknown) => {
    throw new ToolloopError('invalid_option', `Expected a folder that can be written to, got ${folder} (${messageOf(error)})`)
  })
  for (const { from, name } of files) await copyFile(from, join(folder, name), constants.COPYFILE_EXCL)
  // Only the owner may read the configuration, because it may contain secrets later.
  await chmod(join(folder, 'toolloop.yaml'), 0o600)
  const dependency = await dependencyOf(folder)
  await writeFile(join(folder, 'package.json'), `${JSON.stringify(packageOf(folder, dependency), null, 2)}\n`, { flag: 'wx' })
  for (const name of names.sort()) terminal.note(terminal.paint('dim', `wrote ${join(relative(io.cwd, folder), name)}`))
  const path = relative(io.cwd, folder)
  const enter = path === '' ? '' : `cd ${shellWord(path.startsWith('-') ? `./${path}` : path)} && `
  // If this package runs from a clone of its repository, the new project can't import the package before it is built.
  const isBuilt = existsSync(join(packageFolder, 'dist/index.js'))
  const build = isBuilt ? '' : `(cd ${shellWord(relative(io.cwd, packageFolder) || '.')} && npm run build) && `
  terminal.print(`Next: ${build}${enter}npm install && npm start`)
  return EXIT_OK
}

/** Whether the path exists, even if it is a link to a missing file. Returns false if the folder can't be read. */
function isThere(path: string): boolean {
  try {
    return lstatSync(path, { throwIfNoEntry: false }) !== undefined
  } catch {
    return false
  }
}

/** Returns the new project's dependency on this package: the path of a clone or archive, or a version range. */
async function dependencyOf(folder: string): Promise<string> {
  const modules = dirname(packageFolder)
  if (basename(modules) !== 'node_modules') return `file:${relative(folder, packageFolder)}`
  // npm's record of the installed packages: https://docs.npmjs.com/cli/configuring-npm/package-lock-json#hidden-lockfiles
  const lock: unknown = JSON.parse(await readFile(join(modules, '.package-lock.json'), 'utf8').catch(() => 'null'))
  const installed = isJsonObject(lock) && isJsonObject(lock.packages) ? lock.packages[`node_modules/${basename(packageFolder)}`] : undefined
  const from = isJsonObject(installed) && typeof installed.resolved === 'string' ? installed.resolved : ''
  return from.startsWith('file:') ? `file:${relative(folder, resolve(dirname(modules), from.slice('file:'.length)))}` : `^${version}`
}

function packageOf(folder: string, dependency: string): object {
  const name = basename(folder)
    .toLowerCase()
    .replace(/[^a-z0-9-]+/g, '-')
    .replace(/^-+|-+$/g, '')
  return {
    name: name === '' ? 'my-agent' : name,
    private: true,
    type: 'module',
    engines: { node: '>=22.18' },
    scripts: {
      start: 'node main.ts',
      test: 'node --test',
      typecheck: 'tsc',
      chat: 'toolloop chat --tools ./tools.ts --no-builtin-tools',
      serve: 'toolloop serve --tools ./tools.ts',
    },
    dependencies: { toolloop: dependency },
    devDependencies: { '@types/node': '^24.0.0', typescript: '^7.0.0' },
  }
}
