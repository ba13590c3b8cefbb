import { afterAll, describe, expect, it } from 'vitest'
import { ToolDispatcher } from '../../../src/tools/dispatcher.ts'
import { SkillsSandboxExecutor } from '../../../src/tools/sandbox/executor.ts'
import type { HostCall } from '../../../src/tools/sandbox/sandbox.ts'
import { loadSkills } from '../../../src/tools/skills/index.ts'
import { tempFolder } from '../../cli/temp-folder.ts'
import { longestStall } from './longest-stall.ts'

const signal = new AbortController().signal
const mebibyteOfArrays = '[[],'.concat('[],'.repeat(349_000), '[]]')
const rows = Array.from({ length: 40_000 }, (_, id) => ({ id, name: `name ${id}`, tags: ['a', 'b'] }))

/** Calls the host many times at once with the same arguments. Reports how many succeeded, and the errors of the others. */
const callMany = (args: string, times: number) => `export default async (given, host) => {
  const args = ${args}
  const all = await Promise.allSettled(Array.from({ length: ${times} }, () => host.call('tool', args)))
  return [all.filter(({ status }) => status === 'fulfilled').length, [...new Set(all.flatMap(({ reason }) => reason?.message ?? []))].join(' ')]
}`

const tooMany = 'The arguments of a call may hold at most 10000 values, nested 512 levels deep.'
const tooMuch = 'The arguments of all calls may have at most 4194304 characters of JSON.'

describe('texts of the VM do not block others', () => {
  const executor = new SkillsSandboxExecutor({ threads: 2, limits: { timeoutMs: 15_000 } })
  afterAll(() => executor.close())

  it.each<[string, string, unknown, HostCall?]>([
    ['a result of 1 MiB and very many values', `export default () => JSON.parse('${mebibyteOfArrays}')`, JSON.parse(mebibyteOfArrays)],
    [
      'an object of very many entries',
      'export default () => Object.fromEntries(Array.from({ length: 70000 }, (_, n) => ["k" + n, n]))',
      undefined,
    ],
    ['a call with very many values', callMany(`JSON.parse('{"a":${mebibyteOfArrays}}')`, 3), [0, tooMany]],
    ['many calls with long texts', callMany('{ text: "x".repeat(1_000_000) }', 20), [4, tooMuch]],
    ['many calls with many values', callMany('{ list: Array.from({ length: 9000 }, () => []) }', 40), [40, '']],
    ['large answers', callMany('{}', 3), [3, ''], async () => rows],
  ])('%s', async (_what, source, value, call = async () => 1) => {
    const folder = await tempFolder({ 'a.mjs': source, 'warm.mjs': 'export default (args, host) => host.call("x")' })
    await executor.run({ folder, script: 'warm.mjs', args: [], signal, call: async () => 1 })
    let stallMs = Number.POSITIVE_INFINITY
    // Garbage collection for other tests may also block the process, but not every time.
    for (let attempt = 1; attempt <= 3 && stallMs >= 100; attempt++) {
      const attacked = await longestStall(() => executor.run({ folder, script: 'a.mjs', args: [], signal, call }))
      if (value !== undefined) expect(JSON.stringify(attacked.value.value) === JSON.stringify(value)).toBe(true)
      stallMs = attacked.stallMs
    }
    expect(stallMs).toBeLessThan(100)
  })

  it('nor does the text of such a result for a model', async () => {
    const folder = await tempFolder({
      'big/SKILL.md': '---\nname: big\ndescription: d\nmetadata: { toolloop-tools: tools.yaml }\n---\nx',
      'big/tools.yaml': 'tools: [{ name: arrays, description: d, script: arrays.mjs }]',
      'big/arrays.mjs': `export default () => JSON.parse('${mebibyteOfArrays}')`,
    })
    await using skills = await loadSkills({ paths: [folder], project: false, user: false, sandbox: executor })
    const dispatcher = new ToolDispatcher([{ kind: 'skill', tools: skills }])
    let stallMs = Number.POSITIVE_INFINITY
    for (let attempt = 1; attempt <= 3 && stallMs >= 100; attempt++) {
      const dispatched = await longestStall(() => dispatcher.dispatch('arrays'))
      expect(dispatched.value.success).toBe(true)
      stallMs = dispatched.stallMs
    }
    expect(stallMs).toBeLessThan(100)
  })
})
