import type { ComponentChild } from 'preact'
import { clock, count, duration, moment, money, short } from '../data/format.ts'
import { RunBadge } from '../run/run-badge.tsx'
import type { Run } from '../types.ts'
import { memo } from '../ui/memo.ts'
import { Since } from '../ui/since.tsx'
import { modelWords } from './filter-form.tsx'

/** A run in the list. */
export const RunRow = memo(({ run, href, isSelected }: { run: Run; href: string; isSelected: boolean }) => {
  const { input, model, owner, kind, createdAt } = run
  return (
    <li>
      <a class="run-item" href={href} aria-current={isSelected ? 'true' : undefined}>
        <span class="run-input">{input === '' ? 'No text' : input}</span>
        <span class="run-line">
          <RunBadge run={run} />
          <span class="run-model">{[modelWords(model), owner, kind === 'chat' && 'chat API'].filter(Boolean).join(' · ')}</span>
          <time dateTime={createdAt} title={moment(createdAt)}>
            {clock(createdAt)}
          </time>
        </span>
        <span class="run-line run-numbers">
          <Numbers {...run} />
        </span>
      </a>
    </li>
  )
})

function Numbers({ createdAt, finishedAt, status, toolCalls = 0, usage }: Run) {
  const parts: ComponentChild[] = []
  if (finishedAt !== undefined && status === 'waiting')
    parts.push(
      <>
        waiting for <Since iso={finishedAt} />
      </>,
    )
  else if (finishedAt !== undefined) parts.push(duration(Date.parse(finishedAt) - Date.parse(createdAt)))
  if (toolCalls > 0) parts.push(count(toolCalls, 'call'))
  if (usage !== undefined && usage.totalTokens > 0) parts.push(`${short(usage.totalTokens)} tokens`)
  if (usage?.costUsd !== undefined) parts.push(money(usage.costUsd))
  if (parts.length === 0) return null
  return <span>{parts.flatMap((part, at) => (at > 0 ? [' · ', part] : [part]))}</span>
}
