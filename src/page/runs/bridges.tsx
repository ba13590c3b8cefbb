import { useLayoutEffect, useMemo, useRef } from 'preact/hooks'
import type { Call } from '../data/calls.ts'
import { callCard } from '../run/call-card.js'
import { foldedDiff } from '../run/diff.js'
import { showBadge } from '../run/run-badge.js'
import type { Run } from '../types.ts'
import { Dom } from '../ui/dom-bridge.tsx'
import { useLive } from '../ui/live-context.ts'
import { runDetail } from '../views/run.js'

/* What others show of runs by hand, as components. */

export function RunBadge({ run }: { run: Run }) {
  const badge = useRef<HTMLSpanElement>(null)
  useLayoutEffect(() => {
    if (badge.current !== null) showBadge(badge.current, run)
  }, [run])
  return <span ref={badge} class="badge" />
}

export function CallCard({ call, linkTo }: { call: Call; linkTo(call: Call): { href: string; words: string } }) {
  const place = useRef<HTMLDivElement>(null)
  const card = useRef<ReturnType<typeof callCard>>(undefined)
  useLayoutEffect(() => {
    card.current = callCard(call, { linkTo })
    place.current?.replaceChildren(card.current.element)
  }, [])
  useLayoutEffect(() => card.current?.update(call))
  return <div ref={place} style={{ display: 'contents' }} />
}

export function FoldedDiff({ before, after, label }: { before: unknown; after: unknown; label: string }) {
  return <Dom element={useMemo(() => foldedDiff(before, after, label), [before, after, label])} />
}

export function RunView({ id }: { id: string }) {
  const live = useLive()
  const place = useRef<HTMLDivElement>(null)
  useLayoutEffect(() => {
    const view = runDetail(live, id)
    place.current?.replaceChildren(view.element)
    return () => view.close()
  }, [live, id])
  return <div ref={place} style={{ display: 'contents' }} />
}
