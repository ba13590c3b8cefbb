import { signal } from '@preact/signals'
import type { Item } from '../data/pending-items.ts'

/** The properties by which items can be filtered and grouped. */
export type Trait = 'tool' | 'agent' | 'user'

export const traits: readonly Trait[] = ['tool', 'agent', 'user']

export interface Arrangement {
  /** The wanted value of each property. `''` for any value. */
  only: Readonly<Record<Trait, string>>
  groupBy: Trait | ''
}

/** Kept while other views are shown. */
export const arrangement = signal<Arrangement>({ only: { tool: '', agent: '', user: '' }, groupBy: '' })

/** The agent is that of the run, followed by the nested agents. */
export function traitOf({ tool, model, agents, owner }: Item, trait: Trait): string {
  return trait === 'tool' ? tool : trait === 'user' ? owner : [model, ...agents].join(' › ')
}

/** The values that items have, each with its number of items, in alphabetical order. */
export function valuesOf(items: readonly Item[], trait: Trait): [value: string, count: number][] {
  const counts = new Map<string, number>()
  for (const item of items) counts.set(traitOf(item, trait), (counts.get(traitOf(item, trait)) ?? 0) + 1)
  return [...counts].sort(([a], [b]) => (a < b ? -1 : 1))
}

export function isWanted(item: Item, { only }: Pick<Arrangement, 'only'>): boolean {
  return traits.every((trait) => only[trait] === '' || traitOf(item, trait) === only[trait])
}

/** The groups in the order of their first member. If nothing is grouped, there is one group without a name. */
export function groupsOf<Member extends { item: Item }>(
  members: readonly Member[],
  { groupBy }: Pick<Arrangement, 'groupBy'>,
): [name: string, members: Member[]][] {
  return groupBy === '' ? [['', [...members]]] : [...Map.groupBy(members, ({ item }) => traitOf(item, groupBy))]
}
