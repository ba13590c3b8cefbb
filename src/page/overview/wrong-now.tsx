import { useState } from 'preact/hooks'
import { ask } from '../data/api.ts'
import { count, ending } from '../data/format.ts'
import { runsHref } from '../runs/addresses.ts'
import type { McpServer, Overview } from '../types.ts'
import { useLive, useWhenConnected } from '../ui/live-context.ts'
import { Since } from '../ui/since.tsx'
import { endedHref } from './links.ts'

interface Problem {
  key: string
  kind: 'error' | 'wait'
  words: string
  href: string
  since?: string
}

/** Lists problems that somebody should solve now, each with a link. */
export function WrongNow({ overview, name }: { overview: Overview | undefined; name: string }) {
  const { pending, state, waiting } = useLive()
  const { gone, servers } = useElsewhere(overview)
  const problems: Problem[] = []
  if (state?.config.lastError) problems.push({ key: 'config', kind: 'error', words: 'The configuration file is invalid', href: '#/config' })
  for (const { name: server, state: is, problem = is } of servers)
    problems.push({ key: `server ${server}`, kind: 'error', words: `The MCP server ${server} can’t be used: ${problem}`, href: '#/tools' })
  if (gone > 0)
    problems.push({ key: 'gone', kind: 'error', words: `${count(gone, 'run')} whose process is gone`, href: runsHref({ process: 'gone' }) })
  for (const { stopReason, errorCode, runs } of overview?.reasons ?? [])
    if (stopReason !== 'aborted' && overview !== undefined)
      problems.push({
        key: `${stopReason} ${errorCode}`,
        kind: 'error',
        words: `${count(runs, 'run')} in the last ${name}: ${[ending(stopReason), errorCode].filter(Boolean).join(', ')}`,
        href: endedHref(overview, { stopReason, errorCode: errorCode ?? '' }),
      })
  const since = pending[0]?.since
  if (waiting > 0)
    problems.push({
      key: 'waiting',
      kind: 'wait',
      words: `${count(waiting, 'call')} ${waiting === 1 ? 'waits' : 'wait'} for a decision`,
      href: '#/approvals',
      since,
    })
  if (overview === undefined) return null
  return (
    <section class="wrong" aria-label="What needs attention">
      {problems.length === 0 ? (
        <p class="wrong-line good">{`Nothing is wrong: no run has failed in the last ${name}, and nothing waits for you.`}</p>
      ) : (
        <ul>
          {problems.map(({ key, kind, words, href, since: begun }) => (
            <li key={key} class={`wrong-line ${kind}`}>
              <a class="wrong-link" href={href}>
                {words}
              </a>
              {begun !== undefined && (
                <span class="muted">
                  the first for <Since iso={begun} />
                </span>
              )}
            </li>
          ))}
        </ul>
      )}
    </section>
  )
}

/**
 * Returns the number of runs whose process is gone, and the MCP servers that are unavailable. Both are requested again with each overview.
 */
function useElsewhere(overview: Overview | undefined): { gone: number; servers: McpServer[] } {
  const [found, setFound] = useState<{ gone: number; servers: McpServer[] }>({ gone: 0, servers: [] })
  useWhenConnected(async () => {
    const [runs, tools] = await Promise.all([
      ask('v1/runs?process=gone&limit=1&totals=true').catch(() => undefined),
      // This request is refused if the user may not see the configuration, so an error is ignored.
      ask('admin/api/tools').catch(() => undefined),
    ])
    const servers: McpServer[] = tools?.servers ?? []
    setFound({ gone: runs?.totals?.runs ?? 0, servers: servers.filter(({ state }) => state === 'down') })
  }, overview?.from)
  return found
}
