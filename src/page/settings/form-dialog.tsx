import { useEffect, useRef, useState } from 'preact/hooks'
import { ApiError, messageOf } from '../data/api.ts'
import type { Told } from '../data/test-model.ts'
import { showDialog } from '../ui/dialog.tsx'

export interface Field {
  name: string
  label: string
  /** The kind of the field. Default `text`. */
  kind?: 'text' | 'number' | 'select' | 'json' | 'checkbox'
  value: string
  hint?: string
  /** The options, if the kind is `select`. */
  options?: readonly (readonly [value: string, words: string])[]
  suggestions?: readonly string[]
  required?: boolean
}

/** The entered values, by field name. */
type Values = Record<string, string>

export interface FormDialogOptions {
  title: string
  fields: Field[]
  /** Saves the values. If it rejects with an `ApiError`, the dialog shows the errors next to the fields that they name. */
  onSave(values: Values): Promise<void>
  /** Returns the name of the field that an invalid path refers to. */
  fieldOfPath(path: string): string | undefined
  /** Tests the values without saving them. */
  test(values: Values): Promise<Told>
}

/** Asks for values in a dialog. Esc closes the dialog. */
export async function openFormDialog(options: FormDialogOptions): Promise<void> {
  await showDialog((close) => <DialogForm {...options} close={close} />, { labelledBy: 'form-dialog-title' })
}

const nothing: Told = { text: '', kind: '' }

function DialogForm({ title, fields, onSave, fieldOfPath, test, close }: FormDialogOptions & { close(): void }) {
  const form = useRef<HTMLFormElement>(null)
  const [given, setGiven] = useState<Values>(() => Object.fromEntries(fields.map(({ name, value }) => [name, value])))
  /** The errors, by field name. */
  const [errors, setErrors] = useState<Values>({})
  const [failure, setFailure] = useState('')
  const [said, say] = useState(nothing)
  const [isBusy, setBusy] = useState(false)
  useEffect(() => {
    if (Object.keys(errors).length > 0) form.current?.querySelector<HTMLElement>('[aria-invalid]')?.focus()
  }, [errors])

  const fail = (thrown: unknown) => {
    const problems = thrown instanceof ApiError ? thrown.problems : []
    const placed = problems.map(({ path, message }) => ({ field: fieldOfPath(path) ?? '', words: `${path} ${message}` }))
    const isField = (name: string) => fields.some((field) => field.name === name)
    setErrors(Object.fromEntries(placed.filter(({ field }) => isField(field)).map(({ field, words }) => [field, words])))
    const others = placed.filter(({ field }) => !isField(field)).map(({ words }) => words)
    setFailure(problems.length === 0 ? messageOf(thrown) : others.join('; '))
  }
  /** Runs one action at a time. While it runs, its button keeps the focus. */
  const attempt = async (work: (values: Values) => Promise<void>) => {
    if (isBusy) return
    const values = Object.fromEntries(Object.entries(given).map(([name, value]) => [name, value.trim()]))
    const objections = fields.map((field) => [field.name, objectionTo(field, values[field.name] ?? '')] as const)
    const wrong = objections.filter(([, words]) => words !== '')
    setErrors(Object.fromEntries(wrong))
    setFailure('')
    if (wrong.length > 0) return
    setBusy(true)
    try {
      await work(values)
    } catch (thrown) {
      say(nothing)
      fail(thrown)
    } finally {
      setBusy(false)
    }
  }
  const save = (event: Event) => {
    event.preventDefault()
    void attempt(async (values) => {
      await onSave(values)
      close()
    })
  }
  const tryOut = () =>
    attempt(async (values) => {
      say({ text: 'Testing…', kind: '' })
      say(await test(values))
    })
  return (
    <form ref={form} noValidate class="dialog-form" aria-busy={isBusy} onSubmit={save}>
      <h2 id="form-dialog-title">{title}</h2>
      <div class="dialog-fields">
        {fields.map((field) => (
          <FieldRow
            key={field.name}
            field={field}
            value={given[field.name] ?? ''}
            error={errors[field.name] ?? ''}
            onChange={(value) => setGiven((before) => ({ ...before, [field.name]: value }))}
          />
        ))}
      </div>
      <p class="error-text" role="alert">
        {failure}
      </p>
      <p class={`test-result ${said.kind}`} role="status">
        {said.text}
      </p>
      <div class="buttons">
        <button type="submit" class="primary">
          Save
        </button>
        <button type="button" onClick={tryOut}>
          Test
        </button>
        <button type="button" class="quiet" onClick={close}>
          Cancel
        </button>
      </div>
    </form>
  )
}

interface FieldRowProps {
  field: Field
  value: string
  /** The error of the field. `''` if there is no error. */
  error: string
  onChange(value: string): void
}

function FieldRow({
  field: { name, label, kind = 'text', hint, options = [], suggestions, required = false },
  value,
  error,
  onChange,
}: FieldRowProps) {
  const id = `field-${name}`
  const common = {
    id,
    'aria-describedby': `${id}-hint ${id}-error`,
    'aria-invalid': error === '' ? undefined : ('true' as const),
    required,
  }
  const onInput = ({ currentTarget }: { currentTarget: HTMLInputElement | HTMLTextAreaElement | HTMLSelectElement }) =>
    onChange(currentTarget.value)
  return (
    <div class={`field ${kind}`}>
      <label for={id}>{label}</label>
      {kind === 'select' ? (
        <select {...common} value={value} onChange={onInput}>
          {options.map(([option, words]) => (
            <option key={option} value={option}>
              {words}
            </option>
          ))}
        </select>
      ) : kind === 'json' ? (
        <textarea {...common} rows={4} class="code" spellcheck={false} value={value} onInput={onInput} />
      ) : kind === 'checkbox' ? (
        <input
          {...common}
          type="checkbox"
          checked={value === 'true'}
          onChange={({ currentTarget }) => onChange(String(currentTarget.checked))}
        />
      ) : (
        <input
          {...common}
          type={kind}
          autocomplete="off"
          spellcheck={false}
          list={suggestions && `${id}-list`}
          value={value}
          onInput={onInput}
        />
      )}
      {suggestions !== undefined && (
        <datalist id={`${id}-list`}>
          {suggestions.map((text) => (
            <option key={text} value={text} />
          ))}
        </datalist>
      )}
      <p class="hint" id={`${id}-hint`}>
        {hint}
      </p>
      <p class="error-text" role="alert" id={`${id}-error`}>
        {error}
      </p>
    </div>
  )
}

function objectionTo({ kind, required, label }: Field, value: string): string {
  if (required && value === '') return `${label} is required`
  if (kind !== 'json' || value === '') return ''
  try {
    const parsed: unknown = JSON.parse(value)
    return typeof parsed === 'object' && parsed !== null && !Array.isArray(parsed) ? '' : 'Expected a JSON object'
  } catch (thrown) {
    return messageOf(thrown)
  }
}
