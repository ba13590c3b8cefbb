import { chmod, mkdir, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { listFiles } from '../../../src/tools/skills/discover.ts'
import { loadSkill } from '../../../src/tools/skills/index.ts'
import { toCommandLine } from '../../../src/tools/skills/script-tools.ts'
import { tempFolder } from '../../cli/temp-folder.ts'
import { longestStall } from '../sandbox/longest-stall.ts'

const plain = '---\nname: my-skill\ndescription: d\n---\nx'
const load = async (files: Record<string, string>, name = 'my-skill') =>
  loadSkill(
    join(await tempFolder(Object.fromEntries(Object.entries(files).map(([path, text]) => [`${name}/${path}`, text]))), name),
    'project',
  )

// Skills of a project are read before they are trusted, so none may keep the process busy.
describe('an untrusted Skill does not block its reader', () => {
  it.each<[string, string]>([
    ['with as many keys as fit', Array.from({ length: 100_000 }, (_, at) => `k${at}:`).join('\n')],
    ['with a quote at each character', '"'.repeat(500_000)],
    ['with aliases of aliases', `a: &a [${'x,'.repeat(9)}]\nb: &b [${'*a,'.repeat(99)}]\nc: [${'*b,'.repeat(99)}]`],
    ['with very many spaces where the YAML is wrong', `description: ${' '.repeat(1_000_000)}\nb: [`],
    ['nested without end', `a: ${'['.repeat(500_000)}`],
  ])('%s', async (_what, yaml) => {
    const { skill, problems } = await load({ 'SKILL.md': `---\n${yaml}\n---\nx` })
    expect(skill).toBeUndefined()
    expect(problems).toMatchObject([{ severity: 'error', message: /at most 16384 characters|not valid YAML/ }])
  })

  it('with a file of tools of any length', async () => {
    const frontmatter = '---\nname: my-skill\ndescription: d\nmetadata: { toolloop-tools: tools.yaml }\n---\nx'
    const { skill, problems } = await load({ 'SKILL.md': frontmatter, 'tools.yaml': '"'.repeat(65_537) })
    expect(skill?.tools).toEqual([])
    expect(problems).toMatchObject([{ severity: 'error', message: /at most 65536 bytes, got 65537/ }])
  })

  it.each<[string, string, object | undefined]>([
    [
      'schema that would take long to compile',
      'The JSON Schema of its parameters is too large',
      {
        $defs: { a: { properties: Object.fromEntries(Array.from({ length: 1_000 }, (_, at) => [`p${at}`, {}])) } },
        allOf: Array(1_800).fill({ $ref: '#/$defs/a' }),
      },
    ],
    ['text that would take long to read', 'not valid YAML', undefined],
  ])('with tools whose %s', async (_what, words, more) => {
    const frontmatter = '---\nname: my-skill\ndescription: d\nmetadata: { toolloop-tools: tools.yaml }\n---\nx'
    const entry = { description: 'd', script: 'a.sh', parameters: { type: 'object', ...more } }
    const tools = more === undefined ? `a: [${'!x a,'.repeat(12_000)}\n` : JSON.stringify({ tools: [entry] })
    let least = Number.POSITIVE_INFINITY
    // Code that runs for the first time is slower.
    for (let tries = 0; tries < 4 && least >= 200; tries++) {
      const { value, stallMs } = await longestStall(() => load({ 'SKILL.md': frontmatter, 'tools.yaml': tools, 'a.sh': '' }))
      expect(value.skill?.tools).toEqual([])
      expect(value.problems.map(({ message }) => message).join()).toMatch(new RegExp(words, 'i'))
      least = Math.min(least, stallMs)
    }
    expect(least).toBeLessThan(200)
  })

  it('with circular links', async () => {
    const folder = await tempFolder({ 'SKILL.md': plain, 'b/inside.txt': 'x' })
    await mkdir(join(folder, 'a'))
    for (let at = 0; at < 100; at++) await symlink('.', join(folder, 'a', `l${at}`))
    await symlink('b', join(folder, 'c'))
    expect(await listFiles(folder)).toEqual(['b/inside.txt', 'c/inside.txt'])
  })
})

it('does not list files outside of a Skill, even if a link leads to them', async () => {
  const elsewhere = await tempFolder({ 'secret.txt': 'x' })
  const folder = await tempFolder({ 'SKILL.md': plain, 'own.txt': 'x' })
  await symlink(elsewhere, join(folder, 'out'))
  await symlink(join(elsewhere, 'secret.txt'), join(folder, 'file.txt'))
  await symlink('own.txt', join(folder, 'again.txt'))
  expect(await listFiles(folder)).toEqual(['again.txt', 'own.txt'])
})

it('does not name a Skill after a folder whose name can’t be written in a text', async () => {
  const { skill, problems } = await load({ 'SKILL.md': '---\ndescription: d\n---\nx' }, 'a"><b')
  expect(skill).toBeUndefined()
  expect(problems).toMatchObject([
    {
      severity: 'error',
      message: `Expected a \`name\` with at most 64 lower-case letters, digits and single hyphens, not at its ends, got none; the folder's, "a\\"><b", can't be used`,
    },
  ])
})

it('compares a name with that of its folder in any Unicode normalization', async () => {
  const { problems } = await load({ 'SKILL.md': '---\nname: café\ndescription: d\n---\nx' }, 'cafe\u0301')
  expect(problems).toEqual([])
})

it.skipIf(process.getuid?.() === 0)('reports a folder that can’t be read as a problem', async () => {
  const folder = await tempFolder({ 'SKILL.md': plain })
  await chmod(folder, 0o111)
  expect(await loadSkill(folder, 'configured')).toMatchObject({ problems: [{ severity: 'error', message: /EACCES/ }] })
  await chmod(folder, 0o755)
  await writeFile(join(folder, 'SKILL.md'), plain)
})

it('H14 ignores arguments that every object inherits', () => {
  expect(toCommandLine({ a: 1 }, ['constructor', 'a'])).toEqual(['1'])
})
