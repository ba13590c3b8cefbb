import type { ToolWithCalls } from '../types.ts'

const words: Record<ToolWithCalls['effect'], string> = {
  read: 'read-only',
  idempotent: 'safe to repeat',
  unsafe: 'may have side effects',
}

/** Shows what a call of a tool may do. */
export function EffectBadge({ effect }: Pick<ToolWithCalls, 'effect'>) {
  return <span class={`badge ${effect === 'unsafe' ? 'wait' : 'off'}`}>{words[effect] ?? effect}</span>
}
