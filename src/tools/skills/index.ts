/** `toolloop/skills`: Agent Skills as tools, whose scripts run in a sandbox. */
export { type SandboxOptions, type SandboxReport, SkillsSandboxExecutor } from '../sandbox/executor.ts'
export type { HostCall, Runtime, SandboxLimits, ScriptEnd, ScriptRun } from '../sandbox/sandbox.ts'
export { loadSkill } from './discover.ts'
export type { ScriptTool, Skill, SkillProblem, SkillScope } from './skill.ts'
export { loadSkills, Skills, type SkillsOptions } from './skills.ts'
