import { useRef, useState } from 'preact/hooks'
import { ApiError, ask, messageOf, send } from '../data/api.ts'
import type { RunWithResult } from '../data/follow-run.ts'
import { copyOrSelect } from '../ui/copy.tsx'
import { showDialog } from '../ui/dialog.tsx'
import { scrollable } from '../ui/scrollable.ts'
import { curlOf } from './run-start.ts'

/**
 * Exports a stored run, either as a file with all stored data, or as the request that starts the same run again. Rejects with an
 * `ApiError`.
 */
export async function exportDialog(id: string): Promise<void> {
  const run: RunWithResult = await ask(`v1/runs/${encodeURIComponent(id)}`)
  await showDialog((close) => <ExportForm run={run} close={close} />, { labelledBy: 'export-title' })
}

function ExportForm({ run, close }: { run: RunWithResult; close(): void }) {
  const command = useRef<HTMLPreElement>(null)
  const [said, say] = useState('')
  const [why, setWhy] = useState('')
  const download = () => {
    save(new Blob([JSON.stringify(run, null, 2)], { type: 'application/json' }), `${run.id}.json`)
    say('Downloaded')
  }
  const downloadRecording = async () => {
    setWhy('')
    try {
      const file = await send(`v1/runs/${encodeURIComponent(run.id)}/recording`)
      save(await file.blob(), `${run.id}.recording.json`)
      say('Downloaded')
    } catch (thrown) {
      setWhy(whyNoRecording(thrown))
    }
  }
  return (
    <>
      <h2 id="export-title">Export this run</h2>
      <p class="muted">
        The file has its conversation, steps, calls and decisions, without secrets. The request starts the same run again. The recording has
        every model request and its response, for toolloop replay.
      </p>
      <pre ref={command} class="code export-code" {...scrollable('Request')}>
        {curlOf(run)}
      </pre>
      <p class="muted" role="status">
        {why}
      </p>
      <div class="buttons">
        <button type="button" class="primary" onClick={download}>
          Download JSON
        </button>
        <button type="button" onClick={downloadRecording}>
          Download recording
        </button>
        <button type="button" onClick={async () => say(await copyOrSelect(command.current))}>
          Copy request
        </button>
        <button type="button" class="quiet" onClick={close}>
          Close
        </button>
        <span class="muted" role="status">
          {said}
        </span>
      </div>
    </>
  )
}

function save(content: Blob, name: string): void {
  const url = URL.createObjectURL(content)
  const link = document.createElement('a')
  link.href = url
  link.download = name
  link.click()
  setTimeout(() => URL.revokeObjectURL(url), 10_000)
}

export function whyNoRecording(thrown: unknown): string {
  const code = thrown instanceof ApiError ? thrown.code : ''
  if (code === 'still_running') return 'The run is still running: its recording is available once it ends or waits.'
  if (code !== 'not_recorded') return messageOf(thrown)
  return 'This run has no recording. Runs are recorded if service.keepRuns.recordingMegabytes is set; the oldest recordings make room for others.'
}
