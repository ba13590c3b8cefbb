import type { McpServer } from '../types.ts'

export function ServerList({ servers }: { servers: McpServer[] }) {
  if (servers.length === 0) return null
  return (
    <section>
      <h2 class="servers-head">MCP servers</h2>
      <ul class="servers">
        {servers.map(({ name, state, problem }) => (
          <li key={name}>
            <code>{name}</code>
            <span class={`badge ${state === 'ready' ? 'good' : 'bad'}`}>{state}</span>
            {problem !== undefined && <span class="muted">{problem}</span>}
          </li>
        ))}
      </ul>
    </section>
  )
}
