import { FoldedDiff } from '../run/diff.tsx'

/** Shows whether two values are equal, and how they differ. */
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
