import { type ChildProcess, type SpawnOptions, spawn } from 'node:child_process'
import { accessSync, closeSync, constants, existsSync, lstatSync, readlinkSync, statSync } from 'node:fs'
import { delimiter, dirname, resolve } from 'node:path'
import { text } from 'node:stream/consumers'
import { setTimeout as wait } from 'node:timers/promises'
import { messageOf } from '../../../core/errors.ts'
import { Cgroup, cgroupSettings, findDelegatedCgroup } from './cgroup.ts'
import { FolderCopy } from './folder-copy.ts'
import { nodeArguments, openClosedNode } from './node-program.ts'
import { limitArguments, type ProcessLimits } from './process-limits.ts'
import { countScratch } from './scratch-watch.ts'
import { isFiltered, seccompFilter } from './seccomp-filter.ts'

/** Whether and how this machine can isolate processes. */
export type Isolation =
  | {
      available: true
      /** The program that searches folders for pipes and sockets. */
      find: string
      /** Starts a program that is isolated and limited. */
      start(command: readonly string[], view: View, limits: ProcessLimits): ShutIn
    }
  | { available: false; why: string }

/** An isolated process. Its standard input, output and error are pipes. It leads its own process group. */
export interface ShutIn {
  child: ChildProcess
  /**
   * The control group that limits all processes of the sandbox together, if control groups are available. The caller of `start` closes it.
   */
  cgroup?: Cgroup
  /** The first process inside the sandbox. If this process ends, all other processes end too. Undefined if the process did not start. */
  first: Promise<FirstProcess | undefined>
}

/** A process, identified by its id outside the sandbox. `namespace` distinguishes the process from a later process with the same id. */
export interface FirstProcess {
  pid: number
  namespace: string
}

/** Paths inside the sandbox. */
export const inside = {
  folder: '/skill',
  workspace: '/workspace',
  scratch: '/tmp',
  node: '/run/node',
  path: '/usr/local/bin:/usr/bin:/bin',
}

/** The user id of `nobody`, which has no special rights. */
const nobody = 65_534
const probeMs = 10_000
const mebibyte = 1_048_576
let probed: Promise<Isolation> | undefined

/** Tests isolation once per process. Only a test shows whether the kernel or a container allows namespaces. */
export function findIsolation(): Promise<Isolation> {
  probed ??= probe()
  return probed
}

async function probe(): Promise<Isolation> {
  if (process.platform !== 'linux') return { available: false, why: `bubblewrap exists for Linux only, this is ${process.platform}` }
  const { arch } = process
  if (!isFiltered(arch)) return { available: false, why: `the filter of system calls exists for x64 and arm64 only, this is ${arch}` }
  const found = { bwrap: findProgram('bwrap'), prlimit: findProgram('prlimit'), nice: findProgram('nice'), find: findProgram('find') }
  const { bwrap, prlimit, nice, find } = found
  if (bwrap === undefined || prlimit === undefined || nice === undefined || find === undefined) {
    const missing = Object.entries(found).flatMap(([name, path]) => (path === undefined ? [`\`${name}\``] : []))
    return {
      available: false,
      why: `${missing.join(' and ')} not found; install bubblewrap and util-linux (apt-get install bubblewrap util-linux)`,
    }
  }
  const bash = findProgram('bash', inside.path)
  const closing = bash === undefined ? [] : [bash, '-c', closeInherited, 'bash']
  const startIn = (parent: string | undefined) => (command: readonly string[], view: View, limits: ProcessLimits) => {
    const hostFolders = view.workspace !== undefined || (view.readable ?? []).length > 0
    const bounded = [...closing, nice, '-n', '10', prlimit, ...limitArguments(limits), '--', ...command]
    const node = view.node && identity().uid !== undefined ? openClosedNode() : undefined
    let cgroup: Cgroup | undefined
    try {
      if (parent !== undefined) cgroup = new Cgroup(parent, cgroupSettings(limits, node?.bytes))
      return enter(bwrap, view, seccompFilter(arch, { hostFolders }), bounded, { cgroup, node: node?.descriptor })
    } catch (error) {
      void cgroup?.close()
      throw error
    } finally {
      if (node !== undefined) closeSync(node.descriptor)
    }
  }
  const view = { folder: dirname(bwrap), scratchBytes: mebibyte }
  const limits = { memoryBytes: 256 * mebibyte, processes: 32, seconds: 10, scratchBytes: mebibyte }
  const tryIn = (parent: string | undefined) => whyItFails(() => startIn(parent)(['/bin/sh', '-c', 'read -r _; exit 0'], view, limits))
  const parent = findDelegatedCgroup()
  if (parent !== undefined && (await tryIn(parent)) === undefined) return { available: true, find, start: startIn(parent) }
  const problem = await tryIn(undefined)
  if (problem === undefined) return { available: true, find, start: startIn(undefined) }
  const why =
    problem === notCounted
      ? notCounted
      : `bubblewrap does not work here (${problem}); it needs version 0.8, user namespaces and seccomp, which a container may have to be allowed`
  return { available: false, why }
}

const notCounted =
  "the files a script makes in memory can't be counted here: this process may not look into the sandbox through `/proc`, as root without " +
  'CAP_SYS_PTRACE may not; start it as an ordinary user'

/** Starts a test program. Returns the reason if the program can't be started, or if the files in its sandbox can't be counted. */
async function whyItFails(start: () => ShutIn): Promise<string | undefined> {
  try {
    const { child, cgroup, first } = start()
    const stop = () => {
      // Otherwise, processes that the program has started could keep its pipes open.
      killGroup(child)
      for (const stream of child.stdio) stream?.destroy()
    }
    const timer = setTimeout(stop, probeMs)
    try {
      child.stdout?.resume()
      const [said, code, isCounted] = await Promise.all([
        child.stderr === null ? '' : text(child.stderr).catch(() => ''),
        exitCode(child),
        first.then((known) => isWatchable(known, child)).finally(() => child.stdin?.end()),
      ])
      if (code === 0) return isCounted ? undefined : notCounted
      return said.trim().split('\n')[0] || `it ended with ${code ?? 'a signal'}`
    } finally {
      clearTimeout(timer)
      await cgroup?.close()
    }
  } catch (error) {
    return messageOf(error).split('\n')[0]
  }
}

/** Whether the files in the test sandbox can be counted. Retries until the sandbox exists. */
async function isWatchable(first: FirstProcess | undefined, child: ChildProcess): Promise<boolean> {
  for (let tries = 0; first !== undefined && tries < 60 && child.exitCode === null && child.signalCode === null; tries++) {
    if ((await countScratch(first.pid, mebibyte)) !== undefined) return true
    await wait(50)
  }
  return false
}

function exitCode(child: ChildProcess): Promise<number | null> {
  return new Promise((resolve, reject) => child.on('error', reject).on('close', resolve))
}

/** Descriptors of bubblewrap's input files. They replace command-line arguments, which a script could read from inside the sandbox. */
const descriptors = { view: 3, filter: 4, info: 5, firstCopied: 6 }

interface Surroundings {
  cgroup: Cgroup | undefined
  /** The descriptor of the Node.js program, if it must be copied. */
  node: number | undefined
}

/** Starts bubblewrap. Throws the errors of `spawn`. */
function enter(bwrap: string, view: View, filter: Buffer, command: readonly string[], { cgroup, node }: Surroundings): ShutIn {
  const files = typeof view.folder === 'string' ? [] : view.folder.files.map(({ descriptor }) => descriptor)
  const copied = node === undefined ? files : [...files, node]
  const stdio = [...Array<'pipe'>(descriptors.firstCopied).fill('pipe'), ...copied]
  const options: SpawnOptions = { cwd: '/', env: {}, detached: true, stdio, ...identity() }
  const child = spawn(bwrap, ['--args', String(descriptors.view), '--', ...command], options)
  try {
    // bubblewrap starts nothing before its arguments are written below, so the control group contains every process that it starts.
    if (child.pid !== undefined) cgroup?.add(child.pid)
  } catch (error) {
    child.kill('SIGKILL')
    throw error
  }
  const nodeSource = node === undefined ? process.execPath : descriptors.firstCopied + files.length
  const words = [...viewArguments(view, nodeSource), '--seccomp', String(descriptors.filter), '--info-fd', String(descriptors.info)]
  write(child, descriptors.view, words.map((word) => `${word}\0`).join(''))
  write(child, descriptors.filter, filter)
  return { child, first: firstProcess(child.stdio[descriptors.info]), cgroup }
}

function write(child: ChildProcess, descriptor: number, content: string | Buffer): void {
  const pipe = child.stdio[descriptor]
  if (pipe == null || !('end' in pipe)) return
  // If the process does not start, writing to its pipe fails. Another handler reports the failed start.
  pipe.on('error', () => {})
  pipe.end(content)
}

function firstProcess(info: ChildProcess['stdio'][number] | undefined): Promise<FirstProcess | undefined> {
  return new Promise((resolve) => {
    if (info == null || !('read' in info)) return resolve(undefined)
    let said = ''
    info.on('data', (chunk: Buffer) => {
      said += chunk.toString('latin1')
      const pid = /"child-pid": (\d+)/.exec(said)?.[1]
      const namespace = /"pid-namespace": (\d+)/.exec(said)?.[1]
      if (pid !== undefined && namespace !== undefined) resolve({ pid: Number(pid), namespace })
    })
    info.on('error', () => resolve(undefined)).on('close', () => resolve(undefined))
  })
}

/**
 * Kills all processes inside the sandbox. Killing bubblewrap is not enough: a process that bubblewrap has just started may not be tied to
 * its lifetime yet, and would survive.
 */
export function endSandbox({ pid, namespace }: FirstProcess): void {
  try {
    if (readlinkSync(`/proc/${pid}/ns/pid`) === `pid:[${namespace}]`) process.kill(pid, 'SIGKILL')
  } catch {
    // The process has already ended.
  }
}

/** Kills a process and all other processes in its group. */
export function killGroup(child: ChildProcess): void {
  const { pid } = child
  if (pid === undefined) return
  if (process.platform === 'win32') {
    child.kill('SIGKILL')
    return
  }
  try {
    process.kill(-pid, 'SIGKILL')
  } catch (error) {
    // All processes of the group have already ended.
    if (!(error instanceof Error && 'code' in error && error.code === 'ESRCH')) throw error
  }
}

/** The user that runs the process. Never root, because root is exempt from the limit on the number of processes. */
export function identity(): { uid?: number; gid?: number } {
  return process.getuid?.() === 0 ? { uid: nobody, gid: nobody } : {}
}

/** Returns the absolute path of a program. Undefined if the program is not on the `PATH`. */
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

interface View {
  /**
   * The folder of the machine that is shown read-only as `/skill`, or a copy of a folder. A script can find the path of a folder of the
   * machine in `/proc`, but not of a copy.
   */
  folder: string | FolderCopy
  workspace?: { folder: string; writable: boolean }
  /** More files and folders, which are shown read-only at their own paths. */
  readable?: readonly string[]
  /** Whether the Node.js program of this process is shown too. A script can then find its location in `/proc`. */
  node?: boolean
  /** Maximum number of bytes in `/tmp` and in `/dev/shm`. Both are in memory and disappear with the process. */
  scratchBytes: number
  env?: Readonly<Record<string, string>>
}

/**
 * Returns bubblewrap arguments that define the visible files and the rights of the process. It sees the programs in `/usr`, its folder and
 * an empty `/tmp`. It has no network, no access to other processes, no inherited environment and no privileges, and can't create
 * namespaces. See https://github.com/containers/bubblewrap.
 */
function viewArguments(
  { folder, workspace, readable = [], node = false, scratchBytes, env = {} }: View,
  nodeSource: string | number,
): string[] {
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
    ofTheKernel.filter((path) => existsSync(path)).flatMap((path) => ['--ro-bind', '/dev/null', path]),
    // Both folders are in memory. Without a limit, they could grow to half of the machine's memory.
    [inside.scratch, '/dev/shm'].flatMap((path) => ['--perms', '1777', '--size', String(scratchBytes), '--tmpfs', path]),
    ['--remount-ro', '/dev'],
    typeof folder === 'string' ? ['--ro-bind', folder, inside.folder] : copyArguments(folder),
    node ? nodeArguments(nodeSource, inside.node) : [],
    readable.flatMap((path) => ['--ro-bind', path, path]),
    workspace === undefined ? [] : [workspace.writable ? '--bind' : '--ro-bind', workspace.folder, inside.workspace],
    ['--chdir', workspace === undefined ? inside.folder : inside.workspace, '--remount-ro', '/'],
  ].flat()
}

/** Links come last, so that no file is written through a link. */
function copyArguments({ folders, files, links }: FolderCopy): string[] {
  const at = (path: string) => `${inside.folder}/${path}`
  return [
    ['--perms', '0755', '--size', String(FolderCopy.bytes), '--tmpfs', inside.folder],
    folders.flatMap((path) => ['--dir', at(path)]),
    files.flatMap(({ path, isProgram }, index) => {
      const descriptor = String(descriptors.firstCopied + index)
      return ['--perms', isProgram ? '0555' : '0444', '--file', descriptor, at(path)]
    }),
    links.flatMap(({ path, target }) => ['--symlink', target, at(path)]),
    ['--remount-ro', inside.folder],
  ].flat()
}

/** Files that show how the machine's kernel was built and started. */
const ofTheKernel = ['/proc/cmdline', '/proc/config.gz', '/proc/kallsyms', '/proc/modules', '/proc/version']

/** Returns the arguments for a folder that is a link into `/usr` on most systems. */
function systemFolder(path: string): string[] {
  try {
    return lstatSync(path).isSymbolicLink() ? ['--symlink', readlinkSync(path), path] : ['--ro-bind', path, path]
  } catch {
    return []
  }
}

/** Closes inherited file descriptors that Node.js does not manage. */
const closeInherited =
  'cd /proc/self/fd; for n in *; do [ "$n" -gt 2 ] && eval "exec $n>&-"; done; cd "$OLDPWD"; unset OLDPWD SHLVL; exec "$@"'
