import type { Durable } from '../journal/journal.ts'

/** What takes the place of a port's own steps and waits. */
export type AroundSteps = Pick<Durable, 'step' | 'wait'>

/** The same port in all else. */
export function aroundSteps(steps: Durable, around: AroundSteps): Durable {
  return new Proxy(steps, {
    get(port, name) {
      if (name === 'step' || name === 'wait') return around[name].bind(around)
      const own: unknown = Reflect.get(port, name)
      return typeof own === 'function' ? own.bind(port) : own
    },
  })
}
