import { useChat } from '@ai-sdk/react'
import { DefaultChatTransport, getToolName, isToolUIPart, lastAssistantMessageIsCompleteWithApprovalResponses } from 'ai'
import { type FormEvent, useEffect } from 'react'
import { createRoot } from 'react-dom/client'

const api = '/agent/ui/chat'
const transport = new DefaultChatTransport({ api })
// One chat for each tab. What has been said is kept here; keep it in your database if it shall be there elsewhere too.
const id = sessionStorage.getItem('chat') ?? crypto.randomUUID()
sessionStorage.setItem('chat', id)

function Chat() {
  const { messages, status, error, sendMessage, addToolApprovalResponse, stop } = useChat({
    id,
    transport,
    messages: JSON.parse(sessionStorage.getItem(id) ?? '[]'),
    resume: true,
    sendAutomaticallyWhen: lastAssistantMessageIsCompleteWithApprovalResponses,
  })
  const isBusy = status === 'submitted' || status === 'streaming'
  // After a reload, a message that is being written is received again from its beginning.
  useEffect(() => {
    if (status !== 'streaming') sessionStorage.setItem(id, JSON.stringify(messages))
  }, [messages, status])

  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault()
    sendMessage({ text: String(new FormData(event.currentTarget).get('text')) })
    event.currentTarget.reset()
  }
  // Leaving a stream doesn't end the run: `stop` only stops reading.
  const cancel = () => Promise.all([stop(), fetch(`${api}/${id}/stop`, { method: 'POST' })])

  return (
    <main>
      {messages.map((message) => (
        <article key={message.id} aria-label={message.role}>
          {message.parts.map((part, index) => {
            const key = `${message.id}/${index}`
            if (part.type === 'text') return <p key={key}>{part.text}</p>
            if (!isToolUIPart(part)) return null
            const { state, approval } = part
            return (
              <section key={key} aria-label={getToolName(part)}>
                {getToolName(part)} {JSON.stringify(part.input)} {state === 'output-available' ? JSON.stringify(part.output) : state}
                {state === 'approval-requested' && (
                  <>
                    <button type="button" onClick={() => addToolApprovalResponse({ id: approval.id, approved: true })}>
                      Approve
                    </button>
                    <button type="button" onClick={() => addToolApprovalResponse({ id: approval.id, approved: false })}>
                      Refuse
                    </button>
                  </>
                )}
              </section>
            )
          })}
        </article>
      ))}
      {error !== undefined && <p role="alert">{error.message}</p>}
      <form onSubmit={submit}>
        <input name="text" aria-label="Message" required />
        <button type="submit" disabled={isBusy}>
          Send
        </button>
        <button type="button" disabled={!isBusy} onClick={cancel}>
          Stop
        </button>
      </form>
    </main>
  )
}

const root = document.getElementById('root')
if (root !== null) createRoot(root).render(<Chat />)
