import { type AnyTool, defineTool } from '../../src/tools/tool.ts'

/** Counts its calls, with their arguments. */
export interface Counted {
  tool: AnyTool
  calls: unknown[]
}

const anything = { type: ['string', 'number', 'boolean', 'object', 'array', 'null'] }

/**
 * A tool that accepts anything and returns `returns`, or what it computes from the arguments. Some have named arguments, so that tags can
 * give them types.
 */
export function countingTool(name: string, returns: unknown | ((args: unknown) => unknown) = `${name} done`): Counted {
  const calls: unknown[] = []
  const tool = defineTool({
    name,
    description: name,
    parameters: { type: 'object', properties: { a: anything, b: anything, n: anything } },
    execute: (args) => {
      calls.push(structuredClone(args))
      return typeof returns === 'function' ? returns(args) : returns
    },
  })
  return { tool, calls }
}

/** A tool that never settles and ignores its signal. `called` resolves when it is called. */
export function deafTool(name = 'deaf', options: { timeoutMs?: number } = {}): { tool: AnyTool; called: Promise<AbortSignal> } {
  const called = Promise.withResolvers<AbortSignal>()
  const tool = defineTool({
    name,
    description: 'hears nothing',
    parameters: { type: 'object' },
    ...options,
    execute: (_args, { signal }) => {
      called.resolve(signal)
      return new Promise(() => {})
    },
  })
  return { tool, called: called.promise }
}

/** A tool that waits until `release` is called. */
export function gatedTool(name: string): {
  tool: AnyTool
  called: Promise<void>
  release(value?: unknown): void
  fail(reason: unknown): void
} {
  const called = Promise.withResolvers<void>()
  const gate = Promise.withResolvers<unknown>()
  const tool = defineTool({
    name,
    description: 'waits to be released',
    parameters: { type: 'object' },
    execute: () => {
      called.resolve()
      return gate.promise
    },
  })
  return { tool, called: called.promise, release: (value = `${name} done`) => gate.resolve(value), fail: gate.reject }
}

/** A scripted call; a text is sent unchanged. */
export function call(name: string, args: Record<string, never> | string | object = {}, id?: string) {
  return { name, args: typeof args === 'string' ? args : JSON.stringify(args), ...(id === undefined ? {} : { id }) }
}

/** An object that looks like a promise, written so that it can't be one by mistake. */
export function thenable(then: (resolve: (value: unknown) => void, reject: (reason: unknown) => void) => void): object {
  return Object.defineProperty({}, 'then', { value: then })
}
