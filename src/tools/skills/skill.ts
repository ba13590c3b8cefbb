import type { Runtime } from '../sandbox/sandbox.ts'
import type { JsonSchema, ToolEffect } from '../tool.ts'

/** Where a Skill was found. One in a project came with the checkout, and is not trusted for that. */
export type SkillScope = 'configured' | 'project' | 'user'

/** A folder with a `SKILL.md`, as https://agentskills.io/specification has it. */
export interface Skill {
  readonly name: string
  /** What it does and when it is to be used: what a model chooses by. */
  readonly description: string
  readonly license?: string
  /** What it needs, in words. */
  readonly compatibility?: string
  readonly metadata: Readonly<Record<string, string>>
  /** Tools it says it needs. Informational: it allows and forbids nothing. */
  readonly allowedTools: readonly string[]
  /** The instructions: all of `SKILL.md` after the frontmatter. */
  readonly body: string
  /** Absolute, links resolved. */
  readonly folder: string
  readonly scope: SkillScope
  /** Files that can be run, relative to the folder. */
  readonly scripts: readonly string[]
  readonly tools: readonly ScriptTool[]
}

/** A script as a tool with arguments of its own: an entry of the file that `metadata.toolloop-tools` names. */
export interface ScriptTool {
  readonly name: string
  readonly description: string
  readonly script: string
  readonly parameters: JsonSchema
  /** Default: by the script's name and content. */
  readonly runtime?: Runtime
  /**
   * How arguments reach the script: `json`, as one object, which a module's default export is given and a process reads from its standard
   * input; or `flags`, as `--name value` on the command line.
   */
  readonly pass: 'json' | 'flags'
  /** With `flags`: arguments that come first, in this order and without a name. */
  readonly positional: readonly string[]
  readonly effect: ToolEffect
  readonly timeoutMs?: number
  /** Tools of the host that the script wants to call; it may call those it is granted. */
  readonly calls: readonly string[]
}

/** Something wrong with a Skill, in words that say what to do. */
export interface SkillProblem {
  /** The file or folder. */
  path: string
  /** `error`: the Skill, or the tool, is left out. `warning`: it is there all the same. */
  severity: 'error' | 'warning'
  message: string
}

/** Takes a problem with one file. */
export type Report = (severity: SkillProblem['severity'], message: string) => void
