import type { ComponentChildren, FunctionComponent } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { ApprovalsView } from '../approvals/approvals-view.tsx'
import { ChatView } from '../chat/chat-view.tsx'
import { messageOf } from '../data/api.ts'
import { OverviewView } from '../overview/overview-view.tsx'
import { RunsView } from '../runs/runs-view.tsx'
import { session } from './access.ts'
import { address } from './address.ts'
import type { Place } from './places.ts'

/** `param` is what the address names in the view: `#/runs/ID`. */
type ViewComponent = FunctionComponent<{ param: string | undefined }>

const views: Record<Place['name'], ViewComponent> = {
  overview: OverviewView,
  runs: RunsView,
  approvals: ApprovalsView,
  chat: () => session.value && <ChatView conversation={session.value.conversation} />,
  models: loaded(() => import('../settings/models-view.tsx').then(({ ModelsView }) => ModelsView)),
  tools: loaded(() => import('../tools/tools-view.tsx').then(({ ToolsView }) => ToolsView)),
  config: loaded(() => import('../settings/config-view.tsx').then(({ ConfigView }) => ConfigView)),
}

/** The view that the address names. Its heading gets the focus, so that keyboard and screen reader go on from there. */
export function View() {
  const { place, param } = address.value
  const Now = views[place]
  return (
    <Focused key={place} param={param}>
      <Now param={param} />
    </Focused>
  )
}

function Focused({ param, children }: { param: string | undefined; children: ComponentChildren }) {
  useEffect(() => {
    const heading = document.querySelector(param === undefined ? '#main h1' : '#main h2')
    if (heading instanceof HTMLElement) heading.focus({ preventScroll: true })
  }, [param])
  return <>{children}</>
}

/** What hardly anybody comes for first is loaded when it is gone to. */
function loaded(load: () => Promise<ViewComponent>): ViewComponent {
  return function Loaded({ param }) {
    const [view, setView] = useState<{ View: ViewComponent } | { failure: string }>()
    useEffect(() => {
      load().then(
        (View) => setView({ View }),
        (thrown: unknown) => setView({ failure: messageOf(thrown) }),
      )
    }, [])
    if (view === undefined) return null
    if ('failure' in view)
      return <p class="error-text" role="alert">{`This view could not be loaded: ${view.failure}. Reload the page.`}</p>
    return (
      <Focused param={param}>
        <view.View param={param} />
      </Focused>
    )
  }
}
