import { Fragment } from 'preact'

/** Shows the environment variables of a key and, if known, whether one of them is set. */
export function KeyLine({ variables, isSet }: { variables: readonly string[]; isSet: boolean | undefined }) {
  return (
    <p class="muted card-line key-line">
      {variables.length === 0 ? 'Key: no variable set' : 'Key in '}
      {variables.map((one, at) => (
        <Fragment key={one}>
          {at > 0 && ' or '}
          <code>{one}</code>
        </Fragment>
      ))}
      {isSet !== undefined && <span class={`badge ${isSet ? 'good' : 'bad'}`}>{isSet ? 'has key' : 'no key'}</span>}
    </p>
  )
}
