import { visibleLines } from '../../core/text/visible.ts'
import { clock, moment } from '../data/format.ts'
import { ValueView } from '../reading/value-view.tsx'
import { Diff } from '../run/diff.tsx'
import type { Decision } from '../types.ts'

const verdicts: Record<Decision['verdict'], string> = {
  approved: 'approved',
  edited: 'approved with other arguments:',
  rejected: 'rejected',
  answered: 'answered',
  result: 'gave the result of',
}

/** Lists past decisions, who made them, and when. */
export function DecisionHistory({ decisions }: { decisions: readonly Decision[] }) {
  if (decisions.length === 0) return null
  return (
    <section class="decided" aria-label="Decisions">
      <h3>Decisions</h3>
      <ol class="decided-list">
        {decisions.map((decision) => (
          <Decided key={`${decision.toolCallId} ${decision.at}`} {...decision} />
        ))}
      </ol>
    </section>
  )
}

function Decided({ at, by, tool, agents = [], verdict, args, edited, about, reason, note, answer, result }: Decision) {
  return (
    <li class={`decided-item ${verdict}`}>
      <p>
        <strong>{by}</strong>
        {` ${verdicts[verdict] ?? verdict} `}
        <code>{visibleLines(tool)}</code>
        {agents.length > 0 && ` of ${visibleLines(agents.join(' › '))}`}{' '}
        <time dateTime={at} title={moment(at)} class="muted">
          {clock(at)}
        </time>
      </p>
      {reason !== undefined && (
        <p class="decision-about">
          <q>{visibleLines(reason)}</q>
        </p>
      )}
      {note !== undefined && <p class="decision-about muted">{visibleLines(note)}</p>}
      {typeof about === 'string' && <p class="decision-about muted">{visibleLines(about)}</p>}
      {edited === undefined ? <Value label="Arguments" value={args} /> : <Diff before={args} after={edited} label="Changed arguments" />}
      {verdict === 'answered' && <Value label="Answer" value={answer} />}
      {verdict === 'result' && <Value label="Result" value={result} />}
    </li>
  )
}

function Value({ label, value }: { label: string; value: unknown }) {
  const isEmpty = typeof value === 'object' && value !== null && Object.keys(value).length === 0
  return value === undefined || isEmpty ? null : <ValueView value={value} label={label} />
}
