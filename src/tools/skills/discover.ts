import type { Stats } from 'node:fs'
import { readdir, realpath, stat } from 'node:fs/promises'
import { basename, extname, join, sep } from 'node:path'
import { messageOf, show, ToolloopError } from '../../core/errors.ts'
import { isFileProblem, Workspace } from '../builtin/files/workspace.ts'
import { readSkillText } from './frontmatter.ts'
import { readScriptTools, toolsKey } from './script-tools.ts'
import type { Report, ScriptTool, Skill, SkillProblem, SkillScope } from './skill.ts'

const maxBytes = 1_048_576
/** Maximum size of a file that declares tools, in bytes. Limited because its schemas are sent to the model. */
const maxToolsBytes = 65_536
/** The correct file name, and a file name that other applications accept. */
const names = ['SKILL.md', 'skill.md']
/** Maximum depth at which Skills are searched in a folder. */
const maxDepth = 4
const maxFolders = 2_000
const passedOver = new Set(['.git', 'node_modules', '__pycache__'])
const runnable = new Set(['.js', '.mjs', '.cjs', '.ts', '.mts', '.py', '.sh', '.bash'])

/** Finds folders with a `SKILL.md`: the folder itself, or folders inside it, sorted. Empty if the folder does not exist. */
export async function findSkillFolders(folder: string): Promise<string[]> {
  const found: string[] = []
  const seen = new Set<string>()
  const look = async (path: string, depth: number): Promise<void> => {
    const real = await realpath(path).catch(() => undefined)
    // Links may form a cycle.
    if (real === undefined || seen.has(real) || seen.size >= maxFolders) return
    seen.add(real)
    const entries = await readdir(real, { withFileTypes: true }).catch(() => [])
    if (entries.some(({ name }) => names.includes(name))) {
      found.push(path)
      return
    }
    if (depth === 0) return
    for (const entry of entries.sort((a, b) => (a.name < b.name ? -1 : 1))) {
      if (passedOver.has(entry.name) || !(entry.isDirectory() || entry.isSymbolicLink())) continue
      await look(join(path, entry.name), depth - 1)
    }
  }
  await look(folder, maxDepth)
  return found
}

/** Reads one Skill. An unusable Skill is returned as problems only, at least one with severity `error`. */
export async function loadSkill(folder: string, scope: SkillScope): Promise<{ skill?: Skill; problems: SkillProblem[] }> {
  const problems: SkillProblem[] = []
  const reportOn =
    (path: string): Report =>
    (severity, message) =>
      void problems.push({ path, severity, message })
  let file = join(folder, 'SKILL.md')
  try {
    const workspace = new Workspace(folder)
    const name = (await readdir(workspace.root)).filter((entry) => names.includes(entry)).sort()[0] ?? 'SKILL.md'
    file = join(folder, name)
    if (name !== 'SKILL.md') reportOn(file)('warning', 'Expected the file to be named `SKILL.md`; rename it')
    const text = await readSkillText(await readText(workspace, name), basename(workspace.root), reportOn(file))
    if (text === undefined) return { problems }
    if (text.body === '') reportOn(file)('warning', 'Expected instructions after the frontmatter, got none; say how the Skill is used')
    const files = await listFiles(workspace.root)
    // Scripts belong in `scripts/`, but some Skills have them elsewhere. The first line of a script without an extension names its program.
    const scripts = files.filter((path) => runnable.has(extname(path)) || (path.startsWith('scripts/') && extname(path) === ''))
    const tools = await declaredTools(workspace, text.metadata[toolsKey], text.name, new Set(files), reportOn)
    return { skill: { ...text, folder: workspace.root, scope, scripts, tools }, problems }
  } catch (error) {
    if (!isFileProblem(error) && !ToolloopError.isInstance(error)) throw error
    reportOn(file)('error', messageOf(error))
    return { problems }
  }
}

async function declaredTools(
  workspace: Workspace,
  path: string | undefined,
  skillName: string,
  files: ReadonlySet<string>,
  reportOn: (path: string) => Report,
): Promise<ScriptTool[]> {
  if (path === undefined) return []
  const file = join(workspace.root, path)
  try {
    return await readScriptTools(await readText(workspace, path, maxToolsBytes), skillName, files, (message) =>
      reportOn(file)('error', message),
    )
  } catch (error) {
    if (!ToolloopError.isInstance(error)) throw error
    reportOn(file)('error', `Expected \`metadata.${toolsKey}\` to name a file of the Skill: ${error.message}`)
    return []
  }
}

async function readText(workspace: Workspace, path: string, most: number = maxBytes): Promise<string> {
  const { handle, stats } = await workspace.open(await workspace.locate(path))
  try {
    if (stats.size > most) throw new ToolloopError('tool_failed', `Expected ${show(path)} to have at most ${most} bytes, got ${stats.size}`)
    return await handle.readFile('utf8')
  } finally {
    await handle.close()
  }
}

/**
 * Lists the files of a Skill, sorted, relative to its folder. Lists at most 1,000. Leaves out `SKILL.md`, hidden files, and links that lead
 * outside the folder.
 */
export async function listFiles(folder: string): Promise<string[]> {
  const files: string[] = []
  const root = await realpath(folder).catch(() => folder)
  const seen = new Set<string>()
  const look = async (path: string, depth: number): Promise<void> => {
    const entries = await readdir(join(root, path), { withFileTypes: true }).catch(() => [])
    for (const entry of entries.sort((a, b) => (a.name < b.name ? -1 : 1))) {
      const { name } = entry
      if (files.length >= 1_000 || passedOver.has(name) || name.startsWith('.')) continue
      const inner = path === '' ? name : `${path}/${name}`
      const kind = entry.isSymbolicLink() ? await linkedKind(root, inner, seen) : entry
      if (kind?.isDirectory() && depth > 0) await look(inner, depth - 1)
      else if (kind?.isFile() && !names.includes(inner)) files.push(inner)
    }
  }
  await look('', maxDepth)
  return files
}

/**
 * Returns what a link leads to. Undefined if it leads outside the folder or to a folder that was already listed, because links may form a
 * cycle.
 */
async function linkedKind(root: string, path: string, seen: Set<string>): Promise<Stats | undefined> {
  try {
    const real = await realpath(join(root, path))
    if (!real.startsWith(root + sep) || seen.has(real)) return undefined
    const stats = await stat(real)
    if (stats.isDirectory()) seen.add(real)
    return stats
  } catch {
    return undefined // The link has no target.
  }
}
