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

const views: Partial<Record<Place['name'], ViewComponent>> = {
  overview: OverviewView,
  runs: RunsView,
  approvals: ApprovalsView,
  chat: () => (session.value === undefined ? null : <ChatView conversation={session.value.conversation} />),
}

/** What hardly anybody comes for first is loaded when it is gone to. */
const later: Partial<Record<Place['name'], () => Promise<ViewComponent>>> = {
  models: () => import('../settings/models-view.tsx').then(({ ModelsView }) => ModelsView),
  tools: () => import('../tools/tools-view.tsx').then(({ ToolsView }) => ToolsView),
  config: () => import('../settings/config-view.tsx').then(({ ConfigView }) => ConfigView),
}

/** The view that the address names. Its heading gets the focus, so that keyboard and screen reader go on from there. */
export function View() {
  const { place, param } = address.value
  const Now = views[place]
  if (Now !== undefined)
    return (
      <Focused key={place} param={param}>
        <Now param={param} />
      </Focused>
    )
  const load = later[place]
  return load === undefined ? null : <Loaded key={place} load={load} param={param} />
}

function Loaded({ load, param }: { load: () => Promise<ViewComponent>; param: string | undefined }) {
  const [loaded, setLoaded] = useState<{ View: ViewComponent } | { failure: string }>()
  useEffect(() => {
    load().then(
      (View) => setLoaded({ View }),
      (thrown: unknown) => setLoaded({ failure: messageOf(thrown) }),
    )
  }, [load])
  if (loaded === undefined) return null
  if ('failure' in loaded)
    return <p class="error-text" role="alert">{`This view could not be loaded: ${loaded.failure}. Reload the page.`}</p>
  return (
    <Focused param={param}>
      <loaded.View param={param} />
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
