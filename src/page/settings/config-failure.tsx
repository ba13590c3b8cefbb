import { ApiError, messageOf, type Problem } from '../data/api.ts'
import type { YamlLines } from '../yaml/yaml-lines.ts'

/** The lines of the invalid text, and a function that shows one of them. */
interface Lines {
  lines: YamlLines
  showLine(line: number): void
}

/** Explains why the file was not saved, or could not be read. */
export function Failure({ thrown, reload, ...place }: Lines & { thrown: unknown; reload(): void }) {
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
        <ProblemList problems={thrown.problems} place={place} />
      </div>
    )
  return <p class="error-text">{messageOf(thrown)}</p>
}

/** Lists problems. `place` is undefined if their lines can't be found. */
export function ProblemList({ problems, place }: { problems: readonly Problem[]; place?: Lines }) {
  return (
    <ul class="problems">
      {problems.map(({ path, message }) => {
        const line = place?.lines.lineOf(path)
        return (
          <li key={`${path} ${message}`}>
            {path !== '' && <code>{path}</code>}
            {` ${message} `}
            {line !== undefined && (
              <button type="button" class="link-button" onClick={() => place?.showLine(line)}>
                {`Line ${line + 1}`}
              </button>
            )}
          </li>
        )
      })}
    </ul>
  )
}

/** Returns the numbers of the lines with errors. */
export function badLines(thrown: unknown, lines: YamlLines): ReadonlySet<number> {
  return new Set(thrown instanceof ApiError ? thrown.problems.flatMap(({ path }) => lines.lineOf(path) ?? []) : [])
}
