import { FoldedDiff } from '../run/diff.tsx'

/** Whether two values are the same, and what is different. */
export function Compared({ before, after, label }: { before: unknown; after: unknown; label: string }) {
  const [one, other] = [before, after].map((value) => (typeof value === 'string' ? value : JSON.stringify(value)))
  if (one === other) return <p class="muted">{label}: the same</p>
  return (
    <div>
      <p class="muted">{label}: different</p>
      <FoldedDiff before={before ?? ''} after={after ?? ''} label={`${label}, first and second run`} />
    </div>
  )
}
