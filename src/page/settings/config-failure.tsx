import { ApiError, messageOf, type Problem } from '../data/api.ts'
import { lineOfPath } from '../data/yaml-lines.ts'

/** The text with the problems, and a function that shows one of its lines. */
interface Lines {
  text: string
  showLine(line: number): void
}

/** Says why the file was not saved, or could not be read. */
export function Failure({ thrown, reload, ...lines }: Lines & { thrown: unknown; reload(): void }) {
  if (thrown instanceof ApiError && thrown.status === 412)
    return (
      <div class="error-box">
        <p>
          <strong>Someone else changed the file</strong> since you opened it. Nothing was saved.
        </p>
        <button type="button" onClick={reload}>
          Reload and discard my changes
        </button>
      </div>
    )
  if (thrown instanceof ApiError && thrown.problems.length > 0)
    return (
      <div class="error-box">
        <p>
          <strong>Not saved.</strong> The configuration is unchanged.
        </p>
        <ProblemList problems={thrown.problems} lines={lines} />
      </div>
    )
  return <p class="error-text">{messageOf(thrown)}</p>
}

/** `lines` is undefined if they can't be found. */
export function ProblemList({ problems, lines }: { problems: readonly Problem[]; lines?: Lines }) {
  return (
    <ul class="problems">
      {problems.map(({ path, message }) => {
        const line = lines && lineOfPath(lines.text, path)
        return (
          <li key={`${path} ${message}`}>
            {path !== '' && <code>{path}</code>}
            {` ${message} `}
            {line !== undefined && (
              <button type="button" class="link-button" onClick={() => lines?.showLine(line)}>
                {`Line ${line + 1}`}
              </button>
            )}
          </li>
        )
      })}
    </ul>
  )
}

/** The lines with errors. */
export function badLines(thrown: unknown, text: string): ReadonlySet<number> {
  return new Set(thrown instanceof ApiError ? thrown.problems.flatMap(({ path }) => lineOfPath(text, path) ?? []) : [])
}
