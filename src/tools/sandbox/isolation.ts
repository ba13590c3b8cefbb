import { execFile } from 'node:child_process'
import { accessSync, constants, lstatSync, readlinkSync, type Stats, statSync } from 'node:fs'
import { chmod, lstat, readdir } from 'node:fs/promises'
import { delimiter, dirname, join, resolve } from 'node:path'
import { messageOf } from '../../errors.ts'

/** Whether processes can be shut in on this machine, and with what. */
export type Isolation =
  | { available: true; bwrap: string /** Starts a program: shut in, bounded, behind the rest. */; start(limits: ProcessLimits): string[] }
  | { available: false; why: string }

/** Where a process that is shut in finds things. */
export const inside = {
  folder: '/skill',
  workspace: '/workspace',
  scratch: '/tmp',
  node: '/run/node',
  path: '/usr/local/bin:/usr/bin:/bin',
}

/** A process without any rights but those everybody has. */
const nobody = 65_534
const probeMs = 10_000
let probed: Promise<Isolation> | undefined

/** Tries it once a process: nothing but trying tells whether a kernel or a container lets namespaces be made. */
export function findIsolation(): Promise<Isolation> {
  probed ??= probe()
  return probed
}

async function probe(): Promise<Isolation> {
  if (process.platform !== 'linux') return { available: false, why: `bubblewrap is there for Linux only, this is ${process.platform}` }
  const found = { bwrap: findProgram('bwrap'), prlimit: findProgram('prlimit'), nice: findProgram('nice') }
  const { bwrap, prlimit, nice } = found
  if (bwrap === undefined || prlimit === undefined || nice === undefined) {
    const missing = Object.entries(found).flatMap(([name, path]) => (path === undefined ? [`\`${name}\``] : []))
    return {
      available: false,
      why: `${missing.join(' and ')} not found; install bubblewrap and util-linux (apt-get install bubblewrap util-linux)`,
    }
  }
  const bash = findProgram('bash', inside.path)
  const closing = bash === undefined ? [] : [bash, '-c', closeInherited, 'bash']
  const start = (limits: ProcessLimits) => [...closing, nice, '-n', '10', prlimit, ...limitArguments(limits), '--']
  const isolation: Isolation = { available: true, bwrap, start }
  const limits = { memoryBytes: 268_435_456, processes: 32, seconds: 10, scratchBytes: 1_048_576 }
  const view = viewArguments({ folder: dirname(bwrap), scratchBytes: 1_048_576 })
  return new Promise((settle) => {
    execFile(
      bwrap,
      [...view, '--', ...start(limits), '/bin/sh', '-c', 'exit 0'],
      { env: {}, timeout: probeMs, killSignal: 'SIGKILL', cwd: '/', ...identity() },
      (error, _stdout, stderr) => {
        if (error === null) return settle(isolation)
        const said = stderr.trim().split('\n')[0] || messageOf(error).split('\n')[0]
        settle({
          available: false,
          why: `bubblewrap does not work here (${said}); it needs version 0.8 and user namespaces, which a container may have to be allowed`,
        })
      },
    )
  })
}

/** As whom the process starts: root's own processes escape the limit of their number. */
export function identity(): { uid?: number; gid?: number } {
  return process.getuid?.() === 0 ? { uid: nobody, gid: nobody } : {}
}

/** Absolute, or undefined when it is not on the `PATH`. */
export function findProgram(name: string, path: string = process.env.PATH ?? ''): string | undefined {
  return path
    .split(delimiter)
    .filter((folder) => folder !== '')
    .map((folder) => resolve(folder, name))
    .find(isExecutable)
}

function isExecutable(file: string): boolean {
  try {
    accessSync(file, constants.X_OK)
    return statSync(file).isFile()
  } catch {
    return false
  }
}

export interface View {
  /** Of the machine: shown read-only as `/skill`. */
  folder: string
  workspace?: { folder: string; writable: boolean }
  /** Further files and folders that are shown read-only where they are. */
  readable?: readonly string[]
  /** How much may be written to `/tmp`, and to `/dev/shm`: both are memory, and gone with the process. */
  scratchBytes: number
  env?: Readonly<Record<string, string>>
}

/**
 * What the process sees and is: programs of `/usr`, its folder, an empty `/tmp`; no network, no other processes, no environment, no rights, and
 * no way to make a world of its own. See https://github.com/containers/bubblewrap.
 */
export function viewArguments({ folder, workspace, readable = [], scratchBytes, env = {} }: View): string[] {
  return [
    ['--unshare-all', '--unshare-user', '--disable-userns', '--die-with-parent', '--new-session', '--hostname', 'sandbox', '--clearenv'],
    Object.entries({
      PATH: inside.path,
      HOME: inside.scratch,
      TMPDIR: inside.scratch,
      LANG: 'C.UTF-8',
      SKILL_DIR: inside.folder,
      ...env,
    }).flatMap(([name, value]) => ['--setenv', name, value]),
    ['--ro-bind', '/usr', '/usr', ...['/bin', '/sbin', '/lib', '/lib32', '/lib64'].flatMap(systemFolder)],
    ['--perms', '0755', '--dir', '/etc', '--perms', '0755', '--dir', '/run'],
    ['/etc/alternatives', '/etc/ld.so.cache', '/etc/localtime'].flatMap((path) => ['--ro-bind-try', path, path]),
    ['--proc', '/proc', '--dev', '/dev'],
    // Memory under another name. What has no size may grow to half of the machine's.
    [inside.scratch, '/dev/shm'].flatMap((path) => ['--perms', '1777', '--size', String(scratchBytes), '--tmpfs', path]),
    ['--remount-ro', '/dev'],
    ['--ro-bind', folder, inside.folder, '--ro-bind-try', process.execPath, inside.node],
    readable.flatMap((path) => ['--ro-bind', path, path]),
    workspace === undefined ? [] : [workspace.writable ? '--bind' : '--ro-bind', workspace.folder, inside.workspace],
    ['--chdir', workspace === undefined ? inside.folder : inside.workspace, '--remount-ro', '/'],
  ].flat()
}

/** On most systems a link into `/usr`. */
function systemFolder(path: string): string[] {
  try {
    return lstatSync(path).isSymbolicLink() ? ['--symlink', readlinkSync(path), path] : ['--ro-bind', path, path]
  } catch {
    return []
  }
}

const mebibyte = 1_048_576

interface ProcessLimits {
  memoryBytes: number
  processes: number
  /** Of work, on one processor. */
  seconds: number
  scratchBytes: number
  /** The program is Node.js. */
  node?: boolean
}

/** Files that whoever started this process has left open to it, and which Node.js does not know of. */
const closeInherited =
  'cd /proc/self/fd; for n in *; do [ "$n" -gt 2 ] && eval "exec $n>&-"; done; cd "$OLDPWD"; unset OLDPWD SHLVL; exec "$@"'

/**
 * Of prlimit, for every process the script starts. Addresses are bounded because memory that processes share counts as nothing else. Node.js
 * reserves 512 MiB for code, which counts as its data from the start.
 */
function limitArguments(limits: ProcessLimits): string[] {
  const { memoryBytes, node = false } = limits
  return [
    `--data=${memoryBytes + (node ? 640 * mebibyte : 0)}`,
    `--as=${2 * memoryBytes + (node ? 2_048 : 512) * mebibyte}`,
    `--nproc=${limits.processes}`,
    `--cpu=${limits.seconds}`,
    `--fsize=${limits.scratchBytes}`,
    '--nofile=256',
    '--core=0',
  ]
}

const [enter, read] = [0o001, 0o004]

/** Whether everybody can get at `folder`, for a process that has no rights of its own. */
export function isOpenToAll(folder: string): boolean {
  if (!allows(statSync(folder), enter | read)) return false
  for (let above = dirname(folder); ; above = dirname(above)) {
    if (!allows(statSync(above), enter)) return false
    if (above === dirname(above)) return true
  }
}

/** Whether they can at all that is in it too. */
export async function isWhollyOpenToAll(folder: string): Promise<boolean> {
  if (!isOpenToAll(folder)) return false
  for await (const { stats, needed } of within(folder)) if (!allows(stats, needed)) return false
  return true
}

/** Lets everybody read `folder` and all that is in it. */
export async function openToAll(folder: string): Promise<void> {
  await chmod(folder, 0o755)
  for await (const { path, stats, needed } of within(folder)) if (!allows(stats, needed)) await chmod(path, stats.mode | needed)
}

/** What is in a folder, at any depth, and the rights it takes to read it. Links lead to something that has rights of its own. */
async function* within(folder: string): AsyncGenerator<{ path: string; stats: Stats; needed: number }> {
  for (const entry of await readdir(folder, { withFileTypes: true })) {
    if (!entry.isFile() && !entry.isDirectory()) continue
    const path = join(folder, entry.name)
    yield { path, stats: await lstat(path), needed: entry.isDirectory() ? enter | read : read }
    if (entry.isDirectory()) yield* within(path)
  }
}

function allows({ mode }: Stats, rights: number): boolean {
  return (mode & rights) === rights
}
