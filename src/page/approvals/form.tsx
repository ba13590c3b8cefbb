import type { ComponentChildren } from 'preact'
import type { DecisionFields } from '../data/pending-items.ts'
import { useNewId } from '../ui/new-id.ts'
import type { OpenDecision } from './open-decision.ts'

export interface FormProps {
  decision: OpenDecision
  errorId: string
  /** Sends the verdict. `said` is one word that describes the verdict. */
  submit(verdict: DecisionFields, said: string): Promise<void>
}

interface FieldsProps {
  children: ComponentChildren
  verb: string
  kind: 'primary' | 'danger'
  send(): Promise<void>
  /** Returns to the choice between approving, editing and rejecting. Absent if there was no such choice. */
  back?: () => void
  /** Declines the call. Absent if that is not possible. */
  submit?: FormProps['submit']
}

/** A form that Ctrl+Enter sends and Esc closes. */
export function Form({ children, verb, kind, send, back, submit }: FieldsProps) {
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key === 'Escape') {
      event.stopPropagation()
      if (back !== undefined) back()
      else if (event.target instanceof HTMLElement) event.target.blur()
    } else if (event.key === 'Enter' && (event.ctrlKey || event.metaKey)) void send()
  }
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: the keys are those of the fields in it
    <div class="decision-form" onKeyDown={onKeyDown}>
      {children}
      <div class="buttons">
        <button type="button" class={kind} onClick={send}>
          {verb}
        </button>
        {back !== undefined && (
          <button type="button" class="quiet" onClick={back}>
            Back
          </button>
        )}
        {submit !== undefined && <DeclineButton submit={submit} />}
      </div>
    </div>
  )
}

export function TextField({ decision: { text }, label, errorId }: { decision: OpenDecision; label: string; errorId: string }) {
  const id = useNewId()
  return (
    <div class="field">
      <label for={id}>{label}</label>
      <textarea
        id={id}
        rows={2}
        spellcheck={true}
        aria-describedby={errorId}
        value={text.value}
        onInput={({ currentTarget }) => {
          text.value = currentTarget.value
        }}
      />
    </div>
  )
}

export function DeclineButton({ submit }: Pick<FormProps, 'submit'>) {
  return (
    <button type="button" class="danger" onClick={() => submit({ approved: false }, 'Declined')}>
      Decline
    </button>
  )
}
