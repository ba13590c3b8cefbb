import { hostileValues } from '../hostile-values.ts'

/** Fits every function type. */
export type Bad = () => never

/** A way in which a callback may misbehave. */
export interface Misbehaviour {
  name: string
  call: Bad
}

const taken = [
  'a revoked proxy',
  'a revoked function proxy',
  'a proxy whose traps throw',
  'a `message` that throws',
  'a `then` that throws',
  'a `toJSON` that throws',
  'an Error whose message throws',
  'an Error whose stack throws',
  'an Error whose name throws',
  'an AggregateError of hostile errors',
  'an array of hostile values',
  'a field of a hostile value',
  'a symbol',
  'a function',
  'undefined',
  'null',
  'an iterator that throws',
]

/** The quick tests try these. */
const few = [
  'throws an Error',
  'throws an Error whose message throws',
  'throws a revoked proxy',
  'rejects with an Error',
  'rejects with a proxy whose traps throw',
  'returns a revoked proxy',
  'returns undefined',
  'resolves with an Error',
  'returns a thenable that rejects later',
  'never settles',
]

export function fewMisbehaviours(): Misbehaviour[] {
  return misbehaviours().filter(({ name }) => few.includes(name))
}

/** Each value is thrown, rejected with, returned and resolved with. Further ways are thenables, and a promise that never settles. */
export function misbehaviours(): Misbehaviour[] {
  const values: [string, unknown][] = [
    ['an Error', new Error('bad')],
    ['a text', 'bad'],
    ...hostileValues().filter(([name]) => taken.includes(name)),
  ]
  const thenables: [string, object][] = [
    ['rejects at once', thenable((_: unknown, reject: (error: unknown) => void) => reject(new Error('bad')))],
    ['rejects later', thenable((_: unknown, reject: (error: unknown) => void) => setImmediate(reject, new Error('bad')))],
    ['throws', thenable(() => fail(new Error('bad')))],
    ['resolves with one that rejects', thenable((resolve: (value: unknown) => void) => resolve(Promise.reject(new Error('bad'))))],
    [
      'is a function',
      Object.assign(
        () => {},
        thenable((_: unknown, reject: (error: unknown) => void) => reject(new Error('bad'))),
      ),
    ],
    ['never settles', thenable(() => {})],
  ]
  return [
    ...values.flatMap(([name, value]) => [
      { name: `throws ${name}`, call: () => fail(value) },
      { name: `rejects with ${name}`, call: () => Promise.reject(value) as never },
      { name: `returns ${name}`, call: () => value as never },
      { name: `resolves with ${name}`, call: () => new Promise((resolve) => resolve(value)) as never },
    ]),
    ...thenables.map(([name, thenable]) => ({ name: `returns a thenable that ${name}`, call: () => thenable as never })),
    { name: 'never settles', call: () => new Promise(() => {}) as never },
  ]
}

/** Not a literal: one with a `then` is a lint error. */
function thenable(then: (resolve: (value: unknown) => void, reject: (error: unknown) => void) => unknown): object {
  return Object.fromEntries([['then', then]])
}

function fail(value: unknown): never {
  throw value
}
