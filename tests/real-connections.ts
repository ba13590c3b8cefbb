import { registerHooks } from 'node:module'

// The HTTP client decides how long an idle connection is kept, so its clock runs while a test has stopped that of a run. The client is
// loaded with the first request, which may be after a test has stopped the clock.
const { setTimeout, clearTimeout } = globalThis
const kept = Symbol.for('toolloop.tests.timers')
if (!Reflect.has(globalThis, kept)) Reflect.set(globalThis, kept, { setTimeout, clearTimeout })
const realTimers = `'use strict';const { setTimeout, clearTimeout } = globalThis[Symbol.for('${kept.description}')];`

registerHooks({
  load(url, context, next) {
    const loaded = next(url, context)
    if (!url.includes('/node_modules/undici/lib/') || !loaded.source) return loaded
    const text = typeof loaded.source === 'string' ? loaded.source : new TextDecoder().decode(loaded.source)
    // A module with its own timers gets the real ones.
    const isReal = text.startsWith(realTimers) || text.includes("require('node:timers')")
    return { ...loaded, source: isReal ? text : `${realTimers}${text}` }
  },
})

// Node's own dispatcher has the clock of the tests.
const { Agent, getGlobalDispatcher, setGlobalDispatcher } = await import('undici')
if (!(getGlobalDispatcher() instanceof Agent)) setGlobalDispatcher(new Agent())
