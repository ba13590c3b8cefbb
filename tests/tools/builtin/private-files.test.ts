import { randomUUID } from 'node:crypto'
import { linkSync, mkdirSync, renameSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { AgentRunner } from '../../../src/agent/agent-runner.ts'
import type { JsonObject } from '../../../src/core/messages.ts'
import { scriptedModel } from '../../../src/testing/index.ts'
import { Workspace } from '../../../src/tools/builtin/files/workspace.ts'
import { builtinTools } from '../../../src/tools/builtin/index.ts'
import { errorOf, makeTree } from './workbench.ts'

const secret = 'needle'

function makeProject() {
  const folder = makeTree({
    'a.txt': 'plain',
    '.env': secret,
    '.env.example': 'EXAMPLE=',
    'sub/.env.local': secret,
    '.envrc': secret,
    '.git/config': secret,
    '.toolloop/runs/run_1.json': secret,
    '.toolloop/skills/a/SKILL.md': 'a Skill',
    'settings.yaml': secret,
    'data/runs/run_2.json': secret,
    '.gitignore': 'ignored.txt',
  })
  const refused = [join(folder, 'settings.yaml'), join(folder, 'data')]
  return { folder, refused, workspace: new Workspace(folder, refused) }
}

async function readThrough(workspace: Workspace, path: string): Promise<string> {
  const { handle } = await workspace.open(await workspace.locate(path))
  try {
    return await handle.readFile('utf8')
  } finally {
    await handle.close()
  }
}

describe('PrivateFiles', () => {
  it.each([
    '.env',
    '.ENV',
    'sub/.env.local',
    'sub/../.env',
    '.env.',
    '.env ',
    '.env::$DATA',
    '.e\u200bnv',
    '.envrc',
    '.env copy',
    '.env (1)',
    '.env2',
    '.env,v',
    '.env~',
    '.envs/.production/.django',
    'prod.env',
    'sub/Prod.ENV',
    '.git-credentials',
    '.netrc',
    `.toolloop-${randomUUID()}.tmp`,
    '.git',
    '.git/config',
    '.GIT/config',
    '.git/HEAD',
    'git~1/config',
    'sub/.git/config',
    '.toolloop/runs',
    '.toolloop/RUNS/run_1.json',
    'settings.yaml',
    'Settings.YAML',
    'settings.yaml~',
    'settings.yaml.bak',
    'Settings.yaml (1)',
    '.settings.yaml.swp',
    '#settings.yaml#',
    'data',
    'data/runs/run_2.json',
    'data/is-not-there',
  ])('refuses the path %j', async (path) => {
    const { folder, workspace } = makeProject()
    for (const given of [path, join(folder, path)]) {
      const error = await errorOf(readThrough(workspace, given))
      expect(error.message).toBe(`Expected a file that tools may read, got ${JSON.stringify(given)}, which may hold secrets`)
      expect(error).toMatchObject({ code: 'tool_denied' })
    }
  })

  it.each(['.env', '.git/config', '.toolloop/runs/run_1.json', 'settings.yaml', 'data/runs/run_2.json'])(
    'refuses a link to %s',
    async (path) => {
      const { folder, workspace } = makeProject()
      symlinkSync(join(folder, path), join(folder, 'link.txt'))
      linkSync(join(folder, path), join(folder, 'hard.txt'))
      for (const link of ['link.txt', 'hard.txt'])
        expect(await errorOf(readThrough(workspace, link))).toMatchObject({ code: 'tool_denied' })
    },
  )

  it('refuses a link to their folder, and one that has replaced a file', async () => {
    const { folder, workspace } = makeProject()
    symlinkSync(join(folder, 'data'), join(folder, 'elsewhere'))
    expect(await errorOf(workspace.locate('elsewhere/runs/run_2.json'))).toMatchObject({ code: 'tool_denied' })
    mkdirSync(join(folder, 'sub/runs'))
    const place = { path: 'sub/runs/run_2.json', real: join(folder, 'sub/runs/run_2.json') }
    renameSync(join(folder, 'sub'), join(folder, 'sub-away'))
    symlinkSync(join(folder, 'data'), join(folder, 'sub'))
    expect(await errorOf(workspace.open(place))).toMatchObject({ code: 'tool_denied' })
  })

  it('leaves private files out of lists and searches, whatever the pattern', async () => {
    const { folder, refused } = makeProject()
    const tools = builtinTools({ workspace: folder, refused })
    const calls = ['**', '.*', '.env*', '**/*.json', '.git/**', '**/.*/**'].flatMap(
      (pattern): { name: string; arguments: JsonObject }[] => [
        { name: 'list_files', arguments: { pattern } },
        { name: 'search_files', arguments: { query: secret, pattern } },
      ],
    )
    const result = await new AgentRunner({ model: scriptedModel([{ toolCalls: calls }, 'done']), tools, maxIterations: 3 }).run('go')
    const shown = result.toolCalls.map(({ content }) => JSON.parse(String(content)))
    for (const { files, count, matches } of shown) {
      if (matches !== undefined) expect([count, matches]).toEqual([0, []])
      else for (const { path } of files) expect(path).toMatch(/^(a\.txt|\.env\.example|\.gitignore|\.toolloop\/skills\/.*)$/)
    }
  })

  it('allows names that only look similar', async () => {
    const { workspace } = makeProject()
    for (const path of ['a.txt', '.env.example', '.gitignore', '.toolloop/skills/a/SKILL.md'])
      expect(await readThrough(workspace, path)).not.toBe(secret)
    const samples = [
      '.env.sample',
      '.env.template',
      '.env.dist',
      '.env.production.example',
      'env.ts',
      'a.environment',
      'settings.yml',
      'data2',
      'data.json',
    ]
    const other = new Workspace(makeTree(Object.fromEntries(samples.map((path) => [path, 'shown']))), ['settings.yaml', 'data'])
    for (const path of samples) expect(await readThrough(other, path)).toBe('shown')
  })
})
