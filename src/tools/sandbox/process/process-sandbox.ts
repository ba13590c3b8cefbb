import { spawn } from 'node:child_process'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { callUnawaited } from '../../../core/callbacks/callbacks.ts'
import { ToolloopError } from '../../../core/errors.ts'
import type { Runtime, SandboxLimits, ScriptEnd, ScriptRun, ScriptSandbox } from '../sandbox.ts'
import { FolderCopy } from './folder-copy.ts'
import { isOpenToAll, refuseWaysOut } from './host-folders.ts'
import { endSandbox, findIsolation, findProgram, type Isolation, identity, inside, killGroup, type ShutIn } from './isolation.ts'
import { watchScratch } from './scratch-watch.ts'

export interface ProcessSandboxOptions {
  /** A folder that scripts see as `/workspace` and start in. Default: none. Scripts then start in their Skill's folder. */
  workspace?: string
  /**
   * Whether scripts may change the workspace. Scripts run as the user of this process, or as `nobody` if this process runs as root. Default
   * false.
   */
  workspaceWritable?: boolean
  /** More files and folders to show read-only at their own paths, for example an interpreter outside `/usr`. */
  readable?: readonly string[]
  /**
   * Environment variables for scripts. Scripts don't inherit the variables of this process. The only exception is `PATH`, if they run
   * without isolation (`allowUnsandboxed`). If `PATH` is set here, it is used to find programs.
   */
  env?: Readonly<Record<string, string>>
  /** Whether scripts run with the rights of this process if processes can't be isolated. Default false: such scripts are refused. */
  allowUnsandboxed?: boolean
}

/** The programs that can run a script, in order of preference. */
const interpreters: Readonly<Record<Exclude<Runtime, 'vm'>, readonly string[]>> = {
  node: ['node'],
  python: ['python3', 'python'],
  shell: ['bash', 'sh'],
}

/** Maximum time to wait for a killed process to end, in milliseconds. */
const goneMs = 2_000
/** How long processes that outlive the script may keep the pipes open, in milliseconds. */
const drainMs = 250

/** A process that was started. `first` is set if the process is isolated. */
type Started = Pick<ShutIn, 'child'> & Partial<ShutIn>

/**
 * Runs scripts as processes. They are isolated by bubblewrap, limited by prlimit, and killed together with all processes that they started.
 */
export class ProcessSandbox implements ScriptSandbox {
  readonly #runtime: Exclude<Runtime, 'vm'>
  readonly #options: ProcessSandboxOptions
  readonly #closing = new AbortController()
  readonly #running = new Set<Promise<ScriptEnd>>()

  constructor(runtime: Exclude<Runtime, 'vm'>, options: ProcessSandboxOptions = {}) {
    this.#runtime = runtime
    this.#options = options
  }

  async run(run: ScriptRun, limits: SandboxLimits): Promise<ScriptEnd> {
    const ended = this.#run({ ...run, signal: AbortSignal.any([run.signal, this.#closing.signal]) }, limits)
    this.#running.add(ended)
    try {
      return await ended
    } finally {
      this.#running.delete(ended)
    }
  }

  async close(): Promise<void> {
    this.#closing.abort(new ToolloopError('tool_failed', 'The sandbox has been closed.'))
    await Promise.allSettled(this.#running)
  }

  async #run(run: ScriptRun, limits: SandboxLimits): Promise<ScriptEnd> {
    run.signal.throwIfAborted()
    const isolation = await findIsolation()
    if (!isolation.available && !this.#options.allowUnsandboxed) {
      throw new ToolloopError(
        'tool_denied',
        `The script was not run: it needs its own process, and this machine has no sandbox for one. ${isolation.why}. ` +
          'Or write it as a JavaScript module with a default export, which needs none; or allow it to run unprotected with `allowUnsandboxed: true`.',
      )
    }
    if (!isolation.available) return this.#finish(() => this.#startUnprotected(run), run, limits)
    const { workspace, readable = [] } = this.#options
    const others = [...(workspace === undefined ? [] : [workspace]), ...readable]
    const copy = await FolderCopy.open(run.folder)
    try {
      const shown = { skill: copy === undefined ? run.folder : undefined, others }
      await refuseWaysOut(isolation.find, shown, { signal: run.signal, timeoutMs: limits.timeoutMs })
      run.signal.throwIfAborted()
      const start = () => {
        const started = this.#startShutIn(run, copy ?? run.folder, limits, isolation)
        // The started process has its own descriptors, so this process need not keep the files open.
        copy?.close()
        return started
      }
      return await this.#finish(start, run, limits)
    } finally {
      copy?.close()
    }
  }

  #startShutIn(run: ScriptRun, folder: string | FolderCopy, limits: SandboxLimits, { start }: Isolation & { available: true }): Started {
    const { workspace, workspaceWritable: writable = false, readable = [], env = {} } = this.#options
    if (typeof folder === 'string') refuseClosed('its folder, which is too large to be copied,', folder)
    if (workspace !== undefined) refuseClosed('the workspace', workspace)
    for (const path of readable) refuseClosed(`\`${path}\`, which \`readable\` names,`, path)
    const { memoryBytes, processes, timeoutMs } = limits
    // The script's temporary files may take as much memory as a process.
    const scratchBytes = memoryBytes
    const node = this.#runtime === 'node'
    const view = {
      folder,
      scratchBytes,
      readable,
      env,
      node,
      workspace: workspace === undefined ? undefined : { folder: workspace, writable },
    }
    const seconds = Math.ceil(Math.min(timeoutMs, 86_400_000) / 1_000) + 1
    const script = this.#interpreted(`${inside.folder}/${run.script}`, run, env.PATH ?? inside.path, inside.node)
    return start(script, view, { memoryBytes, processes, seconds, scratchBytes, node })
  }

  #startUnprotected(run: ScriptRun): Started {
    const path = this.#options.env?.PATH ?? process.env.PATH ?? inside.path
    const [file = '', ...args] = this.#interpreted(join(run.folder, run.script), run, path, process.execPath)
    const env = { PATH: path, HOME: tmpdir(), TMPDIR: tmpdir(), LANG: 'C.UTF-8', SKILL_DIR: run.folder, ...this.#options.env }
    // The process leads its own group, so that the whole group can be killed.
    return { child: spawn(file, args, { cwd: this.#options.workspace ?? run.folder, env, detached: true, stdio: 'pipe' }) }
  }

  #interpreted(script: string, { args }: ScriptRun, path: string, node: string): string[] {
    const words = Array.isArray(args) ? args.map(String) : []
    if (words.some((word) => word.includes('\0')))
      throw new ToolloopError('tool_failed', "The script was not run: command-line arguments can't contain NUL characters.")
    // Node.js scripts use the Node.js version of this process, wherever it is installed.
    if (this.#runtime === 'node') return [node, '--no-warnings', script, ...words]
    const program = interpreters[this.#runtime].map((name) => findProgram(name, path)).find((found) => found !== undefined)
    if (program !== undefined) return [program, script, ...words]
    throw new ToolloopError(
      'tool_denied',
      `The script was not run: it needs ${interpreters[this.#runtime][0]}, which is not installed in ${path}.`,
    )
  }

  async #finish(start: () => Started, { signal, stdin, args: given, exited }: ScriptRun, limits: SandboxLimits): Promise<ScriptEnd> {
    const { timeoutMs, outputBytes, memoryBytes } = limits
    const { child, first, cgroup } = startProcess(start)
    const ended = Promise.withResolvers<number>()
    let failure: unknown
    const endWith = (reason: unknown) => {
      failure ??= reason
      killGroup(child)
      void first?.then((process) => process && endSandbox(process))
      // A process that is not isolated may have left the group and keep the pipes open.
      lost ??= setTimeout(() => ended.resolve(-1), goneMs)
    }
    let lost: NodeJS.Timeout | undefined
    const tooLate = () => endWith(new ToolloopError('tool_timeout', `The script ran longer than ${timeoutMs} ms and was stopped.`))
    const timer = setTimeout(tooLate, Math.min(timeoutMs, 2 ** 31 - 1))
    const abort = () => endWith(signal.reason)
    signal.addEventListener('abort', abort, { once: true })
    const tooMuch = () => endWith(new ToolloopError('tool_failed', `The script printed more than ${outputBytes} bytes and was stopped.`))
    const stdout = collect(child.stdout, outputBytes, tooMuch)
    const stderr = collect(child.stderr, outputBytes, tooMuch)
    child.on('error', (cause) => ended.reject(notStarted(cause)))
    const codeOf = (code: number | null, killed: NodeJS.Signals | null) => code ?? (killed === null ? -1 : 128)
    child.on('close', (code, killed) => ended.resolve(codeOf(code, killed)))
    const watched = first && watchScratch(first, memoryBytes, (why) => endWith(new ToolloopError('tool_failed', why)))
    if (first === undefined) {
      // With isolation, all processes end with the script. Without isolation, processes that the script has started may survive, even
      // outside its group.
      child.on('exit', (code, killed) => {
        killGroup(child)
        lost ??= setTimeout(() => ended.resolve(codeOf(code, killed)), drainMs)
      })
    }
    // Ignores the error that occurs if the script does not read its input.
    child.stdin?.on('error', () => {})
    child.stdin?.end(stdin ?? (Array.isArray(given) ? '' : JSON.stringify(given)))
    if (signal.aborted) abort()
    try {
      const code = await ended.promise
      if (failure !== undefined) throw failure
      if (code >= 0) callUnawaited(() => exited?.(code))
      if (code !== 0) throw new ToolloopError('tool_failed', failureText(code, stdout(), stderr()))
      return { stdout: stdout(), stderr: stderr() }
    } finally {
      clearTimeout(timer)
      clearTimeout(lost)
      watched?.[Symbol.dispose]()
      signal.removeEventListener('abort', abort)
      for (const stream of child.stdio) stream?.destroy()
      await cgroup?.close()
    }
  }
}

/** Throws `tool_denied` for a folder of the machine that a process without root's rights can't access. */
function refuseClosed(name: string, folder: string): void {
  if (identity().uid === undefined || isOpenToAll(folder)) return
  throw new ToolloopError(
    'tool_denied',
    `The script was not run: ${name} is not accessible to everyone, and scripts that root starts run without privileges.`,
  )
}

/** Starts a process. Some failures make `spawn` throw synchronously. */
function startProcess(start: () => Started): Started {
  try {
    return start()
  } catch (error) {
    throw ToolloopError.isInstance(error) ? error : notStarted(error)
  }
}

function notStarted(cause: unknown): ToolloopError {
  const isTooLong = cause instanceof Error && 'code' in cause && cause.code === 'E2BIG'
  const why = isTooLong ? ': its arguments are too long for a command line; long texts can go to its standard input' : ''
  return new ToolloopError('tool_failed', `The script could not be started${why}.`, { cause })
}

function collect(stream: NodeJS.ReadableStream | null, most: number, tooMuch: () => void): () => string {
  const chunks: Buffer[] = []
  let bytes = 0
  stream?.on('data', (chunk: Buffer) => {
    if (bytes > most) return
    bytes += chunk.length
    if (bytes > most) tooMuch()
    else chunks.push(chunk)
  })
  return () => Buffer.concat(chunks).toString('utf8')
}

/** Returns the text for a failed script: the end of its output, which usually contains the reason. */
function failureText(code: number, stdout: string, stderr: string): string {
  const said = [stderr.trim(), stdout.trim()].find((text) => text !== '')
  const how =
    code < 0 || code >= 128 ? 'was ended by the system, perhaps for using too much memory or time' : `ended with exit code ${code}`
  return `The script ${how}${said === undefined ? ' and printed nothing' : `: ${said.slice(-4_000)}`}`
}
