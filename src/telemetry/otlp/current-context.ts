import { AsyncLocalStorage } from 'node:async_hooks'
import { type Context, type ContextManager, ROOT_CONTEXT } from '../api.ts'

/** Keeps which span is current, over everything asynchronous. */
export class CurrentContext implements ContextManager {
  readonly #storage = new AsyncLocalStorage<Context>()

  active(): Context {
    return this.#storage.getStore() ?? ROOT_CONTEXT
  }

  with<Args extends unknown[], Work extends (...args: Args) => ReturnType<Work>>(
    context: Context,
    work: Work,
    self?: ThisParameterType<Work>,
    ...args: Args
  ): ReturnType<Work> {
    return this.#storage.run(context, () => work.apply(self, args))
  }

  bind<T>(context: Context, target: T): T {
    if (typeof target !== 'function') return target
    const bound = (...args: unknown[]): unknown => this.#storage.run(context, () => target(...args))
    return bound as T
  }

  enable(): this {
    return this
  }

  disable(): this {
    this.#storage.disable()
    return this
  }
}
