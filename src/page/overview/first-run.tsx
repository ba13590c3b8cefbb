import { useRef, useState } from 'preact/hooks'
import { base, messageOf, post } from '../data/api.ts'
import { copyOrSelect } from '../ui/copy.tsx'
import { useLive } from '../ui/live-context.ts'
import { scrollable } from '../ui/scrollable.ts'

const command = `curl -s ${new URL('v1/runs', base)} \\\n  -H "authorization: Bearer $TOKEN" -H 'content-type: application/json' \\\n  -d '{"input": "What is 17 * 23?"}'`

/** Explains how to start a first run. Shown if there are no runs. */
export function FirstRun({ why }: { why: string }) {
  const text = useRef<HTMLPreElement>(null)
  const [said, say] = useState('')
  const [isStarting, setStarting] = useState(false)
  const demo = useLive().state?.models.find(({ provider }) => provider === 'demo')
  const start = async () => {
    if (isStarting) return
    setStarting(true)
    try {
      const { id } = await post('v1/runs', { input: 'What is 17 * 23?', model: demo?.name, background: true })
      location.hash = `#/runs/${encodeURIComponent(id)}`
    } catch (thrown) {
      say(messageOf(thrown))
    } finally {
      setStarting(false)
    }
  }
  return (
    <div class="empty first-run">
      <p>{why}</p>
      <p>
        Start one with a token of the role <code>run</code>:
      </p>
      <pre ref={text} class="code" {...scrollable('Command')}>
        {command}
      </pre>
      <div class="buttons">
        {demo !== undefined && (
          <button type="button" class="primary" onClick={start}>
            Start a demo run
          </button>
        )}
        <button type="button" onClick={async () => say(await copyOrSelect(text.current))}>
          Copy command
        </button>
        <p>
          <a href="#/chat">Or chat with the agent</a>
        </p>
        <span class="muted" role="status">
          {said}
        </span>
      </div>
    </div>
  )
}
