import type { Item } from '../data/pending-items.ts'
import { type Arrangement, arrangement, type Trait, traits, valuesOf } from './arranged.ts'

const words: Record<Trait, string> = { tool: 'Tool', agent: 'Agent', user: 'User' }

/** Filters and groups the pending decisions. Offers only the properties in which they differ. */
export function ArrangeBar({ items }: { items: readonly Item[] }) {
  const { only, groupBy } = arrangement.value
  const change = (changed: Partial<Arrangement>) => {
    arrangement.value = { ...arrangement.value, ...changed }
  }
  const choices = traits
    .map((trait) => ({ trait, values: valuesOf(items, trait) }))
    .filter(({ trait, values }) => values.length > 1 || only[trait] !== '' || groupBy === trait)
  if (choices.length === 0) return null
  return (
    <search class="arrange-bar" aria-label="Arrange what waits">
      {choices.map(({ trait, values }) => (
        <select
          key={trait}
          aria-label={words[trait]}
          value={only[trait]}
          onChange={({ currentTarget }) => change({ only: { ...only, [trait]: currentTarget.value } })}
        >
          <option value="">{`Any ${trait}`}</option>
          {values.map(([value, count]) => (
            <option key={value} value={value}>
              {`${value} (${count})`}
            </option>
          ))}
          {/* The chosen value stays in the list, even if no item has this value any more. */}
          {only[trait] !== '' && values.every(([value]) => value !== only[trait]) && (
            <option value={only[trait]}>{`${only[trait]} (0)`}</option>
          )}
        </select>
      ))}
      <select
        aria-label="Group by"
        value={groupBy}
        onChange={({ currentTarget }) => change({ groupBy: currentTarget.value as Trait | '' })}
      >
        <option value="">Not grouped</option>
        {choices.map(({ trait }) => (
          <option key={trait} value={trait}>
            {`Grouped by ${trait}`}
          </option>
        ))}
      </select>
    </search>
  )
}
