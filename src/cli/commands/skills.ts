import { stat } from 'node:fs/promises'
import { basename, dirname, resolve } from 'node:path'
import { didYouMean } from '../../core/nearest-name.ts'
import { readable } from '../../core/text/visible.ts'
import { ToolDispatcher } from '../../tools/dispatcher.ts'
import type { SkillProblem } from '../../tools/skills/skill.ts'
import { EXIT_FAILED, EXIT_OK, EXIT_USAGE } from '../exit-codes.ts'
import type { Flags } from '../flags.ts'
import { inMilliseconds } from '../setup/prepare-agent.ts'
import { openSkills } from '../setup/tool-sources.ts'
import { createCliLogger } from '../terminal/cli-logger.ts'
import { Interrupts } from '../terminal/interrupts.ts'
import { plural } from '../terminal/render.ts'
import { type CliIO, Terminal, withoutControls } from '../terminal/terminal.ts'
import { printDispatched } from './tools.ts'

/**
 * `toolloop skills list`: lists the Skills of `--skills`, the project and the user, and reports problems in them. Resolves with the exit
 * code.
 */
export async function listSkills(flags: Flags, io: CliIO): Promise<number> {
  const terminal = new Terminal(io)
  const skills = await openSkills(flags, terminal)
  const shown = [
    ...skills.skills.map((skill) => ({ ...skill, trusted: true })),
    ...skills.untrusted.map((skill) => ({ ...skill, trusted: false })),
  ].map(({ name, description, folder, scope, trusted, scripts, tools }) => ({
    name,
    description,
    folder,
    scope,
    trusted,
    scripts,
    tools: tools.map((tool) => tool.name),
  }))
  if (flags.json) {
    terminal.print(JSON.stringify({ skills: shown, problems: skills.problems }))
    return EXIT_OK
  }
  if (shown.length === 0)
    terminal.note('no Skills in .agents/skills or .toolloop/skills of this folder or your home folder; --skills names others')
  for (const { name, description, folder, scope, trusted } of shown) {
    // Control characters are removed, because text written by others must not control the terminal.
    const where = withoutControls(`${scope}${trusted ? '' : ', not trusted'}: ${folder}`)
    terminal.say(`${terminal.paint(trusted ? 'bold' : 'dim', withoutControls(name), 'stdout')} ${terminal.paint('dim', where, 'stdout')}`)
    terminal.say(`  ${withoutControls(description)}`)
  }
  for (const problem of skills.problems) terminal.note(describe(problem, terminal))
  return EXIT_OK
}

/** `toolloop skills validate PATH`: reports all problems of a Skill, or of a folder of Skills. Exits with 1 if there is an error. */
export async function validateSkills(path: string, flags: Flags, io: CliIO): Promise<number> {
  const terminal = new Terminal(io)
  const folder = resolve(io.cwd, basename(path) === 'SKILL.md' ? dirname(path) : path)
  const { skills, problems } = await openSkills({ ...flags, skills: [folder] }, terminal, { project: false, user: false })
  const ok = problems.every(({ severity }) => severity !== 'error')
  if (flags.json) terminal.print(JSON.stringify({ ok, skills: skills.map(({ name }) => name), problems }))
  else {
    for (const problem of problems) terminal.say(describe(problem, terminal))
    for (const { name, scripts, tools } of skills) {
      terminal.say(
        `${terminal.paint('green', '✓', 'stdout')} ${name}: ${plural(scripts.length, 'script')}, ${plural(tools.length, 'tool')}`,
      )
    }
  }
  return ok ? EXIT_OK : EXIT_FAILED
}

/**
 * `toolloop skills run SKILL SCRIPT [args…]`: runs one script in the same way as an agent. SKILL is a name or a folder. A person who types
 * the command is taken to trust the Skill. Resolves with the exit code: 0 with the script's output or result on stdout, 1 if the script
 * failed, 2 if there is no such Skill.
 */
export async function runSkill(name: string, script: string, args: readonly string[], flags: Flags, io: CliIO): Promise<number> {
  const terminal = new Terminal(io)
  const folder = resolve(io.cwd, name)
  const isFolder = await stat(resolve(folder, 'SKILL.md')).then(
    () => true,
    () => false,
  )
  const paths = isFolder ? { paths: [folder], project: false as const, user: false as const } : { trust: [name] }
  const skills = await openSkills(flags, terminal, paths)
  const interrupts = new Interrupts(io)
  try {
    const names = skills.skills.map((skill) => skill.name)
    const known = isFolder ? names[0] : names.find((one) => one === name)
    if (known === undefined) {
      for (const problem of skills.problems) terminal.note(describe(problem, terminal))
      terminal.note(`error: there is no Skill \`${name}\`${didYouMean(name, names)}; there are ${names.join(', ') || 'none'}`)
      return EXIT_USAGE
    }
    const dispatcher = new ToolDispatcher([{ kind: 'skill', tools: skills }], { logger: createCliLogger(terminal, flags) })
    const result = await dispatcher.dispatch(
      'run_skill_script',
      { skill: known, script, args: [...args] },
      { signal: interrupts.signal, timeoutMs: inMilliseconds(flags.timeout) },
    )
    printDispatched(result, flags.json === true, terminal)
    return interrupts.exitCode ?? (result.success ? EXIT_OK : EXIT_FAILED)
  } finally {
    interrupts.release()
    await skills.close()
  }
}

function describe({ path, severity, message }: SkillProblem, terminal: Terminal): string {
  return `${terminal.paint(severity === 'error' ? 'red' : 'yellow', severity)} ${withoutControls(path)}: ${readable(message)}`
}
