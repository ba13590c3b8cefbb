import { useEffect, useMemo, useRef, useState } from 'preact/hooks'
import { ApiError, messageOf, type Problem, post } from '../data/api.ts'
import { duration, json } from '../data/format.ts'
import { ValueView } from '../reading/value-view.tsx'
import type { ToolWithCalls } from '../types.ts'
import { confirmDialog } from '../ui/confirm-dialog.tsx'
import { useNewId } from '../ui/new-id.ts'
import { useRefocus } from '../ui/refocus.ts'
import { fieldAt, firstValue, planOf } from './form-plan.ts'
import { type Problems, SchemaForm, unreadable } from './schema-form.tsx'

const endings: Record<string, string> = {
  ok: 'Succeeded',
  question: 'Asks a question before it continues',
  failed: 'Failed',
  timeout: 'Timed out',
  cancelled: 'Cancelled',
  rejected: 'Refused',
}

interface Ended {
  outcome: string
  content: string
  durationMs: number
  attempts: number
}

const none: Problems = new Map()

/** A form that runs one call of a tool. */
export function TryForm({ tool, onEnd }: { tool: ToolWithCalls; onEnd: () => void }) {
  const { name, parameters } = tool.function
  const heading = useNewId()
  const form = useRef<HTMLFormElement>(null)
  const runButton = useRef<HTMLButtonElement>(null)
  const [isJson, setIsJson] = useState(false)
  const plan = useMemo(() => planOf(isJson ? {} : parameters), [parameters, isJson])
  const [args, setArgs] = useState(() => firstValue(plan) ?? {})
  /** The errors of fields. */
  const [problems, setProblems] = useState(none)
  const [errors, setErrors] = useState<string[]>([])
  const [running, setRunning] = useState<AbortController>()
  const [ended, setEnded] = useState<Ended>()
  useRefocus(form, runButton)
  useEffect(() => {
    if (problems.size > 0) form.current?.querySelector<HTMLElement>('[aria-invalid="true"]')?.focus()
  }, [problems])

  /** Returns whether the input can be parsed. If not, shows each error at its field. */
  const isReadable = () => {
    const found = unreadable(args)
    setProblems(found)
    return found.size === 0
  }
  const toggle = () => {
    if (isReadable()) setIsJson(!isJson)
  }
  const fail = (thrown: unknown) => {
    const found = thrown instanceof ApiError ? thrown.problems : []
    const placed = found.map((problem) => ({ ...problem, field: fieldAt(plan, args, problem.path) }))
    setProblems(new Map(placed.flatMap(({ field, message }) => (field === undefined ? [] : [[field, message] as const]))))
    setErrors(found.length === 0 ? [messageOf(thrown)] : placed.filter(({ field }) => field === undefined).map(inWords))
  }
  const submit = async (event: Event) => {
    event.preventDefault()
    if (running !== undefined) return
    setErrors([])
    if (!isReadable()) return
    const warnings = warningsOf(tool)
    const isRisky = warnings.length > 0
    if (isRisky && !(await confirmDialog({ title: `Run ${name}?`, lines: [...warnings, json(args)], verb: 'Run' }))) return
    const asking = new AbortController()
    setRunning(asking)
    setEnded(undefined)
    try {
      setEnded(await post(`admin/api/tools/${encodeURIComponent(name)}/calls`, { arguments: args, approved: isRisky }, asking.signal))
    } catch (thrown) {
      fail(asking.signal.aborted ? new Error('Stopped. Anything the tool had already done is not undone.') : thrown)
    } finally {
      setRunning(undefined)
      onEnd()
    }
  }
  return (
    <form ref={form} class="try-form" noValidate aria-labelledby={heading} aria-busy={running !== undefined || undefined} onSubmit={submit}>
      <h3 id={heading}>Try it</h3>
      <SchemaForm key={String(isJson)} plan={plan} value={args} onChange={setArgs} problems={problems} />
      <div class="error-text" role="alert">
        {errors.map((message) => (
          <p key={message}>{message}</p>
        ))}
      </div>
      <div class="buttons">
        <button ref={runButton} type="submit" class="primary">
          Run
        </button>
        {running !== undefined && (
          <button type="button" class="danger" onClick={() => running.abort()}>
            Stop
          </button>
        )}
        <button type="button" class="quiet" aria-pressed={isJson} onClick={toggle}>
          Edit as JSON
        </button>
      </div>
      <div class="tried" role="status">
        {running !== undefined && <p class="muted">Running…</p>}
        {ended !== undefined && <Result name={name} ended={ended} />}
      </div>
    </form>
  )
}

function warningsOf({ effect, approval }: ToolWithCalls): string[] {
  return [
    ...(effect === 'unsafe' ? ['This tool may have side effects. They happen for real.'] : []),
    ...(approval === 'never' ? [] : ['A call of this tool needs an approval: you give it here.']),
  ]
}

function inWords({ path, message }: Problem): string {
  return `${path} ${message}`.trim()
}

function Result({ name, ended: { outcome, content, durationMs, attempts } }: { name: string; ended: Ended }) {
  const isGood = outcome === 'ok' || outcome === 'question'
  return (
    <>
      <p>
        <span class={`badge ${isGood ? 'good' : 'bad'}`}>{endings[outcome] ?? outcome}</span>
        <span class="muted">{` in ${duration(durationMs)}${attempts > 1 ? `, ${attempts} attempts` : ''}`}</span>
      </p>
      <ValueView value={content} label={`Result of ${name}`} />
    </>
  )
}
