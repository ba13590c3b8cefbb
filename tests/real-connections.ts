import { registerHooks } from 'node:module'

const realTimers = "'use strict';const { setTimeout, clearTimeout } = globalThis;"

// How long an idle connection is kept is the HTTP client's business: its clock goes on while a test has stopped that of a run.
registerHooks({
  load(url, context, next) {
    const loaded = next(url, context)
    if (!url.includes('/node_modules/undici/lib/') || !loaded.source) return loaded
    const text = typeof loaded.source === 'string' ? loaded.source : new TextDecoder().decode(loaded.source)
    return { ...loaded, source: text.startsWith(realTimers) ? text : `${realTimers}${text}` }
  },
})
