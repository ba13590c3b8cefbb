import { type ComponentChildren, Fragment } from 'preact'
import { moment } from '../data/format.ts'
import type { ConfigState } from '../types.ts'
import { ProblemList } from './config-failure.tsx'

/** Shows the state of the configuration file. */
export function ConfigFacts({ state: { file, loadedAt, reloads, lastError, needsRestart } }: { state: ConfigState }) {
  if (file === null) return <p class="notice">The service was started without a configuration file, so there is nothing to edit.</p>
  return (
    <>
      <dl class="facts">
        <Fact name="File">{file}</Fact>
        <Fact name="Loaded">{moment(loadedAt)}</Fact>
        <Fact name="Reloaded">
          {reloads === 0 ? 'not since startup' : reloads === 1 ? 'once since startup' : `${reloads} times since startup`}
        </Fact>
        <Fact name="Status">
          <span class={`badge ${lastError === null ? 'good' : 'bad'}`}>{lastError === null ? 'in use' : 'invalid file'}</span>
        </Fact>
      </dl>
      {needsRestart.length > 0 && (
        <p class="notice wait">
          <span>
            Takes effect after a restart:{' '}
            {needsRestart.map((path, at) => (
              <Fragment key={path}>
                {at > 0 && ', '}
                <code>{path}</code>
              </Fragment>
            ))}
          </span>
        </p>
      )}
      {lastError !== null && (
        <div class="error-box" role="alert">
          <p>
            <strong>The file is invalid.</strong>
            {` Detected ${moment(lastError.at)}. The previous configuration stays in use.`}
          </p>
          <ProblemList problems={lastError.problems} />
        </div>
      )}
    </>
  )
}

function Fact({ name, children }: { name: string; children: ComponentChildren }) {
  return (
    <div>
      <dt>{name}</dt>
      <dd>{children}</dd>
    </div>
  )
}
