import { useEffect } from 'preact/hooks'
import type { ToolWithCalls } from '../types.ts'
import { escapedJson } from '../ui/hidden-text.ts'
import { memo } from '../ui/memo.ts'
import { scrollable } from '../ui/scrollable.ts'
import { EffectBadge } from './effect-badge.tsx'
import { Openable } from './openable.tsx'
import { Parameters } from './parameters.tsx'
import { PastCalls } from './past-calls.tsx'
import { TryForm } from './try-form.tsx'

const approvals: Record<ToolWithCalls['approval'], string> = { never: '', always: 'needs approval', depends: 'may need approval' }
const kinds: Record<ToolWithCalls['source']['kind'], string> = {
  registered: 'own',
  builtin: 'built-in',
  skill: 'Skill',
  mcp: 'MCP',
  openapi: 'OpenAPI',
}

interface ToolCardProps {
  tool: ToolWithCalls
  /** Whether the user has navigated to this tool. The card is then opened and gets the focus, and `onShown` is called. */
  isWanted: boolean
  onShown(): void
  onTried(): void
}

/** Shows a tool: its source, parameters and past calls, and a form to try it. */
export const ToolCard = memo(({ tool, isWanted, onShown, onTried }: ToolCardProps) => {
  const { name, description, parameters } = tool.function
  useEffect(() => {
    if (isWanted) onShown()
  }, [isWanted, onShown])
  return (
    <Openable name={name} about={description} marks={<Marks {...tool} />} isWanted={isWanted}>
      <Parameters schema={parameters} />
      <details class="raw">
        <summary class="raw-summary">JSON Schema</summary>
        <pre class="code" {...scrollable(`JSON Schema of ${name}`)}>
          {escapedJson(JSON.stringify(parameters, null, 2))}
        </pre>
      </details>
      {tool.runsHere ? (
        <TryForm key={JSON.stringify(parameters)} tool={tool} onEnd={onTried} />
      ) : (
        <p class="muted">The client runs this tool: it can’t be tried here.</p>
      )}
      <section>
        <h3>Recent calls</h3>
        <div class="past-calls">
          <PastCalls calls={tool.calls} />
        </div>
      </section>
    </Openable>
  )
})

function Marks({ source, effect, approval }: ToolWithCalls) {
  return (
    <>
      <span class="badge off">{[kinds[source.kind], source.name].filter(Boolean).join(': ')}</span>
      <EffectBadge effect={effect} />
      {approvals[approval] !== '' && <span class="badge accent">{approvals[approval]}</span>}
    </>
  )
}
