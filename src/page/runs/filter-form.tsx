import type { ComponentChildren, Ref } from 'preact'
import { useState } from 'preact/hooks'
import { duration, ending, money } from '../data/format.ts'
import { TypedField } from '../ui/controls/typed-field.tsx'
import { useLive } from '../ui/live-context.ts'
import { useNewId } from '../ui/new-id.ts'
import { clearFilters, filterBy, filters, filterWords } from './filters.ts'

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
const durations: Options = [
  ['', 'Any duration'],
  ['1000', '1 s or more'],
  ['10000', '10 s or more'],
  ['60000', '1 min or more'],
  ['600000', '10 min or more'],
]

/** Shows the search field, a panel with further filters, and the active filters, each with a button that removes it. */
export function FilterForm({ searchRef }: { searchRef: Ref<HTMLInputElement> }) {
  const { q = '', ...others } = filters.value
  const [isOpen, setIsOpen] = useState(false)
  const id = useNewId()
  return (
    <search class="run-filters">
      <div class="filter-line">
        <label class="visually-hidden" for="run-search">
          Search runs
        </label>
        <TypedField
          inputRef={searchRef}
          id="run-search"
          type="search"
          placeholder="Text, id, tool:name, user:name"
          value={q}
          onType={(text) => filterBy({ q: text })}
        />
        <button type="button" class="menu-button" aria-expanded={isOpen} aria-controls={id} onClick={() => setIsOpen(!isOpen)}>
          Filters
        </button>
        {Object.entries(others).map(([name, value]) => (
          <Active key={name} name={name} value={value} />
        ))}
        {Object.keys(others).length > 1 && (
          <button type="button" class="link-button" onClick={clearFilters}>
            Clear all
          </button>
        )}
      </div>
      <div id={id} class="filter-fields" hidden={!isOpen}>
        {isOpen && <Fields />}
      </div>
    </search>
  )
}

function Active({ name, value }: { name: string; value: string }) {
  const words = `${filterWords(name)}: ${valueWords(name, value)}`
  return (
    <button type="button" class="chip" aria-label={`Remove the filter ${words}`} onClick={() => filterBy({ [name]: '' })}>
      <span class="chip-words">{words}</span>
      <span aria-hidden="true">×</span>
    </button>
  )
}

function valueWords(name: string, value: string): string {
  if (name === 'stopReason') return value.split(',').map(ending).join(', ')
  if (name === 'minWorkedMs') return duration(Number(value))
  if (name === 'minCostUsd') return money(Number(value))
  if (name === 'hours') return hours.find(([one]) => one === value)?.[1].toLowerCase() ?? `${value} hours`
  if (/(After|Before|after|before)$/.test(name)) return new Date(value).toLocaleString()
  return value
}

function Fields() {
  const { state } = useLive()
  const now = filters.value
  const models = (state?.models ?? []).map(({ name }) => name)
  const tools = (state?.tools ?? []).map(({ function: { name } }) => name)
  const stateNow = ['status', 'process', 'stopReason'].flatMap((name) => (now[name] === undefined ? [] : `${name}=${now[name]}`))[0] ?? ''
  const [field, value] = Object.entries(now).find(([name]) => name.startsWith('metadata.')) ?? ['', '']
  return (
    <>
      <Field label="State">
        {(id) => (
          <Choice
            id={id}
            options={states}
            value={stateNow}
            onChoose={(chosen) => {
              const [name = '', one = ''] = chosen.split('=')
              filterBy({ status: '', process: '', stopReason: '', ...(name === '' ? {} : { [name]: one }) })
            }}
          />
        )}
      </Field>
      <NameField label="Model" name="model" suggested={models} />
      <NameField label="Tool" name="tool" suggested={tools} />
      <NameField label="User" name="owner" />
      <NameField label="Session" name="session" />
      <NameField label="Error code" name="errorCode" />
      <Field label="Metadata">
        {(id) => (
          <TypedField
            id={id}
            placeholder="field=value"
            value={field === '' ? '' : `${filterWords(field)}=${value}`}
            onType={(text) => {
              const [name = '', ...rest] = text.split('=')
              const given = rest.join('=').trim()
              filterBy({ ...(field === '' ? {} : { [field]: '' }), ...(given === '' ? {} : { [`metadata.${name.trim()}`]: given }) })
            }}
          />
        )}
      </Field>
      <OptionField label="Started" name="hours" options={hours} />
      <OptionField label="Worked" name="minWorkedMs" options={durations} />
      <OptionField label="Cost" name="minCostUsd" options={costs} />
    </>
  )
}

function Field({ label, children }: { label: string; children: (id: string) => ComponentChildren }) {
  const id = useNewId()
  return (
    <div class="field">
      <label for={id}>{label}</label>
      {children(id)}
    </div>
  )
}

function NameField({ label, name, suggested = [] }: { label: string; name: string; suggested?: readonly string[] }) {
  return (
    <Field label={label}>
      {(id) => (
        <>
          <TypedField id={id} list={`${id}-list`} value={filters.value[name] ?? ''} onType={(text) => filterBy({ [name]: text.trim() })} />
          <datalist id={`${id}-list`}>
            {suggested.map((one) => (
              <option key={one} value={one} />
            ))}
          </datalist>
        </>
      )}
    </Field>
  )
}

function OptionField({ label, name, options }: { label: string; name: string; options: Options }) {
  return (
    <Field label={label}>
      {(id) => <Choice id={id} options={options} value={filters.value[name] ?? ''} onChoose={(chosen) => filterBy({ [name]: chosen })} />}
    </Field>
  )
}

function Choice({ id, options, value, onChoose }: { id: string; options: Options; value: string; onChoose(value: string): void }) {
  // If the value in the address is not among the options, it is added to them.
  const all = options.some(([one]) => one === value) ? options : [...options, [value, value] as const]
  return (
    <select id={id} value={value} onChange={({ currentTarget }) => onChoose(currentTarget.value)}>
      {all.map(([one, words]) => (
        <option key={one} value={one}>
          {words}
        </option>
      ))}
    </select>
  )
}
