import { extname } from 'node:path'
import { checkOptionNames, type Optional, type OptionNames } from '../../core/check-options.ts'
import { InvalidOptionError, show, ToolloopError } from '../../core/errors.ts'
import { Workspace } from '../builtin/files/workspace.ts'
import { findIsolation } from './process/isolation.ts'
import { ProcessSandbox, type ProcessSandboxOptions } from './process/process-sandbox.ts'
import { checkLimits, type Runtime, type SandboxLimits, type ScriptEnd, type ScriptRun, type ScriptSandbox } from './sandbox.ts'
import { VmSandbox } from './vm/vm-sandbox.ts'

/** Options of `SkillsSandboxExecutor`: the limits of scripts, and the files and variables that scripts may access. */
export interface SandboxOptions extends ProcessSandboxOptions {
  limits?: Optional<SandboxLimits>
  /** Maximum number of VMs at the same time. Further scripts wait. Default: one per processor, up to 4. */
  threads?: number
}

const optionNames: OptionNames<SandboxOptions> = {
  limits: true,
  threads: true,
  workspace: true,
  workspaceWritable: true,
  readable: true,
  env: true,
  allowUnsandboxed: true,
}
const limitNames: OptionNames<SandboxLimits> = { timeoutMs: true, memoryBytes: true, outputBytes: true, processes: true }

/** The sandboxes that are available on this machine. */
export interface SandboxReport {
  vm: { available: true; runs: string }
  process: { available: boolean; runs: string; why?: string }
}

const byExtension: Readonly<Record<string, Runtime | 'javascript'>> = {
  '.js': 'javascript',
  '.mjs': 'javascript',
  '.ts': 'javascript',
  '.mts': 'javascript',
  '.cjs': 'node',
  '.py': 'python',
  '.sh': 'shell',
  '.bash': 'shell',
}

const mostScriptBytes = 1_048_576

/**
 * Runs the scripts of Skills, each in the strictest sandbox that can run it: JavaScript and TypeScript modules with a default export run in
 * a VM, all other scripts in an isolated process. Close the executor when it is no longer needed, or use `await using`.
 */
export class SkillsSandboxExecutor implements AsyncDisposable {
  readonly #limits: SandboxLimits
  readonly #sandboxes: Readonly<Record<Runtime, ScriptSandbox>>

  /** Creates an executor. Throws `invalid_option` for an invalid limit, or if the workspace is not a folder. */
  constructor(all: SandboxOptions = {}) {
    checkOptionNames(all, optionNames, '`SkillsSandboxExecutor`')
    const { limits = {}, threads, ...options } = all
    checkOptionNames(limits, limitNames, '`SkillsSandboxExecutor`', 'limits')
    this.#limits = checkLimits(limits)
    if (threads !== undefined && !(Number.isInteger(threads) && threads > 0))
      throw new InvalidOptionError('threads', 'an integer ≥ 1', threads)
    for (const [name, value] of Object.entries(options.env ?? {})) {
      // A NUL character is refused, because variables are passed on as NUL-terminated texts. The text after a NUL would be read as another
      // argument.
      if (/^[^=\0]+$/.test(name) && typeof value === 'string' && !value.includes('\0')) continue
      throw new InvalidOptionError('env', 'a map of names (without `=`) to strings, all without NUL characters', name)
    }
    const own = options.workspace === undefined ? options : { ...options, workspace: new Workspace(options.workspace).root }
    this.#sandboxes = {
      vm: new VmSandbox(threads),
      node: new ProcessSandbox('node', own),
      python: new ProcessSandbox('python', own),
      shell: new ProcessSandbox('shell', own),
    }
  }

  /** Reports which sandboxes work on this machine. The first call is slow, because it tries out the sandboxes. */
  static async available(): Promise<SandboxReport> {
    const isolation = await findIsolation()
    return {
      vm: { available: true, runs: 'JavaScript and TypeScript modules' },
      process: {
        available: isolation.available,
        runs: 'Python, shell and Node.js scripts',
        ...(isolation.available ? {} : { why: isolation.why }),
      },
    }
  }

  /**
   * Runs a script. Default of `runtime`: chosen by the script's name, its first line, and whether the script has a default export. Rejects
   * like `ScriptSandbox.run`. Also rejects if the script does not exist, is outside its folder, or can't be run.
   */
  async run(run: ScriptRun & { runtime?: Runtime }): Promise<ScriptEnd> {
    const { folder, path, source } = await readScript(run.folder, run.script)
    const runtime = run.runtime ?? runtimeOf(path, source)
    return this.#sandboxes[runtime].run({ ...run, folder, script: path }, this.#limits)
  }

  async close(): Promise<void> {
    await Promise.all(Object.values(this.#sandboxes).map((sandbox) => sandbox.close()))
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close()
  }
}

/** Reads a script. The script must be inside its folder after links have been resolved. */
async function readScript(folder: string, script: string): Promise<{ folder: string; path: string; source: string }> {
  const workspace = new Workspace(folder)
  const place = await workspace.locate(script)
  if (place.isFolder) throw new ToolloopError('invalid_arguments', `Expected a script, got the folder ${show(place.path)}`)
  const { handle, stats } = await workspace.open(place)
  try {
    if (stats.size > mostScriptBytes)
      throw new ToolloopError('tool_denied', `Expected a script of at most ${mostScriptBytes} bytes, got ${stats.size}`)
    return { folder: workspace.root, path: place.path, source: await handle.readFile('utf8') }
  } finally {
    await handle.close()
  }
}

/** Matches in linear time, because no repeated part of the pattern extends past the next line break or bracket. */
const defaultExport = /(?:^|[;}])[^\S\r\n\u2028\u2029]*export(?:\s+default\b|\s*\{[^{}]*\bas\s+default\b)/m

/** Chooses the runtime of a script by its name and content. Throws `tool_denied` if no runtime can run it. */
function runtimeOf(path: string, source: string): Runtime {
  const known = byExtension[extname(path).toLowerCase()]
  if (known === 'javascript') return defaultExport.test(source) ? 'vm' : 'node'
  if (known !== undefined) return known
  const interpreter = /^#!.*?\b(python|node|bash|sh)[\d.]*(?=\s|$)/.exec(source.split('\n', 1)[0] ?? '')?.[1]
  if (interpreter === 'python' || interpreter === 'node') return interpreter
  if (interpreter !== undefined) return 'shell'
  throw new ToolloopError('tool_denied', `Expected a script in JavaScript, TypeScript, Python or shell, got ${show(path)}`)
}
