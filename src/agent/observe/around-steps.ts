import type { Durable } from '../journal/journal.ts'

/** The methods that replace a journal port's own steps and waits. */
export type AroundSteps = Pick<Durable, 'step' | 'wait'>

/** Returns a port that is otherwise unchanged. */
export function aroundSteps(steps: Durable, around: AroundSteps): Durable {
  return new Proxy(steps, {
    get(port, name) {
      if (name === 'step' || name === 'wait') return around[name].bind(around)
      const own: unknown = Reflect.get(port, name)
      return typeof own === 'function' ? own.bind(port) : own
    },
  })
}
