import { AsyncLocalStorage } from 'node:async_hooks'

type Warn = (text: string) => void

const current = new AsyncLocalStorage<Warn>()
/** The prefix of the SDK's own console output. */
const prefix = '[mcp-sdk] '
const methods = ['debug', 'info', 'log', 'warn', 'error'] as const

let users = 0
let restore = (): void => {}

/** Runs `work`, and passes the warnings that the SDK writes to the console to `warn` instead. Other console output is not affected. */
export async function withSdkWarnings<T>(warn: Warn, work: () => Promise<T>): Promise<T> {
  if (users++ === 0) restore = intercept()
  try {
    return await current.run(warn, work)
  } finally {
    if (--users === 0) restore()
  }
}

function intercept(): () => void {
  const undo = methods.map((method) => {
    const own = console[method]
    const intercepted = (...args: unknown[]): void => {
      const [text] = args
      const warn = current.getStore()
      if (warn !== undefined && typeof text === 'string' && text.startsWith(prefix)) warn(text.slice(prefix.length))
      else own.apply(console, args)
    }
    console[method] = intercepted
    // Other code may have replaced the console's method in the meantime.
    return () => {
      if (console[method] === intercepted) console[method] = own
    }
  })
  return () => {
    for (const each of undo) each()
  }
}
