/** Values that throw or misbehave when they are inspected. A tool may throw or return them, and they may be logged. */
export function hostileValues(): [name: string, value: unknown][] {
  const revoked = Proxy.revocable({}, {})
  const revokedFunction = Proxy.revocable(() => {}, {})
  revoked.revoke()
  revokedFunction.revoke()
  const fight = (): never => {
    throw new Error('hands off')
  }
  const trap = new Proxy({}, { get: fight, has: fight, ownKeys: fight, getPrototypeOf: fight, getOwnPropertyDescriptor: fight })
  const getter = (name: string) => Object.defineProperty({}, name, { get: fight, enumerable: true })
  const error = (fields: PropertyDescriptorMap) => Object.defineProperties(new Error('x'), fields)
  const circular: { self?: object } = {}
  circular.self = circular
  let deep: object = {}
  for (let i = 0; i < 50_000; i++) deep = { deep }
  return [
    ['a revoked proxy', revoked.proxy],
    ['a revoked function proxy', revokedFunction.proxy],
    ['a proxy whose traps throw', trap],
    ['a `message` that throws', getter('message')],
    ['a `name` that throws', getter('name')],
    ['a `then` that throws', getter('then')],
    ['a `toJSON` that throws', { toJSON: fight }],
    ['a `toJSON` getter that throws', getter('toJSON')],
    ['a `toString` that throws', { toString: fight, [Symbol.toPrimitive]: fight }],
    ['a tag that throws', Object.defineProperty({ toJSON: () => undefined }, Symbol.toStringTag, { get: fight })],
    ['an Error whose message throws', error({ message: { get: fight } })],
    ['an Error whose stack throws', error({ stack: { get: fight } })],
    ['an Error whose name is none', error({ message: { value: '' }, name: { value: undefined } })],
    ['an Error whose name throws', error({ message: { value: '' }, name: { get: fight } })],
    ['an Error whose message is none', error({ message: { value: 7 } })],
    [
      'an Error that is its own cause',
      (() => {
        const own = new Error('own')
        own.cause = own
        return own
      })(),
    ],
    ['an AggregateError of hostile errors', new AggregateError([revoked.proxy, trap, null, 7])],
    ['a function whose name is a symbol', Object.defineProperty(() => {}, 'name', { value: Symbol('n') })],
    ['an object without a prototype', Object.create(null)],
    ['a circular object', circular],
    ['an object 50 000 levels deep', deep],
    ['an array of hostile values', [revoked.proxy, trap]],
    ['a field of a hostile value', { field: trap }],
    ['a symbol', Symbol('s')],
    ['a BigInt', 10n ** 30n],
    ['a BigInt in an object', { big: 1n }],
    ['a function', fight],
    ['an arrow function without a name', (() => () => {})()],
    ['undefined', undefined],
    ['null', null],
    ['NaN', Number.NaN],
    ['-0', -0],
    ['an invalid date', new Date(Number.NaN)],
    ['a lone surrogate', '\ud800'],
    ['a long text', 'x'.repeat(2_000_000)],
    ['a long Error', new Error('y'.repeat(2_000_000))],
    [
      'a Map with hostile keys',
      new Map<unknown, unknown>([
        [trap, trap],
        [Object.create(null), 1],
        [Symbol('k'), 2],
      ]),
    ],
    ['a Set of hostile values', new Set([trap])],
    ['a WeakMap', new WeakMap()],
    ['a promise', new Promise(() => {})],
    ['a sparse array', Array.from({ length: 3 }).fill(1, 2)],
    ['a Buffer', Buffer.from('bytes')],
    ['a URL with a password', new URL('https://user:hunter22@host/')],
    ['an iterator that throws', { [Symbol.iterator]: fight }],
  ]
}
