const mebibyte = 1_048_576

export interface ProcessLimits {
  memoryBytes: number
  processes: number
  /** Of work, on one processor. */
  seconds: number
  scratchBytes: number
  /** The program is Node.js. */
  node?: boolean
}

/**
 * Of prlimit, for every process the script starts. Addresses are bounded because memory that processes share counts as nothing else. Node.js
 * reserves 512 MiB for code, which counts as its data from the start.
 */
export function limitArguments(limits: ProcessLimits): string[] {
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
