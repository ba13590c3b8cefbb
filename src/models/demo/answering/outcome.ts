/** What has become of something a request needs. */
export type Outcome<T> =
  | { is: 'known'; value: T }
  /** A tool has been asked for it. */
  | { is: 'pending' }
  /** There is none, `fact` says why: `There are no Python files under src`. */
  | { is: 'none'; fact: string }
  /** It could not be found out; a whole sentence says why. */
  | { is: 'failed'; why: string }

export const pending: Outcome<never> = { is: 'pending' }

/** Known at once. */
export function knownAs<T>(value: T): Outcome<T> {
  return { is: 'known', value }
}

export function failed(why: string): Outcome<never> {
  return { is: 'failed', why }
}

export function none(fact: string): Outcome<never> {
  return { is: 'none', fact }
}

/** Goes on with a known value; anything else stays what it is. */
export function andThen<A, B>(outcome: Outcome<A>, next: (value: A) => Outcome<B>): Outcome<B> {
  return outcome.is === 'known' ? next(outcome.value) : outcome
}

/** All values, once all are known. What is on its way is waited for, also when something else has already failed. */
export function all<T>(outcomes: readonly Outcome<T>[]): Outcome<T[]> {
  const values: T[] = []
  for (const is of ['pending', 'failed', 'none'] as const) {
    const found = outcomes.find((outcome) => outcome.is === is)
    if (found !== undefined && found.is !== 'known') return found
  }
  for (const outcome of outcomes) if (outcome.is === 'known') values.push(outcome.value)
  return knownAs(values)
}
