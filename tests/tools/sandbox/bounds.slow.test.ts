import { chmod } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { ToolDispatcher } from '../../../src/tools/dispatcher.ts'
import { SkillsSandboxExecutor } from '../../../src/tools/sandbox/executor.ts'
import { findIsolation } from '../../../src/tools/sandbox/process/isolation.ts'
import { loadSkills } from '../../../src/tools/skills/index.ts'
import { defineTool } from '../../../src/tools/tool.ts'
import { tempFolder } from '../../cli/temp-folder.ts'
import { turnEventLoop } from '../../hazards/waiting.ts'

const isolation = await findIsolation()
const signal = new AbortController().signal

describe('a script in the VM', () => {
  it('is recognized in time linear in its length', async () => {
    const padding = `${'\n'.repeat(200_000)}${'export {\n'.repeat(50_000)}`
    const folder = await tempFolder({
      'a.js': `const text = \`${padding}\`\nexport{main as default}\nfunction main() { return text.length }`,
    })
    await using executor = new SkillsSandboxExecutor({ threads: 1 })
    expect(await executor.run({ folder, script: 'a.js', args: {}, signal })).toMatchObject({ value: padding.length })
  })

  it('can neither receive nor return a text that could end the process', async () => {
    const folder = await tempFolder({
      'ask.mjs': 'export default (args, host) => host.call("long").catch(({ message }) => message)',
      'name.mjs': 'export default (args, host) => host.call("x".repeat(300)).catch(({ message }) => message)',
      'print.mjs': 'export default () => { console.log("x".repeat(5000)); console.log("y") }',
    })
    await using executor = new SkillsSandboxExecutor({ threads: 1, limits: { outputBytes: 1_000 } })
    const tooLong = 'x'.repeat(16 * 1024 * 1024)
    const call = async () => tooLong
    await expect(executor.run({ folder, script: 'ask.mjs', args: { tooLong }, signal })).rejects.toThrow(
      'The script was not run: its arguments have more than 16777216 characters of JSON, the most a script in the VM can be given.',
    )
    expect(await executor.run({ folder, script: 'ask.mjs', args: {}, signal, call })).toMatchObject({
      value: 'the result of `long` has more than 16777216 characters of JSON, the most a script in the VM can be given.',
    })
    expect(await executor.run({ folder, script: 'name.mjs', args: {}, signal, call })).toMatchObject({
      value: 'The name of a tool has at most 256 characters.',
    })
    expect(await executor.run({ folder, script: 'print.mjs', args: {}, signal })).toEqual({ stdout: `${'x'.repeat(1_000)}\n`, stderr: '' })
  })

  it('gets the complete result of which a model would see a part', async () => {
    const folder = await tempFolder({
      'big/SKILL.md': '---\nname: big\ndescription: d\nmetadata: { toolloop-tools: tools.yaml }\n---\nx',
      'big/tools.yaml': 'tools: [{ name: measure, description: d, script: measure.mjs, calls: [rows] }]',
      'big/measure.mjs': 'export default async (args, host) => (await host.call("rows")).length',
    })
    const rows = defineTool({ name: 'rows', description: 'd', execute: () => 'x'.repeat(2_000_000) })
    await using skills = await loadSkills({ paths: [folder], project: false, user: false, hostTools: [rows] })
    const dispatcher = new ToolDispatcher([{ kind: 'skill', tools: skills }])
    expect(await dispatcher.dispatch('measure')).toEqual({ success: true, result: 2_000_000 })
  })

  it('leaves nothing broken for the next one if its TypeScript crashes the parser', async () => {
    const folder = await tempFolder({
      'deep.ts': `export default () => 1\nlet x = ${'('.repeat(300_000)}`,
      'fine.ts': 'export default (args: object): number => 2',
    })
    await using executor = new SkillsSandboxExecutor({ threads: 1 })
    await expect(executor.run({ folder, script: 'deep.ts', args: {}, signal })).rejects.toThrow(`"deep.ts" can't be read as TypeScript`)
    expect(await executor.run({ folder, script: 'fine.ts', args: {}, signal })).toMatchObject({ value: 2 })
  })

  it('reads JSON unchanged', async () => {
    const folder = await tempFolder({
      'a.mjs': 'import data from "./data.json"; export default () => [Object.keys(data), data.x === undefined]',
      'data.json': '{ "__proto__": { "x": 1 } }',
    })
    await using executor = new SkillsSandboxExecutor({ threads: 1 })
    expect(await executor.run({ folder, script: 'a.mjs', args: {}, signal })).toMatchObject({ value: [['__proto__'], true] })
  })

  it('is told that the sandbox is closed while it waits, however many wait', async () => {
    const folder = await tempFolder({ 'a.mjs': 'export default (args, host) => host.call("wait")' })
    const executor = new SkillsSandboxExecutor({ threads: 1 })
    const called = Promise.withResolvers<void>()
    const call = () => {
      called.resolve()
      return new Promise<never>(() => {})
    }
    const ends = Promise.allSettled([1, 2, 3, 4].map(() => executor.run({ folder, script: 'a.mjs', args: {}, signal, call })))
    await called.promise
    await executor.close()
    expect((await ends).map(({ status }) => status)).toEqual(Array(4).fill('rejected'))
  })
})

describe.skipIf(!isolation.available)('a script in a process', () => {
  it('is not run if it can’t get its arguments, and says why', async () => {
    const folder = await tempFolder({ 'a.sh': 'echo ran' })
    await using executor = new SkillsSandboxExecutor()
    const run = (args: string[]) => executor.run({ folder, script: 'a.sh', args, signal })
    await expect(run(['a\0b'])).rejects.toThrow("The script was not run: command-line arguments can't contain NUL characters.")
    await expect(run(['x'.repeat(200_000)])).rejects.toThrow(
      'its arguments are too long for a command line; long texts can go to its standard input',
    )
  })

  it.skipIf(process.getuid?.() !== 0)('can read its folder, even one that only root can read', async () => {
    const folder = await tempFolder({ 'a.sh': 'cat "$SKILL_DIR/data/text"', 'data/text': 'read' })
    await using executor = new SkillsSandboxExecutor()
    const run = () => executor.run({ folder, script: 'a.sh', args: [], signal })
    await chmod(folder, 0o755)
    await chmod(join(folder, 'data/text'), 0o600)
    expect(await run()).toMatchObject({ stdout: 'read' })
    for (const path of ['a.sh', 'data']) await chmod(join(folder, path), 0o700)
    await chmod(folder, 0o700)
    expect(await run()).toMatchObject({ stdout: 'read' })
  })

  it.each(['#!/bin/sh -eu', '#!/usr/bin/env -S bash -e', '#!/usr/bin/sh'])(
    'without an extension runs by its first line: %s',
    async (line) => {
      const folder = await tempFolder({ run: `${line}\necho ran` })
      await using executor = new SkillsSandboxExecutor()
      expect(await executor.run({ folder, script: 'run', args: [], signal })).toMatchObject({ stdout: 'ran\n' })
    },
  )

  it('does not start in a closed or closing sandbox', async () => {
    const folder = await tempFolder({ 'a.sh': 'sleep 100' })
    const executor = new SkillsSandboxExecutor()
    const run = () => executor.run({ folder, script: 'a.sh', args: [], signal })
    const early = run()
    const refused = expect(early).rejects.toThrow('The sandbox has been closed.')
    await turnEventLoop(1)
    await executor.close()
    await refused
    await expect(run()).rejects.toThrow('The sandbox has been closed.')
  })
})

it('gets its variables unchanged, or they are refused', () => {
  expect(() => new SkillsSandboxExecutor({ env: { A: 'x\0--bind\0/\0/host' } })).toThrow('`env`')
  expect(() => new SkillsSandboxExecutor({ env: { 'A=B': 'x' } })).toThrow('`env`')
})
