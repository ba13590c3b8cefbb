import { constants, existsSync } from 'node:fs'
import { chmod, copyFile, mkdir, readdir, writeFile } from 'node:fs/promises'
import { basename, join, relative, resolve } from 'node:path'
import { ToolloopError } from '../../core/errors.ts'
import { version } from '../../core/version.ts'
import { EXIT_OK } from '../exit-codes.ts'
import { shellWord } from '../setup/command-line.ts'
import { packageFolder } from '../setup/own-package.ts'
import { type CliIO, Terminal } from '../terminal/terminal.ts'

/**
 * `toolloop init FOLDER`: creates a small project with an agent, a tool, a test and a configuration. Resolves with the exit code. Rejects
 * with `invalid_option`, without writing anything, if one of its files already exists.
 */
export async function init(given: string, io: CliIO): Promise<number> {
  const terminal = new Terminal(io)
  const folder = resolve(io.cwd, given)
  const templates = join(packageFolder, 'config/new-project')
  // npm would not include a file named .gitignore in the package.
  const files = (await readdir(templates)).map((name) => ({
    from: join(templates, name),
    name: name === 'gitignore' ? '.gitignore' : name,
  }))
  const names = [...files.map(({ name }) => name), 'package.json']
  const there = names.filter((name) => existsSync(join(folder, name)))
  if (there.length > 0)
    throw new ToolloopError('invalid_option', `Expected a folder without ${there.join(', ')}, got ${folder}. Nothing was written.`)
  await mkdir(folder, { recursive: true })
  for (const { from, name } of files) await copyFile(from, join(folder, name), constants.COPYFILE_EXCL)
  // It may later contain secrets.
  await chmod(join(folder, 'toolloop.yaml'), 0o600)
  await writeFile(join(folder, 'package.json'), `${JSON.stringify(packageOf(folder), null, 2)}\n`, { flag: 'wx' })
  for (const name of names.sort()) terminal.note(terminal.paint('dim', `wrote ${join(relative(io.cwd, folder), name)}`))
  const enter = folder === io.cwd ? '' : `cd ${shellWord(relative(io.cwd, folder))} && `
  terminal.print(`Next: ${enter}npm install && npm start`)
  return EXIT_OK
}

function packageOf(folder: string): object {
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
    dependencies: { toolloop: `^${version}` },
    devDependencies: { '@types/node': '^24.0.0', typescript: '^7.0.0' },
  }
}
