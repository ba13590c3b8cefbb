/** The options of a command that runs an agent, as commander gives them. Without an option its key is absent, but for the two defaults. */
export interface AgentFlags {
  model?: string
  baseUrl?: string
  /** Paths of tool modules. */
  tools?: string[]
  /** False with `--no-builtin-tools`. */
  builtinTools: boolean
  /** Folders with Skills. */
  skills?: string[]
  /** Scripts of Skills may run unprotected where they can't be shut in. */
  unsandboxed?: boolean
  workspace?: string
  maxIterations?: number
  /** How calls reach the model and come back: `auto`, `native`, or a dialect. */
  toolCalling?: string
  /** The text itself, or `@file`. */
  instructions?: string
  /** Seconds for a whole run. */
  deadline?: number
  /** Seconds for one tool call. */
  timeout?: number
  /** False with `--no-stream`. */
  stream: boolean
  yes?: boolean
  verbose?: boolean
  quiet?: boolean
}

export interface RunFlags extends AgentFlags {
  json?: boolean
  events?: boolean
}
