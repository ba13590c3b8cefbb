import { homedir } from 'node:os'
import { join, resolve } from 'node:path'
import { checkOptionNames, type OptionNames } from '../../core/check-options.ts'
import { InvalidOptionError } from '../../core/errors.ts'
import type { Logger } from '../../core/logger.ts'
import { ToolRegistry, type ToolSet } from '../registry.ts'
import { type SandboxOptions, SkillsSandboxExecutor } from '../sandbox/executor.ts'
import { type AnyTool, type ToolDefinition, toolName } from '../tool.ts'
import { findSkillFolders, loadSkill } from './discover.ts'
import type { Skill, SkillProblem, SkillScope } from './skill.ts'
import { scriptTool, sharedTools, skillAsTool } from './skill-tools.ts'

/** Options of `loadSkills`. */
export interface SkillsOptions {
  /** Folders of Skills, or folders that contain Skills. They are trusted, and take precedence over Skills of the project and the user. */
  paths?: readonly string[]
  /** The project folder, whose `.agents/skills` and `.toolloop/skills` are searched. `false` disables this. Default: the current folder. */
  project?: string | false
  /** The user's folder, whose `.agents/skills` and `.toolloop/skills` are searched. `false` disables this. Default: the home folder. */
  user?: string | false
  /**
   * The names of the project's Skills that may be used, or `true` for all. Project Skills come with the project's files and instruct the
   * model, so use only those you trust. Default: none. Other Skills are listed in `untrusted`.
   */
  trust?: boolean | readonly string[]
  /** An executor for scripts, or options for a new executor. `close` closes only the new executor. */
  sandbox?: SkillsSandboxExecutor | SandboxOptions
  /** Tools that scripts in the VM may call if they declare them in `calls`. Default: none. */
  hostTools?: readonly AnyTool[] | ToolSet
  /** Receives each problem as a warning. Default: none. `problems` also lists them. */
  logger?: Logger
}

const optionNames: OptionNames<SkillsOptions> = {
  paths: true,
  project: true,
  user: true,
  trust: true,
  sandbox: true,
  hostTools: true,
  logger: true,
}

const folders = [join('.agents', 'skills'), join('.toolloop', 'skills')]

/**
 * Finds and reads Skills. Rejects with `invalid_option` for an invalid option. Unusable Skills are left out and described in `problems`.
 */
export async function loadSkills(options: SkillsOptions = {}): Promise<Skills> {
  const skills = new Skills(options)
  await skills.reload()
  return skills
}

/**
 * A set of tools for Agent Skills (https://agentskills.io/specification). The model's instructions contain the names and descriptions of
 * the Skills (`catalogue`). The model activates a Skill to receive its instructions. Scripts that a Skill declares as tools are ordinary
 * tools. If the model calls a Skill by its name, the Skill's main script runs, or the call returns its instructions.
 */
export class Skills implements ToolSet, AsyncDisposable {
  readonly #options: SkillsOptions
  readonly #executor: SkillsSandboxExecutor
  readonly #hostTools: ToolSet
  #skills: ReadonlyMap<string, Skill> = new Map()
  #byName: ReadonlyMap<string, AnyTool> = new Map()
  #registry = new ToolRegistry()
  #untrusted: readonly Skill[] = []
  #problems: readonly SkillProblem[] = []

  /** Creates an empty set; call `reload` to fill it. Throws `invalid_option`. */
  constructor(options: SkillsOptions = {}) {
    checkOptionNames(options, optionNames, '`Skills`')
    const { trust, paths, sandbox = {}, hostTools = [] } = options
    if (trust !== undefined && typeof trust !== 'boolean' && !Array.isArray(trust))
      throw new InvalidOptionError('trust', 'true, false or a list of names', trust)
    if (paths !== undefined && !Array.isArray(paths)) throw new InvalidOptionError('paths', 'a list of folders', paths)
    this.#options = options
    this.#executor = 'run' in sandbox ? sandbox : new SkillsSandboxExecutor(sandbox)
    this.#hostTools = 'getAllSpecs' in hostTools ? hostTools : new ToolRegistry(hostTools)
  }

  /** The usable Skills, in the order in which they were found. */
  get skills(): readonly Skill[] {
    return [...this.#skills.values()]
  }

  /** Skills of the project that `trust` does not allow. */
  get untrusted(): readonly Skill[] {
    return this.#untrusted
  }

  /** The problems that were found when the Skills were last loaded. */
  get problems(): readonly SkillProblem[] {
    return this.#problems
  }

  get size(): number {
    return this.#registry.size
  }

  get(name: string): AnyTool | undefined {
    return this.#registry.get(name) ?? this.#byName.get(name)
  }

  names(): string[] {
    return this.#registry.names()
  }

  list(): AnyTool[] {
    return this.#registry.list()
  }

  /** The names of the Skills. A model may call them like tools, although they are not listed as tools. */
  hidden(): string[] {
    return [...this.#byName.keys()]
  }

  getAllSpecs(): readonly ToolDefinition[] {
    return this.#registry.getAllSpecs()
  }

  /** The name and description of every Skill, for the model's instructions. `''` if there are no Skills. */
  catalogue(): string {
    if (this.#skills.size === 0) return ''
    const entries = this.skills.map(
      ({ name, description }) =>
        `  <skill>\n    <name>${escaped(name)}</name>\n    <description>${escaped(description)}</description>\n  </skill>`,
    )
    return [
      'You have Skills: instructions for certain tasks. When a task fits the description of one, call activate_skill with its name first, and follow what it says.',
      '<available_skills>',
      ...entries,
      '</available_skills>',
    ].join('\n')
  }

  /** Finds and reads the Skills again. Runs in progress see the change in their next turn. */
  async reload(): Promise<void> {
    const problems: SkillProblem[] = []
    const report = (path: string, severity: SkillProblem['severity'], message: string) => void problems.push({ path, severity, message })
    const usable = new Map<string, Skill>()
    const untrusted: Skill[] = []
    for (const { folder, scope, named } of this.#places()) {
      const found = await findSkillFolders(folder)
      if (named && found.length === 0) report(folder, 'error', 'Expected a folder with a `SKILL.md`, or one of such folders; found none')
      for (const path of found) {
        const { skill, problems: own } = await loadSkill(path, scope)
        problems.push(...own)
        if (skill === undefined) continue
        const earlier = usable.get(skill.name)
        if (earlier?.folder === skill.folder) continue
        if (scope === 'project' && !this.#trusts(skill)) {
          untrusted.push(skill)
          report(path, 'warning', `The Skill came with the project and is not used; allow it with \`trust: ['${skill.name}']\``)
        } else if (earlier === undefined) usable.set(skill.name, skill)
        else report(path, 'warning', `A second Skill named \`${skill.name}\`; the one in ${earlier.folder} is used`)
      }
    }
    this.#use(usable, problems)
    this.#untrusted = untrusted
    this.#problems = problems
    for (const { path, severity, message } of problems) this.#options.logger?.warn({ path, severity }, message)
  }

  /** Closes the executor, unless the application provided it. */
  async close(): Promise<void> {
    if (this.#options.sandbox !== this.#executor) await this.#executor.close()
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close()
  }

  #use(skills: ReadonlyMap<string, Skill>, problems: SkillProblem[]): void {
    const options = { executor: this.#executor, hostTools: this.#hostTools }
    const registry = new ToolRegistry(sharedTools(skills, options))
    for (const skill of skills.values()) {
      for (const declared of skill.tools) {
        if (registry.has(declared.name))
          problems.push({ path: skill.folder, severity: 'error', message: `A second tool named \`${declared.name}\`; it was left out` })
        else registry.register(scriptTool(skill, declared, options))
      }
    }
    this.#byName = new Map(
      [...skills.values()].flatMap((skill) =>
        toolName.test(skill.name) && !registry.has(skill.name) ? [[skill.name, skillAsTool(skill, options)]] : [],
      ),
    )
    this.#registry = registry
    this.#skills = skills
  }

  #trusts({ name }: Skill): boolean {
    const { trust = false } = this.#options
    return typeof trust === 'boolean' ? trust : trust.includes(name)
  }

  #places(): { folder: string; scope: SkillScope; named: boolean }[] {
    const { paths = [], project = process.cwd(), user = homedir() } = this.#options
    const within = (root: string | false, scope: SkillScope) =>
      root === false ? [] : folders.map((folder) => ({ folder: join(root, folder), scope, named: false }))
    return [
      ...paths.map((path) => ({ folder: resolve(path), scope: 'configured' as const, named: true })),
      // The Skills in the home folder belong to the user, even if the home folder is also the current folder.
      ...(project !== false && user !== false && resolve(project) === resolve(user) ? [] : within(project, 'project')),
      ...within(user, 'user'),
    ]
  }
}

function escaped(text: string): string {
  return text.replace(/[&<>]/g, (character) => `&#${character.charCodeAt(0)};`)
}
