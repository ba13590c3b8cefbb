import { visibleLines } from '../../core/text/visible.ts'
import { money, short } from '../data/format.ts'
import type { Share } from '../types.ts'

export interface NamedShare extends Share {
  name: string
  href: string
}

/** Shows runs, failures, tokens and cost by name. The name with the most runs comes first. */
export function ShareTable({ words, shares }: { words: string; shares: readonly NamedShare[] }) {
  const most = Math.max(1, ...shares.map(({ runs }) => runs))
  return (
    <table class="share-table">
      <thead>
        <tr>
          <th scope="col">{words}</th>
          <th scope="col">Runs</th>
          <th scope="col">Failed</th>
          <th scope="col">Tokens</th>
          <th scope="col">Cost</th>
        </tr>
      </thead>
      <tbody>
        {shares.map(({ name, href, runs, failed, tokens, costUsd }) => (
          <tr key={name}>
            <th scope="row">
              <a class="share-link" href={href}>
                {visibleLines(name)}
              </a>
              <span class="bar-share" aria-hidden="true" style={{ '--share': runs / most }} />
            </th>
            <td>{runs.toLocaleString()}</td>
            <td class="share-failed">{failed > 0 && failed.toLocaleString()}</td>
            <td>{short(tokens)}</td>
            <td>{costUsd > 0 && money(costUsd)}</td>
          </tr>
        ))}
      </tbody>
    </table>
  )
}
