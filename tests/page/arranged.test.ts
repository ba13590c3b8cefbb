import { expect, it } from 'vitest'

// The page has its own types: those of a browser.
const { groupsOf, isWanted, valuesOf } = await import(new URL('../../src/page/approvals/arranged.ts', import.meta.url).href)
const { itemsOf } = await import(new URL('../../src/page/data/pending-items.ts', import.meta.url).href)

interface Item {
  runId: string
}

const waiting = (id: string, { tool = 'pay', owner = 'ann', path = [] as { agent: string; toolCallId: string }[] } = {}) => ({
  ...{ id, status: 'waiting', kind: 'run', model: 'shop', owner, input: '', createdAt: '2026-11-26T12:00:00Z' },
  pending: [{ kind: 'approval', toolCallId: 'c', tool, args: {}, fingerprint: id, path }],
})
const items: Item[] = [
  waiting('1'),
  waiting('2', { tool: 'send', owner: 'ben' }),
  waiting('3', { path: [{ agent: 'billing', toolCallId: 'o' }] }),
  waiting('4', { owner: 'ben' }),
].flatMap(itemsOf)
const only = { tool: '', agent: '', user: '' }
const idsOf = (members: { item: Item }[]) => members.map(({ item }) => item.runId)

it('valuesOf counts tools, users, and agents with those nested in them', () => {
  expect(valuesOf(items, 'tool')).toEqual([
    ['pay', 3],
    ['send', 1],
  ])
  expect(valuesOf(items, 'user')).toEqual([
    ['ann', 2],
    ['ben', 2],
  ])
  expect(valuesOf(items, 'agent')).toEqual([
    ['shop', 3],
    ['shop › billing', 1],
  ])
})

it('isWanted and groupsOf filter and group pending items, in their order', () => {
  const decisions = items.map((item) => ({ item }))
  expect(idsOf(decisions.filter(({ item }) => isWanted(item, { only: { ...only, tool: 'pay', user: 'ben' } })))).toEqual(['4'])
  const groups = groupsOf(decisions, { groupBy: 'agent' })
  expect(groups.map(([name, members]: [string, { item: Item }[]]) => [name, idsOf(members)])).toEqual([
    ['shop', ['1', '2', '4']],
    ['shop › billing', ['3']],
  ])
  expect(groupsOf(decisions, { groupBy: '' }).map(([name, { length }]: [string, unknown[]]) => [name, length])).toEqual([['', 4]])
})
