import { InvalidOptionError } from '../../core/errors.ts'
import type { JsonObject } from '../../core/messages.ts'

/**
 * The environment that runs a script. `vm` is a JavaScript engine inside this process without files, network, timers or other processes.
 * All other runtimes are separate processes.
 */
export type Runtime = 'vm' | 'node' | 'python' | 'shell'

/** The limits of one run of a script. */
export interface SandboxLimits {
  /** Time limit in milliseconds. Default 30,000. A shorter limit of the tool or the run also applies. */
  timeoutMs: number
  /** Maximum memory of the VM, or of each process, in bytes. Default 256 MiB. */
  memoryBytes: number
  /** Maximum size of the value that the script returns, or of its output, in bytes. Default 1 MiB. */
  outputBytes: number
  /** Maximum number of processes and threads at the same time, including the script itself. Default 32. Has no effect in the VM. */
  processes: number
}

/**
 * Calls a tool of the host for a script. The function receives the tool's name and arguments, and returns a value that can be written as
 * JSON.
 *
 * Contract: the function is awaited. If it rejects, the script sees the message of the error. If it returns nothing, the script gets
 * `undefined`.
 */
export type HostCall = (name: string, args: JsonObject, signal: AbortSignal) => Promise<unknown>

/** One run of a script. */
export interface ScriptRun {
  /** The absolute path of the script's folder, which the script can read but not change. */
  folder: string
  /** The script's path relative to `folder`, with `/`. */
  script: string
  /** The arguments, either named or as a command line. */
  args: JsonObject | readonly string[]
  stdin?: string
  signal: AbortSignal
  /** Calls tools of the host. If absent, the script can't call tools. Works only in the VM. */
  call?: HostCall
  /**
   * Called when the script's process has ended by itself, whether it succeeded or failed. `code`: its exit code. Not called if the process
   * was killed.
   *
   * Contract: the function is not awaited. Its errors are ignored.
   */
  exited?(code: number): void
}

/** The result of a successful run. */
export interface ScriptEnd {
  /** The value that a script in the VM returned. */
  value?: unknown
  /** `value` as JSON text. Included because serializing a long value again would block the event loop. */
  json?: string
  /** The text that the script printed. */
  stdout: string
  stderr: string
}

/** Runs scripts in a sandbox. */
export interface ScriptSandbox {
  /**
   * Runs a script.
   *
   * Contract: the promise rejects with `tool_failed`, `tool_timeout` or `tool_denied`, worded for a model, or with the signal's reason.
   * When the promise has settled, no running thread, process or timer of the script is left.
   */
  run(run: ScriptRun, limits: SandboxLimits): Promise<ScriptEnd>
  /** Ends running scripts, and releases all resources that are kept for later scripts. */
  close(): Promise<void>
}

const mebibyte = 1_048_576

const defaultLimits: SandboxLimits = { timeoutMs: 30_000, memoryBytes: 256 * mebibyte, outputBytes: mebibyte, processes: 32 }

/** Completes the limits with their defaults. Throws `invalid_option` for an invalid limit. */
export function checkLimits(limits: Partial<SandboxLimits>): SandboxLimits {
  const whole = { ...defaultLimits, ...limits }
  if (!(whole.timeoutMs > 0)) throw new InvalidOptionError('limits.timeoutMs', 'a number of milliseconds > 0', whole.timeoutMs)
  // The minimum of each limit. Node.js does not start with less memory.
  const least = { memoryBytes: 16 * mebibyte, outputBytes: 1, processes: 1 }
  for (const name of ['memoryBytes', 'outputBytes', 'processes'] as const) {
    if (!(Number.isInteger(whole[name]) && whole[name] >= least[name])) {
      throw new InvalidOptionError(`limits.${name}`, `an integer ≥ ${least[name]}`, whole[name])
    }
  }
  return whole
}
