import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { AgentRunner } from '../../src/agent/agent-runner.ts'
import { keptId } from '../../src/agent/journal/kept-values.ts'
import { readPart, searchText } from '../../src/agent/large-results/read-text.ts'
import { asTool } from '../../src/agent/sub-agents/sub-agent.ts'
import type { RunnerOptions, RunResult } from '../../src/agent/types/options.ts'
import { Event } from '../../src/core/events.ts'
import { type ChatMessage, type ContentPart, textOf } from '../../src/core/messages.ts'
import { memorySessions } from '../../src/sessions/memory.ts'
import { MemoryRuns, memoryJournal } from '../../src/testing/memory-journal.ts'
import type { ScriptedTurn } from '../../src/testing/script.ts'
import { scriptedModel } from '../../src/testing/scripted-model.ts'
import { defineTool } from '../../src/tools/tool.ts'
import { recordingLogger } from '../hazards/recording-logger.ts'
import { call } from '../hazards/tools.ts'

/** 5 MB in 50,000 lines, one of which is looked for. */
const log = Array.from(
  { length: 50_000 },
  (_, n) => `${String(n + 1).padStart(6, '0')} ${n === 31_233 ? 'NEEDLE'.padEnd(93, '.') : 'x'.repeat(93)}`,
).join('\n')

const readLog = defineTool({ name: 'read_log', description: 'Reads the log.', effect: 'read', execute: () => log })
const approve = defineTool({ name: 'approve', description: 'Waits.', approval: true, execute: () => 'approved' })
/** The ids that the model has been given, starting with `0`. */
const idsIn = (messages: readonly ChatMessage[]) =>
  messages.flatMap(({ content }) => [...textOf(content).matchAll(/by its id "([^"]+)" …/g)].map(([, id = '']) => id))
type Turn = ScriptedTurn | ((ids: readonly string[]) => ScriptedTurn)
const read =
  (args: object, which = 0): Turn =>
  (ids) => ({ toolCalls: [call('read_result', { id: ids[which] ?? 'none', ...args })] })
const askLog: ScriptedTurn = { toolCalls: [{ id: 'log', name: 'read_log' }] }

/** Answers by how many calls have been made. */
function runnerOf(turns: readonly Turn[], options: Partial<RunnerOptions> = {}) {
  const model = scriptedModel(({ messages }) => {
    const turn = turns[messages.filter(({ role }) => role === 'assistant').length]
    return typeof turn === 'function' ? turn(idsIn(messages)) : (turn ?? 'done')
  })
  const runner = new AgentRunner({
    model,
    tools: [readLog, approve],
    logger: recordingLogger().logger,
    largeResults: true,
    maxIterations: 10,
    ...options,
  })
  return { runner, model }
}

const told = ({ toolCalls }: RunResult) => toolCalls.map(({ content }) => textOf(content))
const stored = <T>(value: T): T => JSON.parse(JSON.stringify(value))
const approved = ({ pending }: RunResult) => pending.map((item) => ({ ...item, approved: true as const }))

describe('a result of 5 MB', () => {
  it('shows its beginning, and can be read by line, by character, and by search', async () => {
    const { runner } = runnerOf([askLog, read({ search: 'needle' }), read({ line: 31_234, lines: 1 }), read({ offset: log.length - 10 })])
    const ends: string[] = []
    runner.on(Event.TOOL_CALL_END, ({ result }) => ends.push(result))
    const result = await runner.run('go')
    const [head = '', found, line, end] = told(result)
    expect(head).toBe(
      `${log.slice(0, 8_192)}\n\n(… Shortened: these are the first 8192 of ${log.length} characters. The whole result is kept: read_result reads it by its id "${keptId(log)}" …)`,
    )
    const at = log.indexOf('NEEDLE')
    expect(found).toContain(`Found "needle" once from character 0 on:\n\nLine 31234, character ${at}:\n`)
    expect(found).toContain('031234 NEEDLE')
    expect(line).toContain(`Characters ${at - 7} to ${at - 7 + 101} of ${log.length}, from line 31234 of 50000 on:\n\n031234 NEEDLE`)
    expect(end).toContain(`\n\n${log.slice(-10)}\n\n(… the end of the result …)`)
    expect(ends).toEqual(told(result))
    expect(result.toolCalls[0]).not.toHaveProperty('value')
    expect(JSON.stringify(result).length).toBeLessThan(40_000)
  })

  it('is cut without the option, and the model does not see a tool that it can’t use', async () => {
    const { runner, model } = runnerOf([askLog], { largeResults: false })
    expect(told(await runner.run('go'))[0]).toMatch(/bytes cut here/)
    expect(model.requests[0]?.tools?.map(({ function: { name } }) => name)).toEqual(['read_log', 'approve'])
  })

  it('keeps the tools of all requests the same, so that a provider can cache them', async () => {
    const { runner, model } = runnerOf([askLog, read({ lines: 2 })])
    await runner.run('go')
    const names = model.requests.map(({ tools = [] }) => tools.map(({ function: { name } }) => name))
    expect(names).toEqual(names.map(() => ['read_log', 'approve', 'read_result']))
  })

  it('is in the state of the run after a pause', async () => {
    const { runner } = runnerOf([askLog, { toolCalls: [call('approve')] }, read({ search: 'NEEDLE' })])
    const paused = await runner.run('go')
    const result = await runnerOf([askLog, {}, read({ search: 'NEEDLE' })]).runner.resume(stored(paused.state), {
      decisions: approved(paused),
    })
    expect(told(result)[2]).toContain('Line 31234')
    const { kept: _, ...without } = stored(paused.state) ?? {}
    const gone = await runner.resume(without as never, { decisions: approved(paused), claim: () => true })
    expect(told(gone)[2]).toContain(`No result is kept under the id "${keptId(log)}"`)
    await expect(runner.resume({ ...without, kept: { [keptId(log)]: 1 } } as never)).rejects.toMatchObject({ code: 'invalid_option' })
  })

  it('is in the journal while the run waits, outside its small steps, and is removed at the end', async () => {
    const runs = new MemoryRuns()
    const script = [askLog, { toolCalls: [call('approve')] }, read({ search: 'NEEDLE' })]
    const journal = memoryJournal(runs)
    const paused = await runnerOf(script, { journal }).runner.run('go', { runId: 'run' })
    await journal.close()
    const recorded = runs.runs.get('run')
    expect(Math.max(...[...(recorded?.steps.values() ?? [])].map(({ length }) => length))).toBeLessThan(10_000)
    expect([...(recorded?.kept.values() ?? [])].map(({ name, bytes }) => [name, bytes])).toEqual([[keptId(log), log.length]])
    const result = await runnerOf(script, { journal: memoryJournal(runs) }).runner.resume('run', { decisions: approved(paused) })
    expect(told(result)[2]).toContain('Line 31234')
    expect(recorded?.kept.size).toBe(0)
  })

  it('is gone in a later run of the session, which gets an error', async () => {
    const { runner } = runnerOf([askLog, 'read' as never, read({})], { sessions: memorySessions() })
    await runner.run('go', { session: 'chat' })
    const { toolCalls } = await runner.run('go on', { session: 'chat' })
    expect(toolCalls.map(({ outcome, content }) => [outcome, content])).toEqual([
      [
        'failed',
        `No result is kept under the id "${keptId(log)}". A result is kept until its run ends: make the call again if it was another run's, or correct the id.`,
      ],
    ])
  })

  it('of a nested run is stored with the outer run: while it waits for a decision, its state stays small', async () => {
    const script = [askLog, { toolCalls: [call('approve')] }, read({ search: 'NEEDLE' })]
    const inner = runnerOf(script)
    const outer = () =>
      runnerOf([{ toolCalls: [call('ask', { task: 'x' })] }], { tools: [asTool(inner.runner, { name: 'ask', description: 'x' })] })
    const paused = await outer().runner.run('go')
    expect(JSON.stringify(paused.pending).length).toBeLessThan(40_000)
    const decisions = paused.pending.map((item) => ({ ...item, approved: true as const }))
    const result = await outer().runner.resume(stored(paused.state), { decisions })
    expect(result.stopReason).toBe('answered')
    expect(textOf(inner.model.requests.at(-1)?.messages.at(-1)?.content ?? '')).toContain('Line 31234')
  })

  it('can still be read after the conversation was compacted: the shortened result names its id', async () => {
    const again = { toolCalls: [call('read_log')] }
    const { runner, model } = runnerOf([askLog, again, again, read({ search: 'NEEDLE' })], {
      largeResults: { shownBytes: 4_000 },
      compaction: { maxTokens: 3_000 },
    })
    const result = await runner.run('go')
    const first = model.requests[3]?.messages.find(({ role }) => role === 'tool')
    expect(textOf(first?.content ?? '')).toMatch(/left out\] …[\s\S]*by its id "\w+" …\)$/)
    expect(told(result)[3]).toContain('Line 31234')
  })
})

describe('the same long result', () => {
  const pollLog = () => ({ toolCalls: [call('read_log', {})] })

  it('is stored once, however often it is returned', async () => {
    const { runner } = runnerOf([pollLog(), pollLog(), read({ lines: 1 })], { largeResults: { keptBytes: 8_000_000 } })
    const [first, second, part] = told(await runner.run('go'))
    expect([first, second === first]).toEqual([expect.stringContaining('Shortened'), true])
    expect(part).toContain('from line 1 of 50000 on')
  })

  it('of a nested run is stored once with the outer run', async () => {
    const inner = runnerOf([pollLog()])
    const ask = asTool(inner.runner, { name: 'ask', description: 'x' })
    const { runner } = runnerOf([askLog, { toolCalls: [call('ask', { task: 'x' })] }], {
      tools: [readLog, ask],
      largeResults: { keptBytes: 8_000_000 },
    })
    await runner.run('go')
    expect(textOf(inner.model.requests.at(-1)?.messages.at(-1)?.content ?? '')).toContain('Shortened')
  })

  it('does not hide that the same call is repeated', async () => {
    const { runner } = runnerOf(Array.from({ length: 9 }, pollLog), { limits: { repeatedCalls: 2 } })
    expect(await runner.run('go')).toMatchObject({ stopReason: 'repeated_calls', iterations: 4 })
  })
})

describe('a stored result', () => {
  it('is what hooks and guardrails, which see all of it, leave of it', async () => {
    const seen: number[] = []
    const { runner } = runnerOf([askLog, read({ search: 'needle' })], {
      hooks: [{ name: 'h', afterTool: ({ content }) => void seen.push(textOf(content).length) }],
      guardrails: [
        {
          name: 'g',
          result: ({ tool, content }) => (tool === 'read_log' ? { replace: textOf(content).replace('NEEDLE', '[secret]') } : undefined),
        },
      ],
    })
    const result = await runner.run('go')
    expect(seen[0]).toBe(log.length)
    expect(told(result)[1]).toContain('Not found: "needle"')
  })

  it('may come from a hook around the function', async () => {
    const short = defineTool({ name: 'short', description: 'x', execute: () => 'short' })
    const { runner } = runnerOf([{ toolCalls: [{ id: 'log', name: 'short' }] }, read({ search: 'needle' })], {
      tools: [short],
      hooks: [{ name: 'h', aroundTool: async (_call, proceed) => ((await proceed()) === 'short' ? log : undefined) }],
    })
    expect(told(await runner.run('go'))[1]).toContain('Found "needle" once')
  })

  it('may be that of a failed call, or of a tool that its caller runs', async () => {
    const broken = defineTool({ name: 'broken', description: 'x', execute: () => Promise.reject(new Error(log)) })
    const elsewhere = defineTool({ name: 'elsewhere', description: 'x' })
    const { runner } = runnerOf(
      [
        {
          toolCalls: [
            { id: 'a', name: 'broken' },
            { id: 'b', name: 'elsewhere' },
          ],
        },
        (ids) => ({ toolCalls: ids.map((id) => call('read_result', { id, line: 50_000 })) }),
      ],
      { tools: [broken, elsewhere] },
    )
    const paused = await runner.run('go')
    const result = await runner.resume(paused.state, { decisions: paused.pending.map((item) => ({ ...item, result: log })) })
    expect(result.toolCalls.map(({ outcome, content }) => [outcome, content.length < 9_000])).toEqual([
      ['failed', true],
      ['ok', true],
      ['ok', true],
      ['ok', true],
    ])
    expect(
      told(result)
        .slice(2)
        .every((text) => text.includes('050000 x')),
    ).toBe(true)
  })

  it('is the text of several parts; pictures are unchanged', async () => {
    const picture: ContentPart = { type: 'image', data: 'AAAA', mediaType: 'image/png' }
    const parts = defineTool({
      name: 'parts',
      description: 'x',
      execute: () => 1,
      toContent: () => [{ type: 'text', text: log }, picture, { type: 'text', text: 'the last words' }],
    })
    const { runner } = runnerOf([{ toolCalls: [{ id: 'log', name: 'parts' }] }, read({ search: 'the last words' })], { tools: [parts] })
    const result = await runner.run('go')
    const content = result.toolCalls[0]?.content as ContentPart[]
    expect([content.length, content[1]]).toEqual([2, picture])
    expect(told(result)[1]).toContain('Line 50001')
  })

  it('is limited by `keptBytes`: what does not fit is cut', async () => {
    const other = defineTool({ name: 'other', description: 'x', execute: () => `${log}!` })
    const { runner } = runnerOf([askLog, { toolCalls: [call('other')] }], {
      tools: [readLog, other],
      largeResults: { keptBytes: 8_000_000 },
    })
    const [first, second] = told(await runner.run('go'))
    expect([first?.includes('Shortened'), second?.includes('bytes cut here')]).toEqual([true, true])
  })

  it('is not that of a final tool, which is the run’s result', async () => {
    const { runner } = runnerOf([{ toolCalls: [call('last')] }], {
      tools: [defineTool({ name: 'last', description: 'x', final: true, execute: () => log })],
    })
    expect((await runner.run('go')).output).toMatch(/bytes cut here/)
  })

  it('is any longer than `overBytes`, and shows `shownBytes` of it', async () => {
    const short = defineTool({ name: 'short', description: 'x', execute: () => 'é'.repeat(60) })
    const { runner } = runnerOf([{ toolCalls: [{ id: 'log', name: 'short' }] }, read({}), read({ offset: 10, length: 1_000 })], {
      tools: [short],
      largeResults: { overBytes: 100, shownBytes: 21 },
    })
    const [head, part, more] = told(await runner.run('go'))
    expect(head).toMatch(/^é{10}\n\n\(… Shortened: these are the first 10 of 60 characters/)
    expect(part).toMatch(/\n\né{10}\n\n\(… 50 more characters: continue with "offset": 10 …\)$/)
    expect(more).toMatch(/\n\né{50}\n\n\(… the end of the result …\)$/)
  })
})

it.each([
  [{ largeResults: 'yes' }, 'largeResults'],
  [{ largeResults: { over: 1 } }, 'largeResults.over'],
  [{ largeResults: { overBytes: 70_000 } }, 'overBytes'],
  [{ largeResults: { overBytes: 100, shownBytes: 101 } }, 'shownBytes'],
  [{ largeResults: { keptBytes: -1 } }, 'keptBytes'],
  [{ largeResults: true, tools: [{ ...readLog, name: 'read_result' }] }, 'read_result'],
])('an invalid option is refused: %j', async (options, named) => {
  const run = async () => new AgentRunner({ model: scriptedModel([]), ...(options as object) }).run('go')
  await expect(run()).rejects.toMatchObject({ code: 'invalid_option', message: expect.stringContaining(named) })
})

describe('a text read in parts', () => {
  const texts = fc.string({ unit: fc.constantFrom('a', 'é', '🙂', '\n', '漢', 'Ab'), minLength: 1, maxLength: 200 })

  it('is the whole text if each part is followed by the one it names', () => {
    fc.assert(
      fc.property(texts, fc.integer({ min: 4, max: 50 }), fc.integer({ min: 1, max: 20 }), (text, maxBytes, length) => {
        let whole = ''
        for (let offset: number | undefined = 0; offset !== undefined; ) {
          const said: string = readPart(text, { offset, length }, maxBytes)
          const [, from, to] = /^Characters (\d+) to (\d+) of/.exec(said) ?? []
          expect([Number(from), Number(to) > offset]).toEqual([offset, true])
          const part = said.slice(said.indexOf('\n\n') + 2).slice(0, Number(to) - offset)
          expect(Buffer.byteLength(part)).toBeLessThanOrEqual(maxBytes)
          whole += part
          const more: RegExpExecArray | null = /continue with "offset": (\d+) …\)$/.exec(said)
          offset = more === null ? undefined : Number(more[1])
        }
        expect(whole).toBe(text)
      }),
    )
  })

  it('P2.9 `maxResultBytes` includes the text around a part, and the note of a shortened result', async () => {
    const text = 'é'.repeat(20_000)
    for (const maxBytes of [300, 1_000, 20_000]) {
      for (const range of [{}, { offset: 10 }, { offset: 19_990 }, { line: 1, lines: 1 }])
        expect(Buffer.byteLength(readPart(text, range, 65_536, maxBytes))).toBeLessThanOrEqual(maxBytes)
    }
    const long = defineTool({ name: 'long', description: 'x', execute: () => text })
    const shownWithin = async (bytes: number) => {
      const model = scriptedModel([{ toolCalls: [{ name: 'long', args: {} }] }, 'done'])
      const runner = new AgentRunner({ model, tools: [long], maxResultBytes: bytes, largeResults: { overBytes: bytes, shownBytes: bytes } })
      return told(await runner.run('go'))[0] ?? ''
    }
    const shown = await shownWithin(1_000)
    expect(shown).toContain('Shortened')
    expect(Buffer.byteLength(shown)).toBeLessThanOrEqual(1_000)
    // There is no room for the note that says how to read on.
    const cut = await shownWithin(60)
    expect(cut).toContain('bytes cut here')
    expect(Buffer.byteLength(cut)).toBeLessThanOrEqual(60)
  })

  it('has every match of a search, across its parts', () => {
    fc.assert(
      fc.property(texts, (text) => {
        const many = `${text}${'-'.repeat(400)}`.repeat(30)
        const found = new Set<number>()
        for (let offset: number | undefined = 0; offset !== undefined; ) {
          const said: string = searchText(many, 'ab', { offset }, 10_000)
          for (const [, at] of said.matchAll(/^Line \d+, character (\d+):$/gm)) found.add(Number(at))
          const more: RegExpExecArray | null = /continue with "offset": (\d+) …\)$/.exec(said)
          offset = more === null ? undefined : Number(more[1])
        }
        // Each shown match has its surroundings with it.
        const all = [...many.matchAll(/ab/gi)].map(({ index }) => index)
        expect(all.every((at) => [...found].some((shown) => at >= shown && at <= shown + 2 + 160))).toBe(true)
        expect([...found].every((shown) => all.includes(shown))).toBe(true)
      }),
    )
  })

  it('is searched literally; an offset beyond its end is reported', () => {
    expect(searchText('a.b (x) a*b', '(X)', {}, 100)).toBe('Found "(X)" once from character 0 on:\n\nLine 1, character 4:\na.b (x) a*b')
    expect(searchText('abc', '.', {}, 100)).toBe('Not found: ".", from character 0 to the end at 3.')
    expect(searchText('a'.repeat(5_000), 'a', {}, 100)).toContain('Found "a" more than 1000 times')
    expect(readPart('a\nb', { offset: 9 }, 100)).toBe('The result has 3 characters in 2 lines: there is nothing from character 3 on.')
    expect(readPart('a\nb', { line: 3 }, 100)).toContain('nothing from character 3 on')
  })
})
