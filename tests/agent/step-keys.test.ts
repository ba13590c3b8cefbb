import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import * as keys from '../../src/agent/step-keys.ts'

const src = join(import.meta.dirname, '../../src')

/** What a key looks like where one is made by hand, and how one is taken apart by hand. */
const made =
  /\$\{[\w.]*iteration\}\.|[`'"](?:\d+|\$\{[^}]*\})\.(?:model|answer|tool|approve|approver|round|steer|wait|pause|budget|compact)\b/
const read = /(?:key|place|step|name)\b[^;\n]*\.split\('\.'|parseInt\([^)]*(?:key|place|step|waits)\b/i
const suffix = /\$\{[^}]*\}\.(?:decision|asked|made|done|again|left|uncertain|cancelled|paid|further)\b/

describe('step keys', () => {
  // The contract suites of `src/testing` give a journal keys of their own; the other folders have nothing to do with runs.
  const files = readdirSync(src, { recursive: true, encoding: 'utf8' })
    .map((name) => name.replaceAll('\\', '/'))
    .filter((name) => /\.tsx?$/.test(name) && !/^(?:testing|tools|dialects|models|service\/(?:page|responses)|cli\/terminal)\//.test(name))

  it.each([
    ['`1.model`', made, `durable.step(\`\${iteration}.model\`, work)`],
    ['another number', made, `\`\${place.iteration}.budget\${suffix}\``],
    ['a literal', made, "step('1.tool.0', work)"],
    ['a suffix', suffix, `\`\${item.place}.asked\``],
    ['a number read', read, "Number.parseInt(paused.pending[0]?.place ?? '', 10)"],
    ['parts read', read, "const [first, second] = key.split('.')"],
  ])('the patterns find %s', (_, pattern, line) => expect(line).toMatch(pattern))

  it('are built and parsed only in `step-keys.ts`', () => {
    const found = files.flatMap((name) =>
      readFileSync(join(src, name), 'utf8')
        .split('\n')
        .filter((line) => !/^\s*(?:\/?\*|\/\/)/.test(line) && [made, read, suffix].some((pattern) => pattern.test(line)))
        .map((line) => `${name}: ${line.trim()}`),
    )
    expect(found.filter((line) => !line.startsWith('agent/step-keys.ts'))).toEqual([])
    expect(found).not.toEqual([])
  })

  it('are stored, and never change', () => {
    expect([
      [keys.sessionStep, keys.traceStep, keys.startStep, keys.endStep, keys.unreadStep],
      [keys.turnStep(3, false), keys.turnStep(3, true), keys.turnStep(3, false, keys.afterOverflow)],
      [keys.afterRaise('', 1), keys.afterRaise('', 2), keys.afterRaise('.2', 3)],
      [keys.compactStep(3, { isAnswer: false, isFurther: false }), keys.compactStep(3, { isAnswer: true, isFurther: true })],
      [keys.budgetPlace(3, '', 1), keys.budgetPlace(3, '.2', 2)],
      [keys.roundStep(3, 1), keys.roundStep(3, 2), keys.roundStep(3, 'again')],
      [keys.iterationStep(3, 'steer'), keys.iterationStep(3, 'stop'), keys.iterationStep(3, 'approver')],
      [keys.approveStep(3, 1, 1), keys.approveStep(3, 1, 2)],
      [keys.planStep('3.tool.1', 1), keys.planStep('3.tool.1', 2)],
      [keys.callStep(3, 1), keys.cancelledStep(3, 1), keys.decisionPlace(3, 1, 1), keys.decisionPlace(3, 1, 2)],
      [keys.askedStep('3.tool.1.decision'), keys.madeStep('3.budget'), keys.doneStep('3.tool.1.decision')],
      [keys.uncertainPlace('3.tool.1'), keys.againStep('3.tool.1'), keys.leftStep('3.tool.1')],
      [keys.placeWithin('3.tool.1.decision', '2.tool.0.decision'), keys.callName('run', 3, 1)],
    ]).toEqual([
      ['session', 'trace', 'start', 'end', 'unread'],
      ['3.model', '3.answer', '3.model.2'],
      ['', '.paid.2', '.2.paid.3'],
      ['3.compact', '3.compact-answer.further'],
      ['3.budget', '3.budget.2.2'],
      ['3.round', '3.round.2', '3.round.again'],
      ['3.steer', '3.stop', '3.approver'],
      ['3.approve.1', '3.approve.1.2'],
      ['3.tool.1.plan', '3.tool.1.plan.2'],
      ['3.tool.1', '3.tool.1.cancelled', '3.tool.1.decision', '3.tool.1.decision.2'],
      ['3.tool.1.decision.asked', '3.budget.made', '3.tool.1.decision.done'],
      ['3.tool.1.uncertain', '3.tool.1.again', '3.tool.1.left'],
      ['3.tool.1.decision/2.tool.0.decision', 'run/3.tool.1'],
    ])
  })

  it('are parsed as they were built', () => {
    const place = keys.decisionPlace(12, 3, 2)
    expect([keys.iterationOf(place), keys.iterationOf(keys.endStep), keys.iterationOf(undefined)]).toEqual([12, Number.NaN, Number.NaN])
    expect(keys.callNameOf('run', keys.doneStep(place))).toBe(keys.callName('run', 12, 3))
    expect(keys.stepOfRecord('a/run', `${keys.callName('a/run', 12, 3)}/1f`)).toBe(keys.callStep(12, 3))
    const turns = [keys.turnStep(2, false), keys.turnStep(2, true, keys.afterRaise(keys.afterOverflow, 2))]
    expect([...turns, keys.callStep(2, 0), keys.startStep].map(keys.isTurn)).toEqual([true, true, false, false])
  })

  it('are in the order in which a run reaches them', () => {
    const [place, next] = [keys.decisionPlace(2, 1, 1), keys.decisionPlace(2, 1, 2)]
    const first = [
      keys.turnStep(2, false),
      keys.turnStep(2, false, keys.afterRaise('', 1)),
      keys.turnStep(2, false, keys.afterRaise('', 2)),
    ]
    const overflown = [keys.turnStep(2, false, keys.afterOverflow), keys.turnStep(2, false, keys.afterRaise(keys.afterOverflow, 1))]
    const calls = [keys.callStep(2, 0), keys.callStep(2, 1), keys.callStep(2, 10)]
    const decided = [place, keys.placeWithin(place, keys.decisionPlace(1, 0, 1)), keys.doneStep(place), next, keys.doneStep(next)]
    const inOrder = [
      keys.callStep(1, 0),
      ...[...first, ...overflown, keys.approveStep(2, 1, 1)],
      ...[...calls.slice(0, 2), ...decided, ...calls.slice(2)],
      ...[keys.iterationStep(2, 'steer'), keys.turnStep(10, false)],
    ]
    expect(inOrder.toReversed().toSorted(keys.compareSteps)).toEqual(inOrder)
    expect(inOrder.filter(keys.isApproval)).toEqual([keys.approveStep(2, 1, 1)])
  })

  it('a run that has waited in iteration 2 repeats the steps that announce, pause and start', () => {
    const again = [keys.startStep, keys.endStep, keys.iterationStep(1, 'pause'), keys.roundStep(2, 1), keys.roundStep(2, 2)]
    const kept = [keys.sessionStep, keys.traceStep, keys.roundStep(1, 1), keys.turnStep(2, false), keys.callStep(2, 0), 'wait']
    expect(again.filter((key) => !keys.isDoneAgain(key, 2))).toEqual([])
    expect(kept.filter((key) => keys.isDoneAgain(key, 2))).toEqual([])
  })
})
