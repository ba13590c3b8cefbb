import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, dirname, join } from 'node:path'
import { installed, node26 } from '../platforms/project.ts'
import { type Commands, exercise } from './exercise.ts'
import { packInto } from './packed-project.ts'

// `node tests/release/managers.ts` installs the packed package with npm, pnpm, Yarn with Plug'n'Play and Bun, in folders that only their owner
// can enter, and uses it there with each supported version of Node.js, and with Bun. `.ci/nightly` runs it. Needs `npm ci --prefix
// .ci/platforms`; a manager that is not there is skipped, which it says.

interface Manager {
  /** Its program below `.ci/platforms/node_modules`, and what starts it. */
  program: string
  starter?: string
  /** The files that it reads in the project. */
  files?: Readonly<Record<string, string>>
  install(file: string): string[]
  /** The arguments that start Node.js. Absent: it is started directly. */
  node?: string[]
  /** The arguments that start the command line. */
  toolloop: string[]
}

const node24 = process.execPath
const nodes: readonly [version: string, path: string][] = [
  ['22', join(installed, 'node22/bin/node')],
  ['24', node24],
  ['26', node26],
]

const managers: Readonly<Record<string, Manager>> = {
  npm: {
    program: 'npm',
    install: (file) => ['install', '--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error', file],
    toolloop: ['exec', '--', 'toolloop'],
  },
  pnpm: {
    program: join(installed, 'pnpm/bin/pnpm.cjs'),
    starter: node24,
    install: (file) => ['add', '--ignore-scripts', file],
    toolloop: ['exec', 'toolloop'],
  },
  yarn: {
    program: join(installed, '@yarnpkg/cli-dist/bin/yarn.js'),
    starter: node24,
    files: { '.yarnrc.yml': 'nodeLinker: pnp\nenableTelemetry: false\nenableGlobalCache: false\nenableScripts: false\n', 'yarn.lock': '' },
    install: (file) => ['add', `toolloop@file:${file}`],
    node: ['node'],
    toolloop: ['toolloop'],
  },
  bun: {
    program: join(installed, '.bin/bun'),
    install: (file) => ['add', '--ignore-scripts', file],
    toolloop: ['x', 'toolloop'],
  },
}

const parent = mkdtempSync(join(tmpdir(), 'toolloop-managers-'))
try {
  const { file } = packInto(parent)
  const given = process.argv.slice(2)
  for (const [name, manager] of Object.entries(managers)) {
    if (given.length > 0 && !given.includes(name)) continue
    if (manager.program.includes('/') && !existsSync(manager.program)) console.warn(`SKIPPED: ${name} is not installed in .ci/platforms`)
    else await tryManager(name, manager, file)
  }
} finally {
  rmSync(parent, { recursive: true, force: true })
}

async function tryManager(name: string, { program, starter, files = {}, install, node, toolloop }: Manager, file: string): Promise<void> {
  const folder = join(parent, name)
  mkdirSync(folder, { mode: 0o700 })
  writeFileSync(join(folder, 'package.json'), '{ "name": "app", "private": true, "type": "module" }\n')
  for (const [path, text] of Object.entries(files)) writeFileSync(join(folder, path), text)
  const env = { ...process.env, CI: '1' }
  const manage = starter === undefined ? [program] : [starter, program]
  try {
    execFileSync(manage[0] ?? '', [...manage.slice(1), ...install(file)], { cwd: folder, env, stdio: ['ignore', 'pipe', 'inherit'] })
  } catch (error) {
    throw new Error(`${name} could not install the package`, { cause: error })
  }
  for (const [version, path] of nodes) {
    if (!existsSync(path)) {
      console.warn(`SKIPPED: Node.js ${version} is not installed in .ci/platforms`)
      continue
    }
    const commands: Commands = {
      folder,
      node: node === undefined ? [path] : [...manage, ...node],
      toolloop: [...manage, ...toolloop],
      // What the manager starts by the name `node` has this version.
      env: { HOME: process.env.HOME, CI: '1', PATH: [dirname(path), process.env.PATH].join(delimiter) },
    }
    await exercise(commands)
    console.log(`installed by ${name}, the package works on Node.js ${version}`)
  }
}
