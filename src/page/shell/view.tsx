import type { FunctionComponent } from 'preact'
import { useEffect } from 'preact/hooks'
import { RunsView } from '../runs/runs-view.tsx'
import { loaded } from '../ui/loaded.tsx'
import { session } from './access.ts'
import { address } from './address.ts'
import type { Place } from './places.ts'

/** `param` is the part of the address that selects content in the view, such as `ID` in `#/runs/ID`. */
type ViewComponent = FunctionComponent<{ param: string | undefined }>

const views: Record<Place['name'], ViewComponent> = {
  overview: later(() => import('../overview/overview-view.tsx').then(({ OverviewView }) => OverviewView)),
  runs: focused(RunsView),
  sessions: later(() => import('../sessions/sessions-view.tsx').then(({ SessionsView }) => SessionsView)),
  approvals: later(() => import('../approvals/approvals-view.tsx').then(({ ApprovalsView }) => ApprovalsView)),
  chat: later(async () => {
    const { ChatView } = await import('../chat/chat-view.tsx')
    return () => session.value && <ChatView conversation={session.value.conversation} />
  }),
  models: later(() => import('../settings/models-view.tsx').then(({ ModelsView }) => ModelsView)),
  tools: later(() => import('../tools/tools-view.tsx').then(({ ToolsView }) => ToolsView)),
  config: later(() => import('../settings/config-view.tsx').then(({ ConfigView }) => ConfigView)),
}

/** Shows the view that the address names. */
export function View() {
  const { place, param } = address.value
  const Now = views[place]
  return <Now key={place} param={param} />
}

/** Returns a view that is loaded on demand. */
function later(load: () => Promise<ViewComponent>): ViewComponent {
  return loaded(async () => focused(await load()))
}

/** Wraps a view so that its heading gets the focus when the view opens. Keyboard and screen reader users then continue there. */
function focused(Shown: ViewComponent): ViewComponent {
  return function Focused({ param }) {
    useEffect(() => {
      const heading = document.querySelector(param === undefined ? '#main h1' : '#main h2')
      if (heading instanceof HTMLElement) heading.focus({ preventScroll: true })
    }, [param])
    return <Shown param={param} />
  }
}
