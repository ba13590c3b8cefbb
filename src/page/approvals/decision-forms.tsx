import { useLayoutEffect, useReducer, useRef } from 'preact/hooks'
import { visibleLines } from '../../core/text/visible.ts'
import type { JsonSchema } from '../types.ts'
import { loaded } from '../ui/loaded.tsx'
import { DeclineButton, Form, type FormProps, TextField } from './form.tsx'
import { Subject } from './subject.tsx'

const ArgumentsForm = loaded(() => import('./arguments-form.tsx').then(({ ArgumentsForm }) => ArgumentsForm))

/** Lets the user approve or reject a call, or let a run exceed its budget. A call can also be approved with edited arguments. */
export function Approval(props: FormProps) {
  const form = props.decision.form.value
  const place = useRef<HTMLDivElement>(null)
  const before = useRef(form)
  // Moves the focus only when the form changes, not when the card appears again.
  useLayoutEffect(() => {
    if (before.current === form) return
    const wanted = form === 'choice' ? `[data-key="${before.current === 'edit' ? 'e' : 'r'}"]` : 'textarea'
    before.current = form
    const element = place.current?.querySelector(wanted)
    if (element instanceof HTMLElement) element.focus()
  }, [form])
  const Shown = { choice: Choice, edit: ArgumentsForm, reject: RejectForm }[form]
  return (
    <div ref={place} class="decision-form">
      <Shown {...props} />
    </div>
  )
}

/** Undefined until the complete call is on the page. `hidden` is the first redacted part of the call. */
type Shown = { hidden: string | undefined } | undefined

function nowShown(_: Shown, hidden: string | undefined): Shown {
  return { hidden }
}

function Choice({ decision, submit }: FormProps) {
  const { item } = decision
  const [shown, onShown] = useReducer(nowShown, undefined)
  const isHidden = shown?.hidden !== undefined
  const isWhole = shown !== undefined && !isHidden
  const approve = () => submit({ approved: true }, 'Approved')
  return (
    <>
      <Subject item={item} onShown={onShown} />
      {/* A call with redacted content can't be approved unchanged, because the user can't see all of it. */}
      <p class="muted" role="status">
        {isHidden ? 'Part of this call is redacted, so you can’t approve it here unchanged.' : ''}
      </p>
      <div class="buttons">
        <button type="button" class="primary" disabled={!isWhole} hidden={isHidden} onClick={approve}>
          Approve
        </button>
        <button type="button" data-key="e" aria-keyshortcuts="e" hidden={item.kind === 'budget'} onClick={() => decision.open('edit')}>
          Edit arguments
        </button>
        <button type="button" class="danger" data-key="r" aria-keyshortcuts="r" onClick={() => decision.open('reject')}>
          Reject
        </button>
        {isWhole && <KeyedApproval approve={approve} />}
      </div>
    </>
  )
}

/**
 * A hint that gets the focus when the user presses `a`, and is visible only while it has the focus. Ctrl+Enter then approves the call. Two
 * keys are needed, because a user who types text may press `a` by accident.
 */
function KeyedApproval({ approve }: { approve: () => Promise<void> }) {
  const onKeyDown = ({ key, ctrlKey, metaKey, repeat }: KeyboardEvent) => {
    if (key === 'Enter' && (ctrlKey || metaKey) && !repeat) void approve()
  }
  return (
    <p class="approve-key" data-key="a" tabIndex={-1} onKeyDown={onKeyDown}>
      <kbd>Ctrl Enter</kbd> approves this call
    </p>
  )
}

function RejectForm({ decision, errorId, submit }: FormProps) {
  const reject = () => {
    const reason = decision.text.value.trim()
    return submit({ approved: false, ...(reason === '' ? {} : { reason }) }, 'Rejected')
  }
  return (
    <>
      <Subject item={decision.item} />
      <Form verb="Reject the call" kind="danger" send={reject} back={() => decision.open('choice')}>
        <TextField decision={decision} label="Reason, sent to the model" errorId={errorId} />
      </Form>
    </>
  )
}

/** A form for the result of a call that the client runs. */
export function ClientTool({ decision, errorId, submit }: FormProps) {
  return (
    <div class="decision-form">
      <Subject item={decision.item} />
      <Form
        verb="Send result"
        kind="primary"
        send={() => submit({ result: jsonOrText(decision.text.value) }, 'Result sent')}
        submit={submit}
      >
        <TextField decision={decision} label="Result, as JSON or text" errorId={errorId} />
      </Form>
    </div>
  )
}

/** Asks the user a question. Shows a button for each answer if there are few answers, otherwise a text field. */
export function Question(props: FormProps) {
  const [shown, onShown] = useReducer(nowShown, undefined)
  const isAnswerable = shown !== undefined && shown.hidden === undefined
  return (
    <div class="decision-form">
      <Subject item={props.decision.item} onShown={onShown} />
      {isAnswerable ? (
        <AnswerForm {...props} />
      ) : (
        <>
          <p class="muted" role="status">
            {shown === undefined ? '' : 'Part of this question is redacted, so you can’t answer it here.'}
          </p>
          <div class="buttons">
            <DeclineButton submit={props.submit} />
          </div>
        </>
      )}
    </div>
  )
}

function AnswerForm({ decision, errorId, submit }: FormProps) {
  const { text, error, item } = decision
  const place = useRef<HTMLDivElement>(null)
  const choices = choicesOf(item.schema)
  if (choices.length > 0)
    return (
      <div class="buttons">
        {choices.map((answer) => (
          <button key={wordsOf(answer)} type="button" onClick={() => submit({ answer }, 'Answered')}>
            {visibleLines(wordsOf(answer))}
          </button>
        ))}
        <DeclineButton submit={submit} />
      </div>
    )
  const answer = async () => {
    const written = text.value.trim()
    error.value = written === '' ? 'Enter an answer' : ''
    if (written === '') place.current?.querySelector('textarea')?.focus()
    else await submit({ answer: item.schema?.type === 'string' ? written : jsonOrText(written) }, 'Answered')
  }
  return (
    <div ref={place}>
      <Form verb="Answer" kind="primary" send={answer} submit={submit}>
        <TextField decision={decision} label="Answer" errorId={errorId} />
      </Form>
    </div>
  )
}

/** Maximum number of answers shown as buttons. */
const mostChoices = 8

/** Returns the answers that a schema allows, if there are few. Otherwise returns an empty list. */
function choicesOf(schema: JsonSchema | undefined): unknown[] {
  if (schema?.type === 'boolean') return [true, false]
  return schema?.enum !== undefined && schema.enum.length <= mostChoices ? schema.enum : []
}

function wordsOf(answer: unknown): string {
  if (answer === true) return 'Yes'
  if (answer === false) return 'No'
  return typeof answer === 'string' ? answer : JSON.stringify(answer)
}

function jsonOrText(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}
