import type { RefObject } from 'preact'
import { useLive } from '../ui/live-context.ts'
import { useNewId } from '../ui/new-id.ts'
import type { Conversation } from './conversation.ts'

interface ComposerProps {
  conversation: Conversation
  input: RefObject<HTMLTextAreaElement | null>
}

/** A field for a message, with buttons to send it and to stop the run that answers it. */
export function Composer({ conversation, input }: ComposerProps) {
  const id = useNewId()
  const { text, failure, isRunning, isStopping, canAsk } = conversation
  const ask = async () => {
    await conversation.ask()
    if (failure.value !== '') input.current?.focus()
  }
  const onKeyDown = (event: KeyboardEvent) => {
    // Ignores keys that an input method handles while it composes a character.
    if (event.shiftKey || event.isComposing || event.altKey || event.ctrlKey || event.metaKey) return
    if (event.key === 'Enter') void ask()
    else if (event.key === 'ArrowUp') {
      if (!recall(-1)) return
    } else if (event.key === 'ArrowDown') {
      if (!recall(1)) return
    } else return
    event.preventDefault()
  }
  /**
   * Shows an earlier or later message. Inside a text, the arrow keys move the cursor; they recall messages only if the cursor is at the
   * beginning.
   */
  const recall = (by: -1 | 1) => {
    const area = input.current
    if (area === null) return false
    const isAtStart = area.selectionStart === 0 && area.selectionEnd === 0
    if (!conversation.isRecalling && (by === 1 || !isAtStart)) return false
    if (!conversation.recall(by)) return false
    // Puts the cursor at the beginning, so that the next arrow key continues through the history.
    area.value = text.value
    area.setSelectionRange(0, 0)
    return true
  }
  return (
    <form
      class="composer"
      onSubmit={(event) => {
        event.preventDefault()
        void ask()
      }}
    >
      <label class="visually-hidden" for={id}>
        Message
      </label>
      <textarea
        ref={input}
        id={id}
        rows={2}
        placeholder="Ask the agent something"
        aria-describedby={`${id}-error`}
        value={text.value}
        onInput={({ currentTarget }) => conversation.write(currentTarget.value)}
        onKeyDown={onKeyDown}
      />
      <p class="error-text" role="alert" id={`${id}-error`}>
        {failure.value}
      </p>
      <div class="composer-row">
        <label for={`${id}-model`}>Model</label>
        <ModelSelect id={`${id}-model`} conversation={conversation} />
        <span class="hint">Enter sends, Shift+Enter adds a line</span>
        {isRunning.value && (
          <button type="button" class="danger" disabled={isStopping.value} onClick={() => conversation.stop()}>
            Stop
          </button>
        )}
        <button type="submit" class="primary" disabled={!canAsk.value}>
          Send
        </button>
      </div>
    </form>
  )
}

function ModelSelect({ id, conversation }: { id: string; conversation: Conversation }) {
  const models = useLive().state?.models ?? []
  return (
    <select
      id={id}
      aria-label="Model"
      value={conversation.model}
      onChange={({ currentTarget }) => conversation.choose(currentTarget.value)}
    >
      {models.map(({ name, provider, model }) => (
        <option key={name} value={name}>
          {`${name === 'toolloop' ? 'Current' : name} (${provider} / ${model})`}
        </option>
      ))}
    </select>
  )
}
