import type { Runtime } from '../sandbox/sandbox.ts'
import type { JsonSchema, ToolEffect } from '../tool.ts'

/** Where a Skill was found. A Skill of a project comes with the project's files, so it is not trusted by default. */
export type SkillScope = 'configured' | 'project' | 'user'

/** A folder with a `SKILL.md`, as specified in https://agentskills.io/specification. */
export interface Skill {
  readonly name: string
  /** What the Skill does and when to use it. The model chooses Skills by their descriptions. */
  readonly description: string
  readonly license?: string
  /** The requirements of the Skill, as text. */
  readonly compatibility?: string
  readonly metadata: Readonly<Record<string, string>>
  /** Tools that the Skill says it needs. The list neither allows nor forbids tools. */
  readonly allowedTools: readonly string[]
  /** The instructions: the text of `SKILL.md` after the frontmatter. */
  readonly body: string
  /** The absolute path of the folder, with links resolved. */
  readonly folder: string
  readonly scope: SkillScope
  /** Executable files, relative to the folder. */
  readonly scripts: readonly string[]
  readonly tools: readonly ScriptTool[]
}

/** A script that is a tool with its own arguments. Declared in the file that `metadata.toolloop-tools` names. */
export interface ScriptTool {
  readonly name: string
  readonly description: string
  readonly script: string
  readonly parameters: JsonSchema
  /** The runtime of the script. Default: chosen by the script's name and content. */
  readonly runtime?: Runtime
  /**
   * How the script receives its arguments. `json`: as one object, passed to the module's default export or to standard input. `flags`: as
   * `--name value` on the command line.
   */
  readonly pass: 'json' | 'flags'
  /** With `flags`: names of arguments whose values come first on the command line, without `--name`. */
  readonly positional: readonly string[]
  readonly effect: ToolEffect
  readonly timeoutMs?: number
  /** Names of tools that the script wants to call. It may call only those that `hostTools` contains. */
  readonly calls: readonly string[]
}

/** A problem of a Skill. Its message says what to do. */
export interface SkillProblem {
  /** The path of the file or folder. */
  path: string
  /** `error`: the Skill or tool is left out. `warning`: it is used anyway. */
  severity: 'error' | 'warning'
  message: string
}

export type Report = (severity: SkillProblem['severity'], message: string) => void
