import { useState } from 'preact/hooks'
import { ask, messageOf, post } from '../data/api.ts'
import type { RunWithResult } from '../data/follow-run.ts'
import type { Live } from '../data/live.ts'
import type { ServiceState } from '../types.ts'
import { showDialog } from '../ui/dialog.tsx'
import { runHref } from './addresses.ts'
import { startOf } from './run-start.ts'

/** Starts a similar run. The user can change its input and model. Rejects with an `ApiError`. */
export async function runAgainDialog(live: Live, id: string): Promise<void> {
  const run: RunWithResult = await ask(`v1/runs/${encodeURIComponent(id)}`)
  const models = live.state?.models ?? []
  await showDialog((close) => <RunAgainForm run={run} models={models} close={close} />, { labelledBy: 'again-title' })
}

function RunAgainForm({ run, models, close }: { run: RunWithResult; models: ServiceState['models']; close(): void }) {
  const { input, messages } = startOf(run)
  const isText = typeof input === 'string'
  const given = isText ? input : JSON.stringify(input, null, 2)
  const [text, setText] = useState(given)
  const [model, setModel] = useState((models.find(({ name }) => name === run.model) ?? models[0])?.name ?? run.model)
  const [failure, setFailure] = useState('')
  const [isStarting, setStarting] = useState(false)
  const start = async (event: Event) => {
    event.preventDefault()
    setFailure('')
    setStarting(true)
    try {
      const started = await post('v1/runs', { input: isText ? text : JSON.parse(text), messages, model, background: true })
      close()
      location.hash = runHref(started.id)
    } catch (thrown) {
      setFailure(messageOf(thrown))
    } finally {
      setStarting(false)
    }
  }
  return (
    <form class="dialog-form" onSubmit={start}>
      <h2 id="again-title">Run again</h2>
      <div class="field">
        <label for="again-input">{isText ? 'Input' : 'Input, as JSON'}</label>
        <textarea
          id="again-input"
          rows={Math.min(14, given.split('\n').length + 2)}
          class={isText ? '' : 'code'}
          value={text}
          onInput={(event) => setText(event.currentTarget.value)}
        />
      </div>
      <div class="field">
        <label for="again-model">Model</label>
        <select id="again-model" value={model} onChange={(event) => setModel(event.currentTarget.value)}>
          {models.map(({ name, provider, model: ofProvider }) => (
            <option key={name} value={name}>
              {`${name} (${provider} / ${ofProvider})`}
            </option>
          ))}
        </select>
      </div>
      {messages.length > 0 && <p class="muted">{`After the same ${messages.length} earlier messages.`}</p>}
      {given.includes('[redacted]') && <p class="muted">Part of the input is redacted: write the actual value.</p>}
      <p class="error-text" role="alert">
        {failure}
      </p>
      <div class="buttons">
        <button type="submit" class="primary" disabled={isStarting}>
          Start run
        </button>
        <button type="button" class="quiet" onClick={close}>
          Cancel
        </button>
      </div>
    </form>
  )
}
