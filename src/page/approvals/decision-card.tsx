import { useRef } from 'preact/hooks'
import { visibleLines } from '../../core/text/visible.ts'
import { moment } from '../data/format.ts'
import type { Item } from '../data/pending-items.ts'
import { EffectBadge } from '../tools/effect-badge.tsx'
import { useLive } from '../ui/live-context.ts'
import { useNewId } from '../ui/new-id.ts'
import { isFocusFree } from '../ui/refocus.ts'
import { Since } from '../ui/since.tsx'
import { nextTask } from '../ui/slices.ts'
import { Approval, ClientTool, Question } from './decision-forms.tsx'
import type { FormProps } from './form.tsx'
import type { OpenDecision } from './open-decision.ts'

const titles: Record<Item['kind'], string> = {
  approval: 'Approve this call?',
  client_tool: 'Waiting for a result',
  question: 'Question',
  budget: 'Go on over budget?',
}
const forms = { approval: Approval, client_tool: ClientTool, question: Question, budget: Approval }

export interface DecisionCardProps {
  decision: OpenDecision
  /** Whether the card links to its run. Default false. */
  link?: boolean
  /** Whether the card has a checkbox that selects it for a bulk decision. Default false. */
  hasBox?: boolean
  /** Whether the card shows what the model said before the call. Default true. */
  hasSaid?: boolean
  /** Called after the decision, unless the user has moved the focus elsewhere. */
  onDecided: () => void
}

/** A card on which the user makes one pending decision. It is memoized, so `onDecided` should be a stable function. */
export function DecisionCard({ decision, link = false, hasBox = false, hasSaid = true, onDecided }: DecisionCardProps) {
  const { item, isSelected } = decision
  const live = useLive()
  const card = useRef<HTMLElement>(null)
  const [headingId, errorId] = [useNewId(), useNewId()]
  const Heading = link ? 'h2' : 'h3'
  const Form = forms[item.kind]
  const submit: FormProps['submit'] = async (verdict, said) => {
    if (!(await decision.submit(verdict, said))) return
    live.refresh()
    await nextTask()
    if (isFocusFree(card.current)) onDecided()
  }
  return (
    <article
      ref={card}
      class="decision"
      tabIndex={-1}
      aria-labelledby={headingId}
      aria-busy={decision.isBusy.value ? 'true' : undefined}
      data-decided={decision.decided.value || undefined}
    >
      <header class="decision-head">
        {hasBox && decision.canApprove && (
          <input
            type="checkbox"
            class="decision-select"
            aria-label={`Select ${item.tool}`}
            checked={isSelected.value}
            onChange={({ currentTarget }) => {
              isSelected.value = currentTarget.checked
            }}
          />
        )}
        <Heading id={headingId}>
          {titles[item.kind]} <code>{item.tool}</code>
        </Heading>
        {link && <a href={`#/runs/${encodeURIComponent(item.runId)}`}>Open run</a>}
      </header>
      <p class="muted decision-since">
        {item.plan !== undefined && `Call ${item.plan.at} of ${item.plan.of} in the plan · `}
        Waiting for <Since iso={item.since} title={moment(item.since)} />
        {link && item.owner !== undefined && (
          <>
            {' · started by '}
            <bdi>{visibleLines(item.owner)}</bdi>
          </>
        )}{' '}
        {item.effect !== undefined && <EffectBadge effect={item.effect} />}
      </p>
      {link && item.input !== '' && (
        <p class="muted decision-input">
          Input: <q>{visibleLines(item.input)}</q>
        </p>
      )}
      {item.agents.length > 0 && (
        <p class="muted">
          From agent <code>{visibleLines(item.agents.join(' › '))}</code>
        </p>
      )}
      {hasSaid && item.said !== undefined && (
        <p class="decision-said">
          <span class="muted">The model said: </span>
          <q>{visibleLines(item.said)}</q>
        </p>
      )}
      <Form decision={decision} errorId={errorId} submit={submit} />
      <p class="muted" role="status">
        {decision.isBusy.value ? 'Sending…' : ''}
      </p>
      <p class="error-text" role="alert" id={errorId}>
        {decision.error.value}
      </p>
    </article>
  )
}
