import { InvalidOptionError } from '../../core/errors.ts'
import type { JsonObject } from '../../core/messages.ts'

/**
 * What runs a script. `vm` is a JavaScript engine inside this process without files, network, timers or other processes. The others are
 * separate processes.
 */
export type Runtime = 'vm' | 'node' | 'python' | 'shell'

/** The limits of one run of a script. */
export interface SandboxLimits {
  /** Time limit in milliseconds. Default 30,000. A shorter limit of the tool or the run ends the script earlier. */
  timeoutMs: number
  /** Memory of the VM or of each process, in bytes. Default 256 MiB. */
  memoryBytes: number
  /** Maximum size of what the script returns or prints, in bytes. Default 1 MiB. */
  outputBytes: number
  /** Maximum number of processes and threads at once, including the script itself. Default 32. Has no effect in the VM. */
  processes: number
}

/**
 * Calls a tool of the host for a script. Receives the tool's arguments and returns a value that can be written as JSON.
 *
 * Contract: awaited. If it rejects, the script sees the message of the error. Returning nothing gives the script `undefined`.
 */
export type HostCall = (name: string, args: JsonObject, signal: AbortSignal) => Promise<unknown>

/** One run of a script. */
export interface ScriptRun {
  /** The absolute path of the script's folder, which the script can read but not change. */
  folder: string
  /** The script's path relative to `folder`, with `/`. */
  script: string
  /** Named arguments, or command-line arguments. */
  args: JsonObject | readonly string[]
  stdin?: string
  signal: AbortSignal
  /** Calls tools of the host. If absent, the script can't call any. Only works in the VM. */
  call?: HostCall
  /**
   * Called with the exit code when the script's process has ended by itself, whatever the code. Not called if it was killed.
   *
   * Contract: not awaited. Errors are ignored.
   */
  exited?(code: number): void
}

/** The result of a successful run. */
export interface ScriptEnd {
  /** The value that a script in the VM returned. */
  value?: unknown
  /** The same value as JSON text, because writing a long one again would block the event loop. */
  json?: string
  /** What the script printed. */
  stdout: string
  stderr: string
}

/** Runs scripts so that they can only do what the sandbox allows. */
export interface ScriptSandbox {
  /**
   * Runs a script.
   *
   * Contract: rejects with `tool_failed`, `tool_timeout` or `tool_denied`, worded for a model, or with the signal's reason. Once it has
   * settled, nothing of the script is left: no thread at work, no process, no timer.
   */
  run(run: ScriptRun, limits: SandboxLimits): Promise<ScriptEnd>
  /** Ends running scripts and releases everything kept for further ones. */
  close(): Promise<void>
}

const mebibyte = 1_048_576

const defaultLimits: SandboxLimits = { timeoutMs: 30_000, memoryBytes: 256 * mebibyte, outputBytes: mebibyte, processes: 32 }

/** Completes the limits with their defaults. Throws `invalid_option` for an invalid limit. */
export function checkLimits(limits: Partial<SandboxLimits>): SandboxLimits {
  const whole = { ...defaultLimits, ...limits }
  if (!(whole.timeoutMs > 0)) throw new InvalidOptionError('limits.timeoutMs', 'a number of milliseconds > 0', whole.timeoutMs)
  // Node.js does not start with less.
  const least = { memoryBytes: 16 * mebibyte, outputBytes: 1, processes: 1 }
  for (const name of ['memoryBytes', 'outputBytes', 'processes'] as const) {
    if (!(Number.isInteger(whole[name]) && whole[name] >= least[name])) {
      throw new InvalidOptionError(`limits.${name}`, `an integer ≥ ${least[name]}`, whole[name])
    }
  }
  return whole
}
