import { useEffect, useRef } from 'preact/hooks'
import { DecisionList } from '../approvals/decision-list.tsx'
import { Timeline } from '../run/timeline.tsx'
import { useTitle } from '../shell/address.ts'
import { useLive } from '../ui/live-context.ts'
import { useRefocus } from '../ui/refocus.ts'
import { scrollable } from '../ui/scrollable.ts'
import { Composer } from './composer.tsx'
import type { Conversation } from './conversation.ts'
import { ConversationMenu } from './conversation-list.tsx'
import { useStickToEnd } from './stick-to-end.ts'

/** Example questions. Each has the name of the tool that can answer it. */
const examples: [tool: string, text: string][] = [
  ['calculate', 'What is 15% of 240?'],
  ['current_time', 'What time is it in Tokyo?'],
  ['list_files', 'How many TypeScript files are under src, and which is the longest?'],
]

/** Shows a conversation with the agent. Each call appears as it happens. */
export function ChatView({ conversation }: { conversation: Conversation }) {
  useTitle('Chat')
  const { steps, items, isRunning, isEmpty } = conversation
  const view = useRef<HTMLDivElement>(null)
  const log = useRef<HTMLDivElement>(null)
  const input = useRef<HTMLTextAreaElement>(null)
  const now = steps.value
  const shown = useRef(now)
  const write = () => input.current?.focus()
  useEffect(() => {
    void conversation.restore()
  }, [conversation])
  useStickToEnd(log)
  useRefocus(view, input)
  // A new conversation starts with the focus in the field.
  useEffect(() => {
    if (shown.current !== now) input.current?.focus()
    shown.current = now
  }, [now])
  return (
    <div ref={view} class="chat">
      <div class="view-head">
        <h1 tabIndex={-1}>Chat</h1>
        <div class="buttons">
          <ConversationMenu current={conversation.session} />
          <button type="button" class="quiet" onClick={() => conversation.restart()}>
            New conversation
          </button>
        </div>
      </div>
      <div ref={log} class="chat-log" {...scrollable('Conversation')} role="log" aria-live="off" aria-busy={isRunning.value || undefined}>
        {isEmpty.value && (
          <Examples
            onChoose={(text) => {
              conversation.write(text)
              write()
            }}
          />
        )}
        <Timeline steps={now} />
        <DecisionList items={items.value} onDecided={write} />
      </div>
      <Composer conversation={conversation} input={input} />
    </div>
  )
}

/** Example questions for the available tools. */
function Examples({ onChoose }: { onChoose(text: string): void }) {
  const tools = new Set(useLive().state?.tools.map(({ function: { name } }) => name))
  return (
    <div class="chat-empty">
      <p class="muted">Try the agent and its tools. Each tool call is shown as it happens.</p>
      <div class="buttons">
        {examples
          .filter(([tool]) => tools.has(tool))
          .map(([tool, text]) => (
            <button key={tool} type="button" onClick={() => onChoose(text)}>
              {text}
            </button>
          ))}
      </div>
    </div>
  )
}
