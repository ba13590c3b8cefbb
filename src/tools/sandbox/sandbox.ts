import { InvalidOptionError } from '../../core/errors.ts'
import type { JsonObject } from '../../core/messages.ts'

/**
 * What runs a script: `vm`, a JavaScript engine inside this process that has no files, no network, no clock to wait for and no other process;
 * the others are processes of their own.
 */
export type Runtime = 'vm' | 'node' | 'python' | 'shell'

/** What a script may use. All are bounds of one run. */
export interface SandboxLimits {
  /** Default 30,000. A tool's own limit, or the run's, ends it before. */
  timeoutMs: number
  /** Of the VM, or of each process. Default 256 MiB. */
  memoryBytes: number
  /** What it may return or print, in bytes. Default 1 MiB. */
  outputBytes: number
  /** At once, the script itself included; threads count. Default 32; of no meaning to the VM. */
  processes: number
}

/** A tool of the host that a script calls: takes its arguments, returns what can be written as JSON. Rejects with words for the script. */
export type HostCall = (name: string, args: JsonObject, signal: AbortSignal) => Promise<unknown>

/** One run of a script. */
export interface ScriptRun {
  /** Absolute. The script can read what is in it, and change nothing. */
  folder: string
  /** From `folder`, `/` between folders. */
  script: string
  /** Named arguments, or those of a command line. */
  args: JsonObject | readonly string[]
  stdin?: string
  signal: AbortSignal
  /** Absent: it can call nothing. The VM alone can. */
  call?: HostCall
  /** Told with what the script's process has ended, be it well or not; not where it was ended. What it throws is ignored. */
  exited?(code: number): void
}

/** How a run ended that went well. */
export interface ScriptEnd {
  /** What a script in the VM returned. */
  value?: unknown
  /** The same as JSON text: to write a long one again would hold everything else up. */
  json?: string
  /** What it printed. */
  stdout: string
  stderr: string
}

/** Runs scripts so that they can do nothing but what it is there for. */
export interface ScriptSandbox {
  /**
   * Rejects with `tool_failed`, `tool_timeout` or `tool_denied` in words for a model, or with the signal's reason. When it has settled nothing
   * of the script is left: no thread of work, no process, no timer.
   */
  run(run: ScriptRun, limits: SandboxLimits): Promise<ScriptEnd>
  /** Ends what runs and what waits to be used. */
  close(): Promise<void>
}

const mebibyte = 1_048_576

const defaultLimits: SandboxLimits = { timeoutMs: 30_000, memoryBytes: 256 * mebibyte, outputBytes: mebibyte, processes: 32 }

/** Throws `invalid_option` for a limit that is none. */
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
