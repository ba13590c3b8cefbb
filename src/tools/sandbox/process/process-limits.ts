const mebibyte = 1_048_576

export interface ProcessLimits {
  memoryBytes: number
  processes: number
  /** Maximum CPU time of each process. */
  seconds: number
  scratchBytes: number
  /** Whether the program is Node.js. */
  node?: boolean
}

/**
 * Returns arguments for prlimit. The limits apply to every process that the script starts. The address space is limited because no other
 * limit counts shared memory. Node.js gets higher limits, because it reserves 512 MiB for code at the start.
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
