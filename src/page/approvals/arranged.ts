import { signal } from '@preact/signals'
import type { Item } from '../data/pending-items.ts'

/** The properties by which pending decisions can be filtered and grouped. */
export type Trait = 'tool' | 'agent' | 'user'

export const traits: readonly Trait[] = ['tool', 'agent', 'user']

export interface Arrangement {
  /** For each property, the value that a decision must have. `''` means any value. */
  only: Readonly<Record<Trait, string>>
  groupBy: Trait | ''
}

/** Kept while other views are shown. */
export const arrangement = signal<Arrangement>({ only: { tool: '', agent: '', user: '' }, groupBy: '' })

/** Returns a property of a pending decision. For `agent`, this is the path from the run's model to the nested agent. */
export function traitOf({ tool, model, agents, owner }: Item, trait: Trait): string {
  return trait === 'tool' ? tool : trait === 'user' ? owner : [model, ...agents].join(' › ')
}

/** Returns the values of a property in alphabetical order, each with the number of items that have it. */
export function valuesOf(items: readonly Item[], trait: Trait): [value: string, count: number][] {
  const counts = new Map<string, number>()
  for (const item of items) counts.set(traitOf(item, trait), (counts.get(traitOf(item, trait)) ?? 0) + 1)
  return [...counts].sort(([a], [b]) => (a < b ? -1 : 1))
}

export function isWanted(item: Item, { only }: Pick<Arrangement, 'only'>): boolean {
  return traits.every((trait) => only[trait] === '' || traitOf(item, trait) === only[trait])
}

/** Returns the groups in the order in which they first appear. Without grouping, returns one group without a name. */
export function groupsOf<Member extends { item: Item }>(
  members: readonly Member[],
  { groupBy }: Pick<Arrangement, 'groupBy'>,
): [name: string, members: Member[]][] {
  return groupBy === '' ? [['', [...members]]] : [...Map.groupBy(members, ({ item }) => traitOf(item, groupBy))]
}
