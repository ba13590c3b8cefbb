import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Json } from '../../src/core/messages.ts'
import type { MockReply } from '../../src/testing/mock/reply.ts'
import { builtinTools } from '../../src/tools/builtin/index.ts'
import { ToolDispatcher } from '../../src/tools/dispatcher.ts'
import { loadSkills, type Skills } from '../../src/tools/skills/index.ts'
import { defineTool } from '../../src/tools/tool.ts'
import { type Mode, nativeModes } from './modes.ts'
import { recordingLogger } from './recording-logger.ts'
import { resultTexts, type Stage, stage } from './stage.ts'
import { call } from './tools.ts'
import { failOnUnhandledRejections } from './unhandled.ts'

failOnUnhandledRejections()

const mode = nativeModes.find(({ wire, streaming }) => wire === 'chat-completions' && streaming) as Mode

/** A Skill with this name whose only tool is this script, which accepts anything. */
const skill = (name: string, body: string, more: object = {}): Record<string, string> => ({
  [`${name}/SKILL.md`]: `---\nname: ${name}\ndescription: ${name}\nmetadata: { toolloop-tools: tools.json }\n---\nx`,
  [`${name}/tools.json`]: JSON.stringify({ tools: [{ description: name, script: 's.mjs', parameters: { type: 'object' }, ...more }] }),
  [`${name}/s.mjs`]: `export default async (args, host) => { ${body} }`,
})

/** What a script returns, and the text for the model. */
const values: Record<string, [string, string | RegExp]> = {
  undefined: ['return undefined', 'The script printed nothing.'],
  null: ['return null', 'null'],
  zero: ['return -0', '0'],
  nan: ['return NaN', 'null'],
  empty: ['return ""', /\S/],
  date: ['return new Date(0)', '1970-01-01T00:00:00.000Z'],
  map: ['return new Map([[1, 2]])', '{}'],
  bigint: ['return 1n', /BigInt/],
  circle: ['const a = {}; a.a = a; return a', /circular/i],
  surrogate: ['return "\\ud800x"', /^.x$/u],
  buffer: ['return new Uint8Array([1, 2])', '{"0":1,"1":2}'],
  error: ['return new Error("x")', '{}'],
  getter: ['return { get a() { throw new Error("got") } }', /got/],
  printed: ['console.log("said", { a: 1 })', 'said {"a":1}'],
}
const thrown: Record<string, [string, RegExp]> = {
  text: ['throw "just words"', /^just words$/],
  undefined: ['throw undefined', /^The script failed without saying why\.$/],
  object: ['throw { a: 1 }', /^\{"a":1\}$/],
  rejected: ['return Promise.reject()', /^The script failed without saying why\.$/],
  error: ['throw new RangeError("too far")', /^RangeError: too far$/],
}

const ready = Promise.withResolvers<void>()
const files: Record<string, string> = {
  ...skill('args', 'return Object.entries(args).map(([key, value]) => key + "=" + value).concat(typeof {}.polluted)'),
  ...skill('area', 'return args.radius', {
    parameters: { type: 'object', properties: { radius: { type: 'number' } }, required: ['radius'] },
  }),
  ...skill('big', 'return "x".repeat(900_000)'),
  ...skill('huge', 'return "x".repeat(20_000_000)'),
  ...skill('slow', 'for (;;);', { timeoutMs: 120 }),
  ...skill('deaf', 'await host.call("ready"); for (;;);', { calls: ['ready'] }),
  ...Object.assign({}, ...Object.entries(values).map(([name, [body]]) => skill(`value-${name}`, body))),
  ...Object.assign({}, ...Object.entries(thrown).map(([name, [body]]) => skill(`throws-${name}`, body))),
  'notes.txt': 'x'.repeat(200_000),
}

let folder = ''
let skills: Skills
let tools: ToolDispatcher
const { logger, records } = recordingLogger()

/** One turn with these calls, and its answer. */
async function callAll(calls: ReturnType<typeof call>[], options: { signal?: AbortSignal } = {}) {
  await using on = await open([{ toolCalls: calls }, 'done'])
  return await on.run('go', options)
}

function open(script: MockReply[]): Promise<Stage> {
  return stage(mode, script, { tools, maxIterations: 3 })
}

describe('tools of every source', () => {
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'toolloop-sources-'))
    for (const [name, content] of Object.entries(files)) {
      await mkdir(join(folder, name, '..'), { recursive: true })
      await writeFile(join(folder, name), content)
    }
    const tell = defineTool({ name: 'ready', description: 'r', execute: () => ready.resolve() })
    const sandbox = { threads: 2, limits: { outputBytes: 1_048_576, memoryBytes: 256 << 20 } }
    skills = await loadSkills({ paths: [folder], project: false, user: false, hostTools: [tell], sandbox })
    expect(skills.problems).toEqual([])
    tools = new ToolDispatcher(
      [
        { kind: 'skill', tools: skills },
        { kind: 'builtin', tools: builtinTools({ workspace: folder }) },
      ],
      { logger },
    )
    await tools.dispatch('args')
  })
  afterAll(async () => {
    await skills.close()
    await rm(folder, { recursive: true, force: true })
  })

  it('H13 invalid arguments of a built-in tool and a Skill are refused with field, expected and received', async () => {
    const result = await callAll([
      call('area', { radius: 'wide' }),
      call('area', {}),
      call('calculate', { expression: 7 }),
      call('read_file', '[]'),
    ])
    const [wide, none, number, list] = resultTexts(result)
    expect(wide).toMatch(/tool `area`: `radius`: expected number, got string "wide"/)
    expect(none).toMatch(/missing required `radius`/)
    expect(number).toMatch(/tool `calculate`: `expression`: expected string, got number 7/)
    expect(list).toMatch(/Expected one JSON object/)
    for (const text of resultTexts(result)) expect(text).not.toMatch(/\.ts|\.mjs|\bat \//)
    expect(result.toolCalls.every(({ outcome }) => outcome === 'rejected')).toBe(true)
  })

  it('H14 __proto__ and constructor are data on their way into a script, and no names of tools', async () => {
    const result = await callAll([
      call('args', '{"__proto__": "p", "constructor": "c", "polluted": "no"}'),
      call('__proto__'),
      call('constructor'),
      call('activate_skill', { name: '__proto__' }),
      call('run_skill_script', { skill: 'args', script: '__proto__' }),
    ])
    const [args, proto, maker, activate, script] = resultTexts(result)
    expect(JSON.parse(args ?? '')).toEqual(['__proto__=p', 'constructor=c', 'polluted=no', 'undefined'])
    expect(proto).toMatch(/^Tool not found: __proto__\. Available tools: list_files, /)
    expect(maker).toMatch(/^Tool not found: constructor\./)
    expect(activate).toMatch(/`name`/)
    expect(script).toMatch(/does not exist in the Skill args/)
    expect(Reflect.get({}, 'polluted')).toBeUndefined()
  })

  it('H19 duplicate names in one source are refused or left out and reported; in two sources the earlier one is used', async () => {
    const twin = () => defineTool({ name: 'twin', description: 't', execute: () => 1 })
    expect(() => new ToolDispatcher([{ kind: 'builtin', tools: [twin(), twin()] }])).toThrow('Expected tool names to be unique')
    const two = await mkdtemp(join(folder, '..', 'toolloop-twins-'))
    try {
      for (const [name, content] of Object.entries({
        ...skill('one', 'return 1', { name: 'twin' }),
        ...skill('two', 'return 2', { name: 'twin' }),
      })) {
        await mkdir(join(two, name, '..'), { recursive: true })
        await writeFile(join(two, name), content)
      }
      await using twins = await loadSkills({ paths: [two], project: false, user: false })
      expect(twins.problems).toMatchObject([{ severity: 'error', message: 'A second tool named `twin`; it was left out' }])
      const log = recordingLogger()
      const both = new ToolDispatcher(
        [
          { kind: 'skill', tools: twins },
          { kind: 'builtin', tools: [twin()] },
        ],
        { logger: log.logger },
      )
      expect(both.names().filter((name) => name === 'twin')).toHaveLength(1)
      expect(both.sourceOf('twin')).toBe('builtin')
      expect(log.records).toHaveLength(1)
    } finally {
      await rm(two, { recursive: true, force: true })
    }
  })

  it('H20 what the provider has run itself is not run, whatever source has a tool of that name', async () => {
    const chunk = (delta: Record<string, Json>, finish: string | null) => ({
      id: 'x',
      object: 'chat.completion.chunk',
      created: 1,
      model: 'mock',
      choices: [{ index: 0, delta, finish_reason: finish }],
    })
    const executed = ['fetch_url', 'args'].map((name, index) => ({ index, type: 'search', name, arguments: '{}', output: 'done there' }))
    await using on = await open([
      { events: [chunk({ content: 'Found.', executed_tools: executed }, null), chunk({}, 'stop'), 'data: [DONE]\n\n'] },
    ])
    expect(await on.run()).toMatchObject({ stopReason: 'answered', output: 'Found.', toolCalls: [] })
  })

  it('H21 whatever a script returns: a stable, useful text, and the run continues', async () => {
    const names = Object.keys(values)
    const result = await callAll(names.map((name) => call(`value-${name}`)))
    expect(result).toMatchObject({ stopReason: 'answered', output: 'done' })
    const texts = resultTexts(result)
    for (const [at, name] of names.entries()) {
      const expected = values[name]?.[1] ?? ''
      if (typeof expected === 'string') expect(texts[at], name).toBe(expected)
      else expect(texts[at], name).toMatch(expected)
      expect(texts[at]?.isWellFormed(), name).toBe(true)
    }
    expect(resultTexts(await callAll(names.map((name) => call(`value-${name}`))))).toEqual(texts)
  })

  it('H22 a large result of a script or a file is cut, an enormous one refused at its source', async () => {
    const before = process.memoryUsage().arrayBuffers
    const result = await callAll([call('big'), call('huge'), call('read_file', { path: 'notes.txt', maxBytes: 1_000_000 })])
    const [big = '', huge, notes = ''] = resultTexts(result)
    for (const text of [big, notes]) {
      expect(text.length).toBeLessThan(66_000)
      expect(text).toMatch(/bytes cut here/)
    }
    expect(huge).toMatch(/The script returned 20000002 characters of JSON; at most 1048576 are allowed/)
    expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(20 << 20)
  })

  it('H23 whatever a script throws: a message for the model, siblings run, the run continues', async () => {
    const names = Object.keys(thrown)
    const result = await callAll([...names.map((name) => call(`throws-${name}`)), call('calculate', { expression: '1' })])
    const texts = resultTexts(result)
    for (const [at, name] of names.entries()) expect(texts[at], name).toMatch(thrown[name]?.[1] ?? /never/)
    expect(result.toolCalls.map(({ outcome }) => outcome)).toEqual([...names.map(() => 'failed'), 'ok'])
    expect(result.stopReason).toBe('answered')
  })

  it('H28 a timed-out script: a timeout result, the loop continues, and so does the next script', async () => {
    const result = await callAll([call('slow'), call('args', { a: 1 })])
    expect(resultTexts(result)).toEqual(['Tool `slow` timed out after 120 ms. It may have taken effect.', '["a=1","undefined"]'])
    expect(result).toMatchObject({ stopReason: 'answered', toolCalls: [{ outcome: 'timeout' }, { outcome: 'ok' }] })
    expect(await tools.dispatch('args', { b: 2 })).toEqual({ success: true, result: ['b=2', 'undefined'] })
  })

  it('H29 H30 a script that ignores its signal: an abort settles the run, and its thread is ended', async () => {
    const controller = new AbortController()
    await using on = await open([{ toolCalls: [call('deaf'), call('calculate', { expression: '2' })] }, 'never asked'])
    const running = on.run('go', { signal: controller.signal })
    await ready.promise
    controller.abort()
    const result = await running
    expect(result).toMatchObject({ stopReason: 'aborted', toolCalls: [{ outcome: 'cancelled' }, { outcome: 'ok' }] })
    // Both threads are free again.
    const both = await Promise.all([tools.dispatch('args'), tools.dispatch('args')])
    expect(both.map(({ success }) => success)).toEqual([true, true])
  })

  it('no source has logged a warning', () => expect(records.filter(({ message }) => message !== 'tool call failed')).toEqual([]))
})
