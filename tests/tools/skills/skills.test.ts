import { chmod, cp, mkdir, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { AgentRunner } from '../../../src/agent/agent-runner.ts'
import { scriptedModel } from '../../../src/testing/scripted-model.ts'
import { builtinTools } from '../../../src/tools/builtin/index.ts'
import { ToolDispatcher } from '../../../src/tools/dispatcher.ts'
import { findIsolation } from '../../../src/tools/sandbox/process/isolation.ts'
import { loadSkill, loadSkills, type SkillsOptions, SkillsSandboxExecutor } from '../../../src/tools/skills/index.ts'
import { defineTool } from '../../../src/tools/tool.ts'
import { tempFolder } from '../../cli/temp-folder.ts'
import { recordingLogger } from '../../hazards/recording-logger.ts'
import { csvTools, geometry, skillFolders } from './skill-folders.ts'

const isolation = await findIsolation()
const sandbox = new SkillsSandboxExecutor()
afterAll(() => sandbox.close())

const load = (folder: string, options: SkillsOptions = {}) =>
  loadSkills({ paths: [folder], project: false, user: false, sandbox, ...options })

async function dispatcher(folder: string, options: SkillsOptions = {}) {
  const skills = await load(folder, options)
  expect(skills.problems).toEqual([])
  return new ToolDispatcher([{ kind: 'skill', tools: skills }], { logger: recordingLogger().logger })
}

describe('Skills', () => {
  it('loads a Skill as others publish them', async () => {
    const skills = await load(await skillFolders(csvTools, geometry))
    expect(skills.problems).toEqual([])
    expect(skills.skills.map(({ name, scripts, tools }) => [name, scripts.length, tools.map((tool) => tool.name)])).toEqual([
      ['csv-tools', 3, []],
      ['geometry', 3, ['circle_area', 'geometry']],
    ])
    expect(skills.skills[0]).toMatchObject({
      license: 'Apache-2.0',
      compatibility: 'Requires Python 3',
      metadata: { author: 'example', version: '1.2' },
      allowedTools: ['Bash(python3:*)', 'Read'],
    })
    expect(skills.names()).toEqual(['activate_skill', 'read_skill_file', 'run_skill_script', 'circle_area', 'geometry'])
    expect(skills.hidden()).toEqual(['csv-tools'])
    expect(skills.getAllSpecs()).toBe(skills.getAllSpecs())
  })

  it('shows a model little at first, and more on request', async () => {
    const folder = await skillFolders(csvTools)
    const skills = await load(folder)
    expect(skills.catalogue()).toContain('<name>csv-tools</name>\n    <description>Counts and sums columns of CSV files.')
    expect(skills.catalogue()).not.toContain('argparse')
    const tools = new ToolDispatcher([{ kind: 'skill', tools: skills }])
    const active = await tools.dispatch('activate_skill', { name: 'csv-tools' })
    expect(active.success && active.result).toContain('python3 scripts/total.py --column price FILE')
    expect(active.success && active.result).toContain('- references/GUIDE.md')
    expect(active.success && active.result).not.toContain('license: Apache')
    expect(await tools.dispatch('activate_skill', { name: 'nope' })).toMatchObject({ success: false, error: /`name`.*csv-tools/ })
    expect(await tools.dispatch('read_skill_file', { skill: 'csv-tools', path: 'references/GUIDE.md' })).toMatchObject({
      success: true,
      result: { text: 'Columns are named in the first line.\n', totalLines: 1 },
    })
    expect((await load(await tempFolder({ 'x/y.md': '' }))).catalogue()).toBe('')
  })

  it('only reads files in the Skill’s folder, wherever a path or link leads', async () => {
    const folder = await skillFolders(csvTools, { 'secret.txt': 'secret' })
    await symlink('../../secret.txt', join(folder, 'csv-tools/assets/link.txt'))
    await symlink('../../secret.txt', join(folder, 'csv-tools/scripts/link.sh'))
    const tools = await dispatcher(join(folder, 'csv-tools'))
    for (const path of ['../secret.txt', 'assets/link.txt', '/etc/passwd', join(folder, 'secret.txt')]) {
      const read = await tools.dispatch('read_skill_file', { skill: 'csv-tools', path })
      expect(read, path).toMatchObject({ success: false, error: /outside/ })
    }
    for (const script of ['../secret.sh', 'scripts/link.sh', '/bin/sh']) {
      const run = await tools.dispatch('run_skill_script', { skill: 'csv-tools', script })
      expect(run, script).toMatchObject({ success: false, error: /outside/ })
    }
    expect(await tools.dispatch('read_skill_file', { skill: 'csv-tools', path: 'nope.md' })).toMatchObject({
      success: false,
      error: /"nope.md" does not exist in the Skill csv-tools. Its files: assets/,
    })
  })

  it('S1-19 routes the name of a Skill’s tool to the sandbox for Skills', async () => {
    const tools = await dispatcher(await skillFolders(geometry))
    expect(tools.sourceOf('geometry')).toBe('skill')
    const points = [
      [0, 0],
      [3, 4],
    ]
    expect(await tools.dispatch('geometry', { points })).toEqual({ success: true, result: 5 })
    expect(await tools.dispatch('circle_area', { radius: 2 })).toEqual({ success: true, result: { area: 12.57 } })
    expect(await tools.dispatch('circle_area', { radius: 'wide' })).toMatchObject({ success: false, error: /`radius`.*number/ })
  })

  it('S1-19 routes the name of a Skill without tools too: its main script runs, or its instructions are returned', async () => {
    const skill = (name: string) => `---\nname: ${name}\ndescription: d\n---\nDo it.`
    const tools = await dispatcher(
      await tempFolder({
        'one/SKILL.md': skill('one'),
        'one/scripts/any.mjs': 'export default (args) => args.join("+")',
        'two/SKILL.md': skill('two'),
        'two/scripts/main.ts': 'export default (args: string[]): string => "main " + args',
        'two/scripts/other.ts': 'export default () => 1',
        'none/SKILL.md': skill('none'),
      }),
    )
    expect(await tools.dispatch('one', { args: ['a', 'b'] })).toEqual({ success: true, result: 'a+b' })
    expect(await tools.dispatch('two', { args: ['x'] })).toEqual({ success: true, result: 'main x' })
    expect(await tools.dispatch('two', { script: 'scripts/other.ts' })).toEqual({ success: true, result: 1 })
    expect(await tools.dispatch('none', { any: 'thing' })).toMatchObject({ success: true, result: /Do it\./ })
  })

  it('S1-20 prefers a built-in tool to a Skill of the same name, whether the model sees that or not', async () => {
    const { logger, records } = recordingLogger()
    const skill = (name: string) => `---\nname: ${name}\ndescription: d\n---\nDo it.`
    const skills = await load(
      await tempFolder({ 'calculate/SKILL.md': skill('calculate'), 'calculate/scripts/a.mjs': 'export default () => 1' }),
    )
    const tools = new ToolDispatcher(
      [
        { kind: 'skill', tools: skills },
        { kind: 'builtin', tools: builtinTools() },
      ],
      { logger },
    )
    for (const _ of [1, 2]) expect(await tools.dispatch('calculate', { expression: '1+1' })).toMatchObject({ result: { result: 2 } })
    tools.getAllSpecs()
    expect(records.map(({ fields }) => fields)).toEqual([{ tool: 'calculate', used: 'builtin', ignored: 'skill' }])
  })

  it('works in a run: catalogue in the instructions, the dispatcher as its tools', async () => {
    const skills = await load(await skillFolders(geometry))
    const model = scriptedModel([
      { toolCalls: [{ name: 'activate_skill', args: { name: 'geometry' } }] },
      { toolCalls: [{ name: 'circle_area', args: { radius: 1 } }, { name: 'nope' }] },
      'done',
    ])
    const runner = new AgentRunner({
      model,
      tools: new ToolDispatcher([{ kind: 'skill', tools: skills }]),
      instructions: skills.catalogue(),
    })
    const result = await runner.run('How large is a circle of radius 1?')
    expect(result.toolCalls.map(({ tool, outcome }) => `${tool} ${outcome}`)).toEqual([
      'activate_skill ok',
      'circle_area ok',
      'nope rejected',
    ])
    expect(result.toolCalls[1]?.value).toEqual({ area: 3.14 })
    expect(result.toolCalls[2]?.content).toContain(
      'Available tools: activate_skill, read_skill_file, run_skill_script, circle_area, geometry.',
    )
  })

  it('shows changes to runs in progress after reload', async () => {
    const folder = await skillFolders(geometry)
    const skills = await load(folder)
    const before = skills.getAllSpecs()
    await mkdir(join(folder, 'late'))
    await writeFile(join(folder, 'late/SKILL.md'), '---\nname: late\ndescription: d\n---\nDo it.')
    await skills.reload()
    expect(skills.getAllSpecs()).not.toBe(before)
    expect(skills.hidden()).toEqual(['late'])
  })

  it('lets scripts call the host’s tools that both sides have named', async () => {
    const folder = await tempFolder({
      's/SKILL.md': '---\nname: s\ndescription: d\nmetadata: { toolloop-tools: t.json }\n---\nDo it.',
      's/t.json': JSON.stringify({ tools: [{ description: 'asks', script: 'scripts/a.js', calls: ['double', 'other'] }] }),
      's/scripts/a.js': `export default async (_args, host) => {
        const tell = (error) => error.message
        return [await host.call('double', { n: 4 }), await host.call('double', { n: 'x' }).catch(tell), await host.call('secret').catch(tell), await host.call('pay').catch(tell)]
      }`,
    })
    const double = defineTool({
      name: 'double',
      description: 'd',
      parameters: { type: 'object', properties: { n: { type: 'number' } }, required: ['n'] },
      execute: ({ n }) => n * 2,
    })
    const secret = defineTool({ name: 'secret', description: 's', execute: () => 'secret' })
    const tools = await dispatcher(folder, { hostTools: [double, secret] })
    expect(await tools.dispatch('s')).toMatchObject({
      success: true,
      result: [8, /`n`.*number/, 'Tool not found: secret. Available tools: double.', /^Tool not found: pay/],
    })
    expect(await (await dispatcher(folder)).dispatch('s')).toMatchObject({ success: false, error: /may call no tools/ })
  })
})

describe('Skill folders', () => {
  const skill = (name: string, text: string) => `---\nname: ${name}\ndescription: ${text}\n---\nDo it.`

  it('are found in the project and the home folder; a project’s own are not trusted until allowed', async () => {
    const project = await tempFolder({
      '.agents/skills/build/SKILL.md': skill('build', 'of the project'),
      '.toolloop/skills/ship/SKILL.md': skill('ship', 'of the project'),
      '.agents/skills/node_modules/no/SKILL.md': skill('no', 'never'),
    })
    const user = await tempFolder({ '.agents/skills/sorted/build/SKILL.md': skill('build', 'of the user') })
    const described = async (trust?: SkillsOptions['trust']) => {
      const { skills, untrusted, problems } = await loadSkills({ project, user, sandbox, ...(trust === undefined ? {} : { trust }) })
      return {
        used: skills.map(({ name, description }) => `${name} ${description}`),
        untrusted: untrusted.map(({ name }) => name),
        problems,
      }
    }
    const strict = await described()
    expect(strict).toMatchObject({ used: ['build of the user'], untrusted: ['build', 'ship'] })
    expect(strict.problems[1]?.message).toBe("The Skill came with the project and is not used; allow it with `trust: ['ship']`")
    expect(await described(['ship'])).toMatchObject({ used: ['ship of the project', 'build of the user'], untrusted: ['build'] })
    const all = await described(true)
    expect(all.used).toEqual(['build of the project', 'ship of the project'])
    expect(all.problems).toMatchObject([{ message: /A second Skill named `build`/ }])
    expect((await loadSkills({ project: user, user, sandbox })).skills).toHaveLength(1)
  })

  it('may contain a circular link, and a path without Skills is reported', async () => {
    const folder = await skillFolders(geometry)
    await symlink(folder, join(folder, 'loop'))
    expect((await load(folder)).skills).toHaveLength(1)
    const none = await load(join(folder, 'nope'))
    expect(none.problems).toMatchObject([{ severity: 'error', message: /found none/ }])
    await expect(loadSkills({ trust: 'all' as never })).rejects.toThrow('Expected `trust` to be true, false or a list of names')
    expect(() => new SkillsSandboxExecutor({ limits: { timeoutMs: 0 } })).toThrow('limits.timeoutMs')
  })
})

describe('problems of a Skill', () => {
  const problemsOf = async (file: string, more: Record<string, string> = {}) => {
    const folder = await tempFolder({ 'my-skill/SKILL.md': file, ...more })
    const { skill, problems } = await loadSkill(join(folder, 'my-skill'), 'configured')
    return [skill?.name, ...problems.map(({ severity, message }) => `${severity}: ${message}`)]
  }

  it.each<[string, string, (string | undefined | RegExp)[]]>([
    ['no frontmatter', '# Hello', [undefined, /^error: Expected the file to begin with a frontmatter/]],
    ['no end of it', '---\nname: my-skill', [undefined, /^error: Expected the file to begin with a frontmatter/]],
    ['an empty file', '', [undefined, /^error/]],
    [
      'a typing error',
      '---\nname: my-skill\ndesciption: x\n---\nx',
      [undefined, /^error: Expected a `description`.*got the keys `name`, `desciption`/],
    ],
    ['no YAML', '---\nname: [\n---\nx', [undefined, /^error: The frontmatter is not valid YAML/]],
    ['a colon in a text', '---\nname: my-skill\ndescription: Use when: always\n---\nx', ['my-skill', /^warning: .*Put quotes around/]],
    [
      'another name',
      '---\nname: other\ndescription: x\n---\nx',
      ['other', /^warning: Expected `name` to be that of the folder, "my-skill", got "other"/],
    ],
    ['capitals', '---\nname: My Skill\ndescription: x\n---\nx', ['My Skill', /^warning: Expected `name` to have at most 64 lower-case/]],
    ['a name that leads elsewhere', '---\nname: ../../x\ndescription: x\n---\nx', [undefined, /^error: Expected `name`/]],
    ['no name', '---\ndescription: x\n---\nx', ['my-skill', /^warning: Expected a `name`; the folder's is used/]],
    [
      'a description too long',
      `---\nname: my-skill\ndescription: ${'x'.repeat(1025)}\n---\nx`,
      ['my-skill', /^warning: .*1024 characters, got 1025/],
    ],
    ['no instructions', '---\nname: my-skill\ndescription: x\n---\n', ['my-skill', /^warning: Expected instructions/]],
    ['metadata that is none', '---\nname: my-skill\ndescription: x\nmetadata: [1]\n---\nx', ['my-skill', /^warning: Expected `metadata`/]],
    [
      'fields of other programs, CRLF, a byte order mark',
      '\uFEFF---\r\nname: my-skill\r\ndescription: x\r\nversion: 2\r\n---\r\nx',
      ['my-skill'],
    ],
  ])('%s', async (_what, file, expected) => {
    const found = await problemsOf(file)
    expect(found).toHaveLength(expected.length)
    for (const [at, one] of expected.entries()) {
      if (one instanceof RegExp) expect(found[at]).toMatch(one)
      else expect(found[at]).toBe(one)
    }
  })

  it.each<[string, string, string]>([
    ['a colon', 'description: Use when: always', 'Use when: always'],
    [
      'a colon over several lines',
      'description: Use when: the user\n  asks: about PDFs\n  Note: not for images',
      'Use when: the user asks: about PDFs Note: not for images',
    ],
    [
      'lines that are not indented',
      'description: Use when\nthe user says: go\nNote: only: then',
      'Use when the user says: go Note: only: then',
    ],
    ['quotes at its start', 'description: "PDF" files: read them', '"PDF" files: read them'],
    ['quotes at both ends', 'description: "PDF" files and "forms"', '"PDF" files and "forms"'],
    ['an apostrophe in quotes', "description: 'It's for PDFs'", "It's for PDFs"],
    ['quotes that never end', 'description: "Reads PDFs', '"Reads PDFs'],
    ['a bracket', 'description: [Beta] Reads PDFs', '[Beta] Reads PDFs'],
    ['brackets around all of it', 'description: [Reads PDFs, forms]', '[Reads PDFs, forms]'],
    ['a brace', 'description: {name} is replaced', '{name} is replaced'],
    ['a star', 'description: *Important* Reads PDFs', '*Important* Reads PDFs'],
    ['two stars', 'description: **Important**: reads PDFs', '**Important**: reads PDFs'],
    ['an at sign', 'description: @file reads PDFs', '@file reads PDFs'],
    ['a backtick', 'description: `pdftk` reads PDFs', '`pdftk` reads PDFs'],
    ['a percent sign', 'description: %s is replaced', '%s is replaced'],
    ['a dash', 'description: - reads PDFs', '- reads PDFs'],
    ['a tag that ends nowhere', 'description: !<x reads PDFs', '!<x reads PDFs'],
    ['a block that is not indented', 'description: >\nUse when: always\nand then', 'Use when: always and then'],
    ['a tab', 'description: Use when:\n\talways', 'Use when: always'],
    ['CRLF', 'description: Use when: it\r\n  rains: a lot', 'Use when: it rains: a lot'],
    ['the same field twice', 'description: one\ndescription: two', 'one'],
  ])('E2.10 include a description with %s, which is still read', async (_what, frontmatter, description) => {
    const folder = await tempFolder({
      'my-skill/SKILL.md': `---\nname: my-skill\n${frontmatter}\nlicense: MIT\nmetadata:\n  author: me\n---\nx`,
    })
    const { skill, problems } = await loadSkill(join(folder, 'my-skill'), 'configured')
    expect(skill).toMatchObject({ name: 'my-skill', description, license: 'MIT', metadata: { author: 'me' } })
    expect(problems).toMatchObject([{ severity: 'warning', message: expect.stringContaining('Put quotes around') }])
  })

  it('E2.10 do not prevent reading nested fields as written, with lists as lists', async () => {
    const yaml = 'description: Use: it\nmetadata:\n  author: *me*: you\n  version: 1.0\nallowed-tools: [Read, Bash]\nname: "my-skill"'
    const folder = await tempFolder({ 'my-skill/SKILL.md': `---\n${yaml}\n---\nx` })
    const { skill } = await loadSkill(join(folder, 'my-skill'), 'configured')
    expect(skill).toMatchObject({ name: 'my-skill', metadata: { author: '*me*: you', version: '1.0' }, allowedTools: ['Read', 'Bash'] })
  })

  it('E2.10 do not make aliases resolve in what is not YAML', async () => {
    const yaml = 'description: Use: *a\nname: my-skill\nlicense: *a\nbomb: &a [x]\n__proto__: { polluted: true }'
    const folder = await tempFolder({ 'my-skill/SKILL.md': `---\n${yaml}\n---\nx` })
    const { skill } = await loadSkill(join(folder, 'my-skill'), 'configured')
    expect(skill).toMatchObject({ description: 'Use: *a', license: '*a' })
    expect('polluted' in {}).toBe(false)
  })

  it.each<[string, object | string, RegExp]>([
    ['no list', { tool: 1 }, /Expected the file to hold `tools`/],
    ['no YAML', '{', /not valid YAML/],
    [
      'a script that is not there',
      { tools: [{ description: 'x', script: 'scripts/b.js' }] },
      /tools\[0\]: Expected `script` to be a file of the Skill.*scripts\/a\.js.*got "scripts\/b\.js"/,
    ],
    ['a bad name', { tools: [{ name: 'a b', description: 'x', script: 'scripts/a.js' }] }, /tools\[0\]: Expected a tool's `name`/],
    [
      'a bad schema',
      { tools: [{ description: 'x', script: 'scripts/a.js', parameters: { type: 'object', properties: { a: { type: 'word' } } } }] },
      /tools\[0\].*type/,
    ],
    [
      'an unknown key',
      { tools: [{ description: 'x', script: 'scripts/a.js', parameter: {} }] },
      /Expected only the keys .*got `parameter`/,
    ],
    ['an unknown runtime', { tools: [{ description: 'x', script: 'scripts/a.js', runtime: 'ruby' }] }, /`runtime`/],
    ['names without flags', { tools: [{ description: 'x', script: 'scripts/a.js', positional: ['a'] }] }, /`positional`/],
  ])('in its tools: %s', async (_what, content, expected) => {
    const found = await problemsOf('---\nname: my-skill\ndescription: x\nmetadata: { toolloop-tools: tools.yaml }\n---\nx', {
      'my-skill/scripts/a.js': '',
      'my-skill/tools.yaml': typeof content === 'string' ? content : JSON.stringify(content),
    })
    expect(found[0]).toBe('my-skill')
    expect(found[1]).toMatch(expected)
    expect(found).toHaveLength(2)
  })

  it('include tools that are outside of the Skill or missing', async () => {
    const file = (path: string) => `---\nname: my-skill\ndescription: x\nmetadata: { toolloop-tools: ${path} }\n---\nx`
    expect(await problemsOf(file('nope.yaml'))).toMatchObject(['my-skill', /`metadata.toolloop-tools` to name a file of the Skill/])
    expect(await problemsOf(file('../other.yaml'), { 'other.yaml': 'tools: []' })).toMatchObject(['my-skill', /outside/])
  })
})

describe.skipIf(!isolation.available)(`scripts of Skills as processes${isolation.available ? '' : ` — SKIPPED: ${isolation.why}`}`, () => {
  it('run with arguments, input and the Skill’s own files; failures say why', async () => {
    const tools = await dispatcher(await skillFolders(csvTools))
    const run = (script: string, args: string[], stdin?: string) =>
      tools.dispatch('run_skill_script', { skill: 'csv-tools', script, args, ...(stdin === undefined ? {} : { stdin }) })
    expect(await run('scripts/total.py', ['--column', 'price', 'assets/sample.csv'])).toEqual({
      success: true,
      result: '{"total": 7.0, "pretty": false}',
    })
    expect(await run('scripts/total.py', ['--column', 'colour', 'assets/sample.csv'])).toEqual({
      success: false,
      error: 'The script ended with exit code 1: no column colour; there are item, price',
    })
    expect(await run('scripts/shout.sh', ['a b', '$HOME'], 'hello\n')).toEqual({ success: true, result: 'a b $HOME hello!' })
    expect(await run('scripts/node-info.js', ['x', '--y'])).toEqual({ success: true, result: 'node-info.js x --y' })
    expect(await run('scripts/nope.py', [])).toMatchObject({ success: false, error: /does not exist.*scripts\/total.py/ })
    expect(await run('assets/sample.csv', [])).toMatchObject({ success: false, error: /Expected a script in JavaScript/ })
  })

  it('can be declared with typed arguments: as flags, or as JSON', async () => {
    const folder = await skillFolders(csvTools, {
      'csv-tools/tools.yaml': `tools:
  - name: total
    description: Sums a column.
    script: scripts/total.py
    pass: flags
    positional: [file]
    parameters: { type: object, properties: { file: { type: string }, column: { type: string }, pretty: { type: boolean } }, required: [file, column] }
  - name: echo
    description: Gives back what it is given.
    script: scripts/echo.py
`,
      'csv-tools/scripts/echo.py': 'import json, sys\nprint(json.load(sys.stdin), len(sys.argv))\n',
    })
    const file = csvTools['csv-tools/SKILL.md']?.replace('metadata:', 'metadata:\n  toolloop-tools: tools.yaml') ?? ''
    await writeFile(join(folder, 'csv-tools/SKILL.md'), file)
    const tools = await dispatcher(folder)
    expect(await tools.dispatch('total', { column: 'price', pretty: true, file: 'assets/sample.csv' })).toEqual({
      success: true,
      result: '{"total": 7.0, "pretty": true}',
    })
    expect(await tools.dispatch('echo', {})).toEqual({ success: true, result: '{} 1' })
    expect(await tools.dispatch('total', { column: 'price' })).toMatchObject({ success: false, error: /`file`/ })
  })

  it('see a workspace, read-only by default', async () => {
    const [folder, workspace] = [await skillFolders(csvTools), await tempFolder({ 'mine.csv': 'item,price\na,40\n' })]
    await chmod(workspace, 0o777)
    const write = 'import os\nprint(os.getcwd())\nopen("out.txt", "w").write("written")\n'
    await writeFile(join(folder, 'csv-tools/scripts/write.py'), write)
    await using reading = new SkillsSandboxExecutor({ workspace })
    const tools = await dispatcher(folder, { sandbox: reading })
    const run = (script: string, args: string[]) => tools.dispatch('run_skill_script', { skill: 'csv-tools', script, args })
    expect(await run('scripts/total.py', ['--column', 'price', 'mine.csv'])).toMatchObject({ result: /40/ })
    expect(await run('scripts/write.py', [])).toMatchObject({ success: false, error: /Read-only file system/ })
    await using writing = new SkillsSandboxExecutor({ workspace, workspaceWritable: true })
    const others = await dispatcher(folder, { sandbox: writing })
    expect(await others.dispatch('run_skill_script', { skill: 'csv-tools', script: 'scripts/write.py' })).toEqual({
      success: true,
      result: '/workspace',
    })
  })
})

it('are refused if processes can’t be isolated, with advice; or run unprotected if that is allowed', async () => {
  // A machine without bubblewrap: its PATH has none. The check is cached per process, so this is another process.
  const odd = {
    'csv-tools/scripts/endless.cjs': 'for (;;);',
    // A process it leaves behind has its own group, and holds its pipes.
    'csv-tools/scripts/leaves.cjs': `
      require('node:child_process').spawn('/bin/sleep', ['30'], { detached: true, stdio: 'inherit' }).unref()
      console.log('has left')`,
  }
  const folder = await skillFolders(csvTools, odd)
  const source = new URL('../../../src/tools/skills/index.ts', import.meta.url).href
  const script = `
    import { loadSkills } from ${JSON.stringify(source)}
    for (const allowUnsandboxed of [false, true]) {
      for (const [name, timeoutMs] of [['node-info.js', 20_000], ['endless.cjs', 300], ['leaves.cjs', 20_000]]) {
        const sandbox = { allowUnsandboxed, limits: { timeoutMs } }
        const skills = await loadSkills({ paths: [${JSON.stringify(folder)}], project: false, user: false, sandbox })
        const run = skills.get('run_skill_script')
        const signal = new AbortController().signal
        const path = process.env.PATH
        process.env.PATH = '/nowhere'
        const args = { skill: 'csv-tools', script: 'scripts/' + name, args: ['x'] }
        console.log(await run.execute(args, { signal }).catch((error) => error.code + ' ' + error.message))
        process.env.PATH = path
        await skills.close()
      }
    }`
  const { execFile } = await import('node:child_process')
  const { promisify } = await import('node:util')
  const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '-e', script])
  const [refused, again, , ran, stopped, left] = stdout.trim().split('\n')
  expect(refused).toMatch(/^tool_denied The script was not run: .*install bubblewrap.*allowUnsandboxed: true/)
  expect(again).toBe(refused)
  expect(ran).toBe('node-info.js x')
  expect(stopped).toBe('tool_timeout The script ran longer than 300 ms and was stopped.')
  expect(left).toBe('has left')
})

it('may be named `skill.md`, with a warning', async () => {
  const folder = await tempFolder({ 'low/skill.md': '---\nname: low\ndescription: d\n---\nx' })
  const { skills, problems } = await load(folder)
  expect(skills.map(({ name }) => name)).toEqual(['low'])
  expect(problems).toMatchObject([{ severity: 'warning', message: /rename it/ }])
})

it('a Skill that this process may not read is reported as a problem', async () => {
  const folder = await skillFolders(geometry)
  await cp(join(folder, 'geometry'), join(folder, 'copy'), { recursive: true })
  await writeFile(join(folder, 'copy/SKILL.md'), Buffer.alloc(1_048_577))
  const skills = await load(folder)
  expect(skills.skills.map(({ name }) => name)).toEqual(['geometry'])
  expect(skills.problems).toMatchObject([{ severity: 'error', message: /at most 1048576 bytes/ }])
})
