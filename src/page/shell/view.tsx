import type { ComponentChildren, FunctionComponent } from 'preact'
import { useEffect } from 'preact/hooks'
import { RunsView } from '../runs/runs-view.tsx'
import { session } from './access.ts'
import { address } from './address.ts'
import { focusHeading, loaded, loadTheRest } from './loaded.tsx'
import type { Place } from './places.ts'

/** How long the first view has the connection to itself, in milliseconds. */
const loadRestMs = 2_000

/** `param` is what the address names in the view: `#/runs/ID`. */
type ViewComponent = FunctionComponent<{ param: string | undefined }>

const ChatView = loaded(() => import('../chat/chat-view.tsx').then((module) => module.ChatView))

const views: Record<Place['name'], ViewComponent> = {
  overview: loaded(() => import('../overview/overview-view.tsx').then(({ OverviewView }) => OverviewView)),
  runs: RunsView,
  approvals: loaded(() => import('../approvals/approvals-view.tsx').then(({ ApprovalsView }) => ApprovalsView)),
  chat: () => session.value && <ChatView conversation={session.value.conversation} />,
  models: loaded(() => import('../settings/models-view.tsx').then(({ ModelsView }) => ModelsView)),
  tools: loaded(() => import('../tools/tools-view.tsx').then(({ ToolsView }) => ToolsView)),
  config: loaded(() => import('../settings/config-view.tsx').then(({ ConfigView }) => ConfigView)),
}

/** The view that the address names. */
export function View() {
  const { place, param } = address.value
  const Now = views[place]
  useEffect(() => {
    const timer = setTimeout(loadTheRest, loadRestMs)
    return () => clearTimeout(timer)
  }, [])
  return (
    <Focused key={place} param={param}>
      <Now param={param} />
    </Focused>
  )
}

function Focused({ param, children }: { param: string | undefined; children: ComponentChildren }) {
  useEffect(focusHeading, [param])
  return <>{children}</>
}
