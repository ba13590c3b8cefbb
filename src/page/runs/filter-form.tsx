import type { Ref } from 'preact'
import { useState } from 'preact/hooks'
import { useLive } from '../ui/live-context.ts'
import { type Filters, filterBy, filters, typingMs } from './filters.ts'

type Options = readonly (readonly [value: string, words: string])[]

const states: Options = [
  ['', 'Any state'],
  ['status=running', 'Running'],
  ['status=waiting', 'Waiting'],
  ['process=gone', 'Process gone'],
  ['stopReason=answered', 'Answered'],
  ['stopReason=truncated', 'Answer cut off'],
  ['stopReason=model_error', 'Model error'],
  ['stopReason=max_iterations', 'Iteration limit'],
  ['stopReason=budget', 'Budget used up'],
  ['stopReason=deadline', 'Out of time'],
  ['stopReason=repeated_calls', 'Repeated itself'],
  ['stopReason=refused', 'Refused'],
  ['stopReason=aborted', 'Cancelled'],
]
const hours: Options = [
  ['', 'Any time'],
  ['1', 'Last hour'],
  ['24', 'Last day'],
  ['168', 'Last week'],
]
const costs: Options = [
  ['', 'Any cost'],
  ['0.01', '$0.01 or more'],
  ['0.1', '$0.10 or more'],
  ['1', '$1 or more'],
]

/** The search field, with further filters that can be collapsed. */
export function FilterForm({ searchRef }: { searchRef: Ref<HTMLInputElement> }) {
  const { q, ...others } = filters.value
  const active = Object.values(others).filter((value) => value !== '').length
  const [wasActive] = useState(active > 0)
  return (
    <search class="run-filters">
      <label class="visually-hidden" for="run-search">
        Search runs
      </label>
      <input
        ref={searchRef}
        id="run-search"
        type="search"
        autocomplete="off"
        spellcheck={false}
        placeholder="Text, id, tool:name, user:name"
        value={q}
        onInput={(event) => filterBy({ q: event.currentTarget.value }, typingMs)}
      />
      <details class="filters" open={wasActive}>
        <summary class="raw-summary">
          Filters{' '}
          <span class="badge accent" hidden={active === 0}>
            {active}
          </span>
        </summary>
        <div class="filter-fields">
          <Choice name="state" label="State" options={states} />
          <ModelChoice />
          <Choice name="hours" label="Started" options={hours} />
          <Choice name="cost" label="Cost" options={costs} />
        </div>
      </details>
    </search>
  )
}

function ModelChoice() {
  const names = (useLive().state?.models ?? []).map(({ name }) => name)
  // The selected model stays in the list, even if it is no longer configured.
  const all = new Set([...names, filters.value.model].filter((name) => name !== ''))
  return <Choice name="model" label="Model" options={[['', 'Any model'], ...[...all].map((name) => [name, modelWords(name)] as const)]} />
}

function Choice({ name, label, options }: { name: keyof Filters; label: string; options: Options }) {
  return (
    <select aria-label={label} value={filters.value[name]} onChange={(event) => filterBy({ [name]: event.currentTarget.value })}>
      {options.map(([value, words]) => (
        <option key={value} value={value}>
          {words}
        </option>
      ))}
    </select>
  )
}

export function modelWords(name: string): string {
  return name === 'toolloop' ? 'current model' : name
}
