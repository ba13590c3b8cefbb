import { createContext, type TargetedInputEvent, type VNode } from 'preact'
import { useContext, useLayoutEffect, useRef, useState } from 'preact/hooks'
import { readable } from '../../core/text/visible.ts'
import { messageOf } from '../data/api.ts'
import { escapedJson } from '../ui/hidden-text.ts'
import { useNewId } from '../ui/new-id.ts'
import { firstValue, fits, isRecord, type Plan, pointerTo } from './form-plan.ts'

/** A text that should be JSON but is not valid. */
class NotJson {
  readonly text: string
  readonly message: string

  constructor(text: string, message: string) {
    this.text = text
    this.message = message
  }
}

/** The error messages, by JSON Pointer. */
export type Problems = ReadonlyMap<string, string>
const ProblemsContext = createContext<Problems>(new Map())

interface FieldProps<Kind extends Plan['kind'] = Plan['kind']> {
  plan: Plan & { kind: Kind }
  value: unknown
  onChange(value: unknown): void
  label: string
  /** The JSON Pointer of the value. */
  path: string
}

/**
 * A form for a value. `onChange` receives the whole value after each change, including its parts without a field. It receives undefined if
 * nothing was entered. A text that is not valid JSON becomes a `NotJson`.
 */
export function SchemaForm({ problems, ...form }: { plan: Plan; value: unknown; onChange(value: unknown): void; problems: Problems }) {
  return (
    <ProblemsContext.Provider value={problems}>
      <Field {...form} label="" path="" />
    </ProblemsContext.Provider>
  )
}

function Field({ plan, ...field }: FieldProps) {
  // If the field can't show the initial value, the value stays JSON until the form is closed.
  const [isFitting] = useState(() => fits(plan, field.value))
  if (!isFitting) return <JsonField {...field} plan={{ ...plan, kind: 'json' }} />
  switch (plan.kind) {
    case 'text':
      return <TextField {...field} plan={plan} />
    case 'number':
      return <NumberField {...field} plan={plan} />
    case 'choice':
      return <ChoiceField {...field} plan={plan} />
    case 'object':
      return <ObjectFields {...field} plan={plan} />
    case 'list':
      return <ListFields {...field} plan={plan} />
    case 'json':
      return <JsonField {...field} plan={plan} />
  }
}

interface SingleProps extends Pick<FieldProps, 'plan' | 'label' | 'path'> {
  hint?: string | undefined
  input(attributes: {
    id: string
    'aria-describedby': string
    'aria-required': boolean | undefined
    'aria-invalid': boolean | undefined
  }): VNode
}

/** Shows a label, an input, and below the input a description and the error. */
function Single({ plan: { schema, isRequired }, label, path, hint = schema.description, input }: SingleProps) {
  const id = useNewId()
  const problem = useContext(ProblemsContext).get(path)
  return (
    <div class="field">
      <label for={id}>
        {label}
        {isRequired && <RequiredMark />}
      </label>
      {input({
        id,
        'aria-describedby': `${id}-hint ${id}-error`,
        'aria-required': isRequired || undefined,
        'aria-invalid': problem !== undefined || undefined,
      })}
      <p class="hint" id={`${id}-hint`}>
        {hint === undefined ? undefined : readable(hint)}
      </p>
      <p class="error-text" role="alert" id={`${id}-error`}>
        {problem}
      </p>
    </div>
  )
}

function RequiredMark() {
  return <span class="required-mark"> required</span>
}

/** Maximum number of characters in a field of one line. */
const mostInLine = 80

/** Returns the height, in rows, of a field for a text that is about to be edited. */
function useRowsFor(text: string): number {
  const [rows] = useState(() => Math.min(14, Math.max(3, text.split('\n').length + 1)))
  return rows
}

function TextField({ value, onChange, ...field }: FieldProps<'text'>) {
  const text = typeof value === 'string' ? value : ''
  const { isRequired } = field.plan
  // The kind of field is decided once, because an element that is replaced would lose the focus.
  const [isLong] = useState(() => field.plan.isLong || text.length > mostInLine || text.includes('\n'))
  const rows = useRowsFor(text)
  // An empty text becomes undefined, unless the value is required.
  const write = ({ currentTarget }: TargetedInputEvent<HTMLInputElement | HTMLTextAreaElement>) =>
    onChange(currentTarget.value === '' && !isRequired ? undefined : currentTarget.value)
  return (
    <Single
      {...field}
      input={(attributes) =>
        isLong ? (
          <textarea {...attributes} rows={rows} value={text} onInput={write} />
        ) : (
          <input {...attributes} type="text" autocomplete="off" spellcheck={false} value={text} onInput={write} />
        )
      }
    />
  )
}

/**
 * Keeps the text of a field as long as it represents the value, so that `1.` and `1.0` stay as the user has typed them. Returns the text
 * and a function that changes it.
 */
function useWritten(
  value: unknown,
  onChange: (value: unknown) => void,
  read: (text: string) => unknown,
  format: (value: unknown) => string,
) {
  const [written, setWritten] = useState<{ text: string; value: unknown }>()
  const text = written !== undefined && written.value === value ? written.text : format(value)
  const write = (text: string) => {
    const value = read(text)
    setWritten({ text, value })
    onChange(value)
  }
  return [text, write] as const
}

function NumberField({ value, onChange, ...field }: FieldProps<'number'>) {
  const read = (text: string) => {
    const given = text.trim()
    // An invalid number is passed on unchanged. The service validates it and reports the error.
    return given === '' ? undefined : Number.isFinite(Number(given)) ? Number(given) : given
  }
  const [text, write] = useWritten(value, onChange, read, (value) => (value === undefined ? '' : String(value)))
  return (
    <Single
      {...field}
      input={(attributes) => (
        <input
          {...attributes}
          type="text"
          inputmode="decimal"
          autocomplete="off"
          value={text}
          onInput={({ currentTarget }) => write(currentTarget.value)}
        />
      )}
    />
  )
}

function ChoiceField({ value, onChange, ...field }: FieldProps<'choice'>) {
  const { choices } = field.plan
  const chosen = choices.indexOf(value)
  const option = (choice: unknown, at: number) => (
    <option value={String(at)}>{typeof choice === 'string' ? choice : JSON.stringify(choice)}</option>
  )
  return (
    <Single
      {...field}
      input={(attributes) => (
        <select
          {...attributes}
          value={chosen < 0 ? '' : String(chosen)}
          onChange={({ currentTarget }) => onChange(currentTarget.value === '' ? undefined : choices[Number(currentTarget.value)])}
        >
          <option value="">–</option>
          {choices.map(option)}
        </select>
      )}
    />
  )
}

function JsonField({ value, onChange, ...field }: FieldProps<'json'>) {
  const { description } = field.plan.schema
  const read = (text: string) => {
    if (text.trim() === '') return field.path === '' ? {} : undefined
    try {
      return JSON.parse(text)
    } catch (thrown) {
      return new NotJson(text, messageOf(thrown))
    }
  }
  const format = (value: unknown) => (value instanceof NotJson ? value.text : escapedJson(JSON.stringify(value, null, 2) ?? ''))
  const [text, write] = useWritten(value, onChange, read, format)
  const rows = useRowsFor(text)
  return (
    <Single
      {...field}
      label={field.label || 'Arguments, as JSON'}
      hint={[description, field.label && 'As JSON.'].filter(Boolean).join(' ')}
      input={(attributes) => (
        <textarea
          {...attributes}
          rows={rows}
          class="code"
          spellcheck={false}
          value={text}
          onInput={({ currentTarget }) => write(currentTarget.value)}
        />
      )}
    />
  )
}

function ObjectFields({ plan, value, onChange, label, path }: FieldProps<'object'>) {
  const given = isRecord(value) ? value : {}
  const change = (name: string, inner: unknown) => {
    const { [name]: _, ...others } = given
    const changed = inner === undefined ? others : { ...given, [name]: inner }
    onChange(Object.keys(changed).length === 0 && !plan.isRequired ? undefined : changed)
  }
  const unknown = Object.keys(given).filter((name) => !plan.fields.has(name))
  const fields = [...plan.fields].map(([name, field]) => (
    <Field
      key={name}
      plan={field}
      value={given[name]}
      onChange={(inner) => change(name, inner)}
      label={name}
      path={pointerTo(path, name)}
    />
  ))
  const others = unknown.length > 0 && <p class="hint">{`Also given, without a field here: ${unknown.join(', ')}`}</p>
  return path === '' ? (
    <div class="form-fields">
      {fields}
      {others}
    </div>
  ) : (
    <fieldset class="form-group">
      <legend>{label}</legend>
      {fields}
      {others}
    </fieldset>
  )
}

function ListFields({ plan, value, onChange, label, path }: FieldProps<'list'>) {
  const items = Array.isArray(value) ? value : []
  const rows = useRef<HTMLDivElement>(null)
  const more = useRef<HTMLButtonElement>(null)
  const wasAdded = useRef(false)
  // Each item has an id, so that it keeps its identity when other items are removed.
  const ids = useRef<number[]>([])
  const nextId = useRef(0)
  while (ids.current.length < items.length) ids.current.push(nextId.current++)
  const problem = useContext(ProblemsContext).get(path)
  const change = (changed: unknown[]) => onChange(changed.length === 0 && !plan.isRequired ? undefined : changed)
  const add = () => {
    wasAdded.current = true
    change([...items, firstValue(plan.item())])
  }
  const remove = (at: number) => {
    ids.current.splice(at, 1)
    change(items.toSpliced(at, 1))
    more.current?.focus()
  }
  useLayoutEffect(() => {
    if (!wasAdded.current) return
    wasAdded.current = false
    rows.current?.lastElementChild?.querySelector<HTMLElement>('input, select, textarea')?.focus()
  })
  return (
    <fieldset class="form-group">
      <legend>
        {label}
        {plan.isRequired && <RequiredMark />}
      </legend>
      {plan.schema.description !== undefined && <p class="hint">{readable(plan.schema.description)}</p>}
      <div ref={rows} class="form-rows">
        {items.map((item, at) => (
          <div key={ids.current[at]} class="form-row">
            <Field
              plan={plan.item()}
              value={item}
              onChange={(inner) => change(items.with(at, inner))}
              label={`${label} ${at + 1}`}
              path={pointerTo(path, String(at))}
            />
            <button type="button" class="quiet icon-button" aria-label={`Remove from ${label}`} onClick={() => remove(at)}>
              ×
            </button>
          </div>
        ))}
      </div>
      <p class="error-text" role="alert">
        {problem}
      </p>
      <div>
        <button ref={more} type="button" onClick={add}>
          {`Add to ${label}`}
        </button>
      </div>
    </fieldset>
  )
}

/** Returns an error message for each `NotJson` in a value, by JSON Pointer. */
export function unreadable(value: unknown, path = ''): Problems {
  if (value instanceof NotJson) return new Map([[path, value.message]])
  const inner = Array.isArray(value) || isRecord(value) ? Object.entries(value) : []
  return new Map(inner.flatMap(([key, one]) => [...unreadable(one, pointerTo(path, key))]))
}
