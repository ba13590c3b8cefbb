import { type Signal, signal } from '@preact/signals'
import { render } from 'preact'
import { DecisionList as Decisions } from '../approvals/decision-list.tsx'
import type { Call } from '../data/calls.ts'
import type { Live } from '../data/live.ts'
import type { Item } from '../data/pending-items.ts'
import type { Run } from '../types.ts'
import { toDom } from '../ui/dom-bridge.tsx'
import { LiveContext } from '../ui/live-context.ts'
import { CallCard, type CallCardProps } from './call-card.tsx'
import { FoldedDiff } from './diff.tsx'
import { RunBadge } from './run-badge.tsx'
import { RunView } from './run-view.tsx'
import { Steps } from './steps.ts'
import { Timeline as Shown } from './timeline.tsx'

// Components of this folder for the views that are still made by hand.

export function foldedDiff(before: unknown, after: unknown, label: string): HTMLElement {
  return toDom(<FoldedDiff before={before} after={after} label={label} />)
}

export function showBadge(badge: Element, run: Pick<Run, 'status' | 'stopReason'>): void {
  const made = toDom(<RunBadge run={run} />).firstElementChild
  badge.className = made?.className ?? ''
  if (badge.textContent !== made?.textContent) badge.textContent = made?.textContent ?? ''
}

export function callCard(call: Call, options: Omit<CallCardProps, 'call'> = {}): { element: HTMLElement; update(call: Call): void } {
  const element = document.createElement('div')
  const update = (now: Call) => render(<CallCard call={now} {...options} />, element)
  update(call)
  return { element, update }
}

export function runDetail(live: Live, id: string): { element: HTMLElement; close(): void } {
  const element = document.createElement('div')
  element.style.display = 'contents'
  render(
    <LiveContext.Provider value={live}>
      <RunView id={id} />
    </LiveContext.Provider>,
    element,
  )
  return { element, close: () => render(null, element) }
}

export class Timeline extends Steps {
  readonly element: HTMLElement = toDom(<Shown steps={this} />)
}

export class DecisionList {
  readonly #items: Signal<readonly Item[]> = signal([])
  readonly element: HTMLElement

  constructor({ onDecided }: { onDecided: () => void }) {
    const Bound = () => <Decisions items={this.#items.value} onDecided={onDecided} />
    this.element = toDom(<Bound />)
  }

  show(items: readonly Item[]): void {
    this.#items.value = items
  }

  clear(): void {
    this.#items.value = []
  }
}
