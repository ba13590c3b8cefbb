import type { Signal } from '@preact/signals'
import { useState } from 'preact/hooks'
import type { Query } from '../shell/address.ts'
import { Menu } from '../ui/controls/menu.tsx'
import { storedSignal } from '../ui/controls/stored.ts'
import { Icon } from '../ui/icon.tsx'
import { useNewId } from '../ui/new-id.ts'
import { listQuery, runsHref } from './addresses.ts'

interface SavedView {
  name: string
  query: Query
}

const mostViews = 50

/** The built-in views. */
const common: readonly SavedView[] = [
  { name: 'All runs', query: {} },
  { name: 'Waiting, longest first', query: { status: 'waiting', sort: '-waited' } },
  { name: 'Model errors of the last day', query: { stopReason: 'model_error', hours: '24' } },
  { name: 'Most expensive', query: { sort: '-cost' } },
  { name: 'Slowest', query: { sort: '-worked' } },
]

const saved: Signal<readonly SavedView[]> = storedSignal('views', (value) =>
  Array.isArray(value) ? value.filter(isView).slice(0, mostViews) : [],
)

function isView(value: unknown): value is SavedView {
  const { name, query } = (value ?? {}) as Partial<SavedView>
  return (
    typeof name === 'string' && typeof query === 'object' && query !== null && Object.values(query).every((one) => typeof one === 'string')
  )
}

/**
 * A menu of saved views of the list, which consist of filters and an order. The user can save the current view under a name, in this
 * browser.
 */
export function ViewMenu() {
  return (
    <Menu words="Views">
      <ul class="menu-list">
        {common.map(({ name, query }) => (
          <li key={name}>
            <a class="menu-link" href={runsHref(query)}>
              {name}
            </a>
          </li>
        ))}
      </ul>
      {saved.value.length > 0 && (
        <ul class="menu-list" aria-label="Saved views">
          {saved.value.map(({ name, query }) => (
            <li key={name} class="menu-row">
              <a class="menu-link" href={runsHref(query)}>
                {name}
              </a>
              <button type="button" class="quiet icon-button" aria-label={`Delete the view ${name}`} onClick={() => forget(name)}>
                <Icon name="cross" />
              </button>
            </li>
          ))}
        </ul>
      )}
      <SaveForm />
    </Menu>
  )
}

function SaveForm() {
  const [name, setName] = useState('')
  const id = useNewId()
  const save = (event: Event) => {
    event.preventDefault()
    const words = name.trim()
    if (words === '') return
    const { page: _, ...query } = listQuery.value
    saved.value = [...saved.value.filter((view) => view.name !== words), { name: words, query }].slice(-mostViews)
    setName('')
  }
  return (
    <form class="menu-form" onSubmit={save}>
      <label for={id}>Save this view as</label>
      <div class="input-row">
        <input
          id={id}
          type="text"
          autocomplete="off"
          maxLength={60}
          value={name}
          onInput={({ currentTarget }) => setName(currentTarget.value)}
        />
        <button type="submit">Save</button>
      </div>
    </form>
  )
}

function forget(name: string): void {
  saved.value = saved.value.filter((view) => view.name !== name)
}
