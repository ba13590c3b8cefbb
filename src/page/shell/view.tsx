import type { ComponentChildren, ComponentType } from 'preact'
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks'
import { messageOf } from '../data/api.js'
import type { Live } from '../data/live.js'
import { OverviewView } from '../overview/overview-view.tsx'
import { RunsView } from '../runs/runs-view.tsx'
import type { View as MadeByHand } from '../types.js'
import { Dom } from '../ui/dom-bridge.tsx'
import { useLive } from '../ui/live-context.ts'
import { approvalsView } from '../views/approvals.js'
import type { Chat } from '../views/chat.js'
import { address, title } from './address.ts'
import type { Place } from './places.ts'

type Make = (context: { live: Live }, param?: string) => MadeByHand & { navigate?(param: string | undefined): void }

const drawn: Partial<Record<Place['name'], ComponentType<{ param: string | undefined }>>> = {
  overview: OverviewView,
  runs: RunsView,
}

/** What hardly anybody comes for first is loaded when it is gone to. */
const later: Partial<Record<Place['name'], () => Promise<Make>>> = {
  models: () => import('../views/models.js').then(({ modelsView }) => modelsView),
  tools: () => import('../views/tools.js').then(({ toolsView }) => toolsView),
  config: () => import('../views/config.js').then(({ configView }) => configView),
}

/** The view that the address names. Its heading gets the focus, so that keyboard and screen reader go on from there. */
export function View({ chat }: { chat: Chat }) {
  const { place, param } = address.value
  const views: Partial<Record<Place['name'], Make>> = {
    approvals: approvalsView,
    chat: () => chat.show(),
  }
  const Drawn = drawn[place]
  if (Drawn !== undefined)
    return (
      <Focused key={place} param={param}>
        <Drawn param={param} />
      </Focused>
    )
  const now = views[place]
  if (now !== undefined) return <HandMade key={place} make={now} param={param} />
  const load = later[place]
  return load === undefined ? null : <Loaded key={place} load={load} param={param} />
}

function Loaded({ load, param }: { load: () => Promise<Make>; param: string | undefined }) {
  const [loaded, setLoaded] = useState<{ make: Make } | { failure: string }>()
  useEffect(() => {
    load().then(
      (make) => setLoaded({ make }),
      (thrown: unknown) => setLoaded({ failure: messageOf(thrown) }),
    )
  }, [load])
  if (loaded === undefined) return null
  if ('make' in loaded) return <HandMade make={loaded.make} param={param} />
  return <p class="error-text" role="alert">{`This view could not be loaded: ${loaded.failure}. Reload the page.`}</p>
}

function HandMade({ make, param }: { make: Make; param: string | undefined }) {
  const live = useLive()
  const [view, setView] = useState<ReturnType<Make>>()
  const shown = useRef(param)
  // Not while this is being drawn: parts of it are components, with a drawing of their own.
  useLayoutEffect(() => {
    const made = make({ live }, param)
    setView(made)
    return () => made.close?.()
  }, [])
  useEffect(() => {
    if (view === undefined) return
    if (shown.current !== param) view.navigate?.(param)
    shown.current = param
    title.value = view.title
  }, [view, param])
  if (view === undefined) return null
  return (
    <Focused param={param}>
      <Dom element={view.element} />
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
