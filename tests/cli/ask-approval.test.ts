import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { createApprove } from '../../src/cli/terminal/ask-approval.ts'
import { Terminal } from '../../src/cli/terminal/terminal.ts'
import type { JsonObject } from '../../src/core/messages.ts'
import { fakeIO } from './fake-io.ts'

/** Has a call decided on by these answers, and returns the decision with everything that was on the screen and what was asked. */
async function decide(args: JsonObject, answers: string[], { columns = 80, rows = 24 } = {}) {
  const io = fakeIO({ tty: true, env: { NO_COLOR: '1' } })
  Object.assign(io.stderr, { columns, rows })
  const asked: string[] = []
  const approve = createApprove(new Terminal(io), false, async (question) => {
    asked.push(question)
    return answers.shift() ?? ''
  })
  const request = { toolCallId: 'c', tool: 'send', args, runId: 'r', context: undefined, signal: new AbortController().signal }
  return { decision: await approve?.(request), asked, screen: io.err() }
}

/** What a screen says of a call's arguments, read back. */
function read({ screen, asked }: { screen: string; asked: string[] }): unknown {
  const [, short = ''] = /^run send (\{.*\})\? \[y\/N\/always, or why not\] $/.exec(asked.at(-1) ?? '') ?? []
  const json = short === '' ? screen.replace(/^send is called with:\n/, '').replaceAll('\n', '') : short
  return JSON.parse(json.replace(/‹U\+(\w+)›/g, (_mark, code) => String.fromCodePoint(Number.parseInt(code, 16))))
}

describe('a call that is to be approved on a terminal', () => {
  it('is shown to the last character, whatever its arguments are', async () => {
    const text = fc.string({
      unit: fc.oneof(fc.constantFrom('\u202e', '\u200b', '\x7f', '\x9b', '\u2028', 'א', '❤️', '👩‍💻', '好', '"', '\\'), fc.string()),
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
        const shown = await decide(wanted, Array(10_000).fill('y'), size)
        expect(shown.decision).toBe(true)
        expect(read(shown)).toEqual(wanted)
        // Nothing on the screen is unseen, but what emoji are made of.
        expect(`${shown.screen}${shown.asked.join('')}`.replace(/\p{RGI_Emoji}/gv, '').replaceAll('\n', '')).not.toMatch(
          /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}]/u,
        )
      }),
      { numRuns: 100 },
    )
  })

  it('has its secrets shown: nobody can approve what is hidden', async () => {
    const { asked } = await decide({ token: 'sk-abcdefghijklmnopqrstuvwxyz', password: 'p' }, ['y'], { columns: 120 })
    expect(asked).toEqual(['run send {"token":"sk-abcdefghijklmnopqrstuvwxyz","password":"p"}? [y/N/always, or why not] '])
  })

  it('has a page for each screen, and a yes counts behind the last alone', async () => {
    const args = { lines: Array.from({ length: 60 }, (_, at) => at) }
    const more = (left: number) => `${left} more lines of arguments: Enter shows them, or why not: `
    const approved = await decide(args, ['y', '', 'yes', 'y'])
    expect(approved.decision).toBe(true)
    expect(approved.asked).toEqual([more(43), more(22), more(1).replace('lines', 'line'), 'run send? [y/N/always, or why not] '])
    expect((await decide(args, ['', '', '', ''])).decision).toEqual({ approved: false })
    const refused = await decide(args, ['', 'not all of these'])
    expect(refused.decision).toEqual({ approved: false, reason: 'not all of these' })
    expect(refused.screen).not.toContain('59')
  })

  it('has one value a line where letters run from right to left: they would change the order of what is beside them', async () => {
    const { screen } = await decide({ amounts: ['א', 12, 34] }, ['y'])
    expect(screen).toContain('\n    "א",\n    12,\n    34\n')
  })

  it('shows numbers as they are, where JSON has no word for them', async () => {
    expect((await decide({ a: Number.POSITIVE_INFINITY, b: -0 }, ['y'])).asked[0]).toContain('{"a":"‹Infinity›","b":"‹-0›"}')
  })

  it('and all further calls of that tool are, once somebody says always; not those of others', async () => {
    const asked: string[] = []
    const answers = ['always', 'no']
    const approve = createApprove(new Terminal(fakeIO({ tty: true })), false, async (question) => {
      asked.push(question)
      return answers.shift() ?? ''
    })
    const { signal } = new AbortController()
    const call = (tool: string) => approve?.({ toolCallId: 'c', tool, args: {}, runId: 'r', context: undefined, signal })
    expect([await call('send'), await call('send'), await call('wipe')]).toEqual([true, true, { approved: false }])
    expect(asked).toHaveLength(2)
  })
})
