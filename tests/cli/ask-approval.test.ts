import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { createApprove } from '../../src/cli/terminal/approvals/ask-approval.ts'
import type { Asker } from '../../src/cli/terminal/approvals/asker.ts'
import { Terminal } from '../../src/cli/terminal/terminal.ts'
import type { Json, JsonObject } from '../../src/core/messages.ts'
import { type AnyTool, defineTool } from '../../src/tools/tool.ts'
import { fakeIO } from './fake-io.ts'

/** A person who gives these answers in turn, or the same one to every question; Enter for an answer that is not offered. */
function askerOf(asked: string[], answers: string[] | string, tools: AnyTool[] = []): Asker {
  const ask = async (question: string) => {
    asked.push(question)
    return typeof answers === 'string' ? answers : (answers.shift() ?? '')
  }
  const choose: Asker['choose'] = async (question, choices, _signal, onEnter) => {
    const answer = await ask(question)
    return Object.keys(choices).find((key): key is keyof typeof choices & string => key === answer) ?? onEnter ?? 'n'
  }
  return { tools, ask, choose, lend: (work) => work() }
}

interface Size {
  columns?: number
  rows?: number
  about?: Json
}

/** Has a call decided with these answers. Returns the decision, everything on the screen, and the questions. */
async function decide(args: JsonObject, answers: string[] | string, { columns = 80, rows = 24, about }: Size = {}) {
  const io = fakeIO({ tty: true, env: { NO_COLOR: '1' } })
  Object.assign(io.stderr, { columns, rows })
  const asked: string[] = []
  const approve = createApprove(new Terminal(io), false, askerOf(asked, answers))
  const request = {
    toolCallId: 'c',
    tool: 'send',
    args,
    ...(about !== undefined && { about }),
    runId: 'r',
    context: undefined,
    signal: new AbortController().signal,
  }
  return { decision: await approve?.(request), asked, screen: io.err() }
}

/** The arguments of a call, parsed from the screen. */
function read({ screen, asked }: { screen: string; asked: string[] }): unknown {
  const [, short = ''] = /^run send (\{.*\})\?$/.exec(asked.at(-1) ?? '') ?? []
  const json =
    short === ''
      ? joined(
          screen
            .replace(/^send is called\s+with:\n/, '')
            .replace(/\n$/, '')
            .split('\n'),
        )
      : seen(short)
  return JSON.parse(json)
}

const seen = (text: string) => text.replace(/‹U\+(\w+)›/g, (_mark, code) => String.fromCodePoint(Number.parseInt(code, 16)))

/** JSON of the rows: lines of a text are behind bars. */
function joined(rows: readonly string[]): string {
  let json = ''
  // The meaning of a mark is only clear once its rows are joined.
  let plain = ''
  let block: string[] | undefined
  for (const [at, row] of [...rows, undefined].entries()) {
    if (row?.startsWith('│')) block = [...(block ?? []), row.slice(1)]
    else if (row?.startsWith('┊') && block !== undefined) block = [...block.slice(0, -1), `${block.at(-1)}${row.slice(1)}`]
    else {
      if (block !== undefined) {
        const lines = block.map((line) => line.split('⇥   ').map(seen).join('\t'))
        json += `${seen(plain.replace(/‹\d+ lines›$/, ''))}${JSON.stringify(lines.join('\n'))}`
        plain = /^\s*[\]}]/.test(rows.slice(at).join('')) ? '' : ','
        block = undefined
      }
      plain += row ?? ''
    }
  }
  return json + seen(plain)
}

it('a call that a script makes is shown with the line that makes it', async () => {
  const io = fakeIO({ tty: true, env: { NO_COLOR: '1' } })
  const approve = createApprove(new Terminal(io), false, askerOf([], ['y']))
  const script = { line: 3, code: 'await tools.send({})\u001b[2J' }
  const request = { toolCallId: 'c', tool: 'send', args: {}, runId: 'r', context: undefined, script, signal: new AbortController().signal }
  expect(await approve?.(request)).toBe(true)
  expect(io.err()).toContain('line 3 of the script: await tools.send({})‹U+001B›[2J')
})

describe('createApprove on a terminal', () => {
  it('shows a call to the last character, whatever its arguments', async () => {
    const text = fc.string({
      unit: fc.oneof(
        fc.constantFrom('\n', '\t', '│', '┊', '⇥', '\u202e', '\u200b', '\x7f', '\x9b', '\u2028', 'א', '❤️', '👩‍💻', '好', '"', '\\'),
        fc.string(),
      ),
    })
    const value = fc.letrec((tie) => ({
      any: fc.oneof(
        { maxDepth: 4 },
        text,
        fc.integer(),
        fc.boolean(),
        fc.constant(null),
        fc.array(tie('any')),
        fc.dictionary(text, tie('any')),
      ),
    })).any
    const sizes = fc.record({ columns: fc.integer({ min: 1, max: 120 }), rows: fc.integer({ min: 1, max: 50 }) })
    await fc.assert(
      fc.asyncProperty(fc.dictionary(text, value), sizes, async (args, size) => {
        const wanted = JSON.parse(JSON.stringify(args))
        const shown = await decide(wanted, 'y', size)
        expect(shown.decision).toBe(true)
        expect(read(shown)).toEqual(wanted)
        // Everything on the screen is visible, except the parts of emoji.
        expect(`${shown.screen}${shown.asked.join('')}`.replace(/\p{RGI_Emoji}/gv, '').replaceAll('\n', '')).not.toMatch(
          /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}]/u,
        )
      }),
      { numRuns: 25 },
    )
  })

  it('shows secrets, because nobody can approve what is hidden', async () => {
    const { asked } = await decide({ token: 'sk-abcdefghijklmnopqrstuvwxyz', password: 'p' }, ['y'], { columns: 140 })
    expect(asked).toEqual(['run send {"token":"sk-abcdefghijklmnopqrstuvwxyz","password":"p"}?'])
  })

  it('shows page after page, and only accepts a yes after the last one', async () => {
    const args = { lines: Array.from({ length: 60 }, (_, at) => at) }
    const more = (left: number) => `${left} more lines of arguments:`
    const approved = await decide(args, ['y', '', 'm', 'y'])
    expect(approved.decision).toBe(true)
    expect(approved.asked).toEqual([more(43), more(22), more(1).replace('lines', 'line'), 'run send?'])
    expect((await decide(args, ['', '', '', ''])).decision).toEqual({ approved: false })
    expect((await decide(args, ['', 'n'])).decision).toEqual({ approved: false })
    const refused = await decide(args, ['', 'w', 'not all of these'])
    expect(refused.decision).toEqual({ approved: false, reason: 'not all of these' })
    expect(refused.screen).not.toContain('59')
  })

  it('shows one value per line if letters run from right to left, because they would reorder what is beside them', async () => {
    const { screen } = await decide({ amounts: ['א', 12, 34] }, ['y'])
    expect(screen).toContain('\n    "א",\n    12,\n    34\n')
  })

  it('shows numbers that JSON can’t represent', async () => {
    expect((await decide({ a: Number.POSITIVE_INFINITY, b: -0 }, ['y'], { columns: 100 })).asked[0]).toContain(
      '{"a":"‹Infinity›","b":"‹-0›"}',
    )
  })

  it('shows code as code', async () => {
    const { screen } = await decide({ path: 'a.ts', text: 'if (a) {\n\tb()\n}' }, ['y'])
    expect(screen).toContain('{\n  "path": "a.ts",\n  "text": ‹3 lines›\n│if (a) {\n│⇥   b()\n│}\n}\n')
  })

  it('shows replaced texts as a diff, with every line of both', async () => {
    const args = { path: 'a.ts', old_string: 'one\n\ttwo\nthree', new_string: 'one\n\tTWO\u202e\nthree' }
    const { screen, asked } = await decide(args, ['y'])
    expect(screen).toBe('send is called with:\n{\n  "path": "a.ts"\n}\n  one\n- ⇥   two\n+ ⇥   TWO‹U+202E›\n  three\n')
    expect(asked).toEqual(['run send?'])
    const long = await decide({ old_str: 'short', new_str: `${'x'.repeat(40)}┊` }, ['y'], { columns: 30 })
    expect(long.screen).toBe(`send is called with:\n- short\n+ ${'x'.repeat(26)}\n+ ┊${'x'.repeat(14)}‹U+250A›\n`)
  })

  it('shows what the tool or a rule says about a call, a change as a diff', async () => {
    const about = async (about: Json) => (await decide({ path: 'a.ts' }, ['y'], { about })).screen
    expect(await about('It costs\x1b[2J 3 €.')).toBe('It costs‹U+001B›[2J 3 €.\n')
    expect(await about({ path: 'a.ts', before: 'a\nb', after: 'a\nc' })).toBe('{\n  "path": "a.ts"\n}\n  a\n- b\n+ c\n')
    expect(await about({ rule: 7 })).toBe('{\n  "rule": 7\n}\n')
    expect(await about(['x'])).toBe('[\n  "x"\n]\n')
  })

  it('decides all further calls of a tool, and of no other, after an answer of always or never', async () => {
    const asked: string[] = []
    const approve = createApprove(new Terminal(fakeIO({ tty: true })), false, askerOf(asked, ['a', 'v', 'n']))
    const { signal } = new AbortController()
    const call = (tool: string) => approve?.({ toolCallId: 'c', tool, args: {}, runId: 'r', context: undefined, signal })
    const never = { approved: false, reason: 'The user never allows this tool here.' }
    expect([await call('send'), await call('send')]).toEqual([true, true])
    expect([await call('wipe'), await call('wipe')]).toEqual([never, never])
    expect(await call('look')).toEqual({ approved: false })
    expect(asked).toHaveLength(3)
  })

  it('runs a call with edited arguments once they are valid, and shows what was changed', async () => {
    const parameters = { type: 'object', properties: { euros: { type: 'number' } }, required: ['euros'], additionalProperties: false }
    const pay = defineTool({ name: 'pay', description: '', parameters, approval: true, execute: () => 'paid' })
    const io = fakeIO({ tty: true, env: { NO_COLOR: '1' } })
    const asked: string[] = []
    const answers = ['e', '{"euros": "many"}', 'not JSON', '{"euros": 20}', 'y']
    const approve = createApprove(new Terminal(io), false, askerOf(asked, answers, [pay]))
    const { signal } = new AbortController()
    const request = { toolCallId: 'c', tool: 'pay', args: { euros: 250 }, runId: 'r', context: undefined, signal }
    expect(await approve?.(request)).toEqual({ approved: true, args: { euros: 20 } })
    expect(io.err()).toContain('-   "euros": 250\n+   "euros": 20\n')
    expect(io.err()).toContain('that is not JSON')
    expect(io.err()).toMatch(/euros.*number/)
    expect(asked.at(-1)).toMatch(/^run pay \{"euros":20\}\?/)
  })

  it('edits arguments in the program of EDITOR; one that fails changes nothing', async () => {
    const edited = async (EDITOR: string, answers: string[]) => {
      const io = fakeIO({ tty: true, env: { NO_COLOR: '1', EDITOR } })
      const approve = createApprove(new Terminal(io), false, askerOf([], answers))
      const { signal } = new AbortController()
      const decision = await approve?.({ toolCallId: 'c', tool: 'pay', args: { euros: 250 }, runId: 'r', context: undefined, signal })
      return { decision, said: io.err() }
    }
    expect((await edited('sed -i s/250/20/', ['e', 'y'])).decision).toEqual({ approved: true, args: { euros: 20 } })
    const failed = await edited('false', ['e', 'n'])
    expect(failed.decision).toEqual({ approved: false })
    expect(failed.said).toContain('false ended with 1')
  })
})
