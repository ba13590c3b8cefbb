/**
 * Imports the given modules in order, and prints what each did besides loading modules: files, processes, connections, variables, globals,
 * timers, listeners, warnings.
 */
import child_process from 'node:child_process'
import dgram from 'node:dgram'
import dns from 'node:dns'
import fs from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'
import net from 'node:net'
// It checks the colors of standard error when it is loaded.
import 'node:util'
import worker_threads from 'node:worker_threads'

let did: string[] = []
/** What Node.js itself does while it loads modules. */
const isLoading = (text: string) => /\.([cm]?[jt]s|json|node)$|^fs\.(read|close|fstat)Sync \d+$|^env (NODE|WATCH)_/.test(text)

for (const [name, builtin] of Object.entries({ child_process, dgram, dns, fs, 'fs.promises': fs.promises, net, worker_threads })) {
  for (const [key, original] of Object.entries(builtin)) {
    if (
      typeof original !== 'function' ||
      (/^[A-Z]/.test(key) && !['Socket', 'Server', 'Worker', 'Resolver'].includes(key)) ||
      key === 'markAsUncloneable'
    )
      continue
    const noted = new Proxy(original, {
      apply: (target, self, args) => {
        did.push(`${name}.${key} ${String(args[0])}`)
        return Reflect.apply(target, self, args)
      },
      construct: (target, args, newTarget) => {
        did.push(`new ${name}.${key}`)
        return Reflect.construct(target, args, newTarget)
      },
    })
    Object.defineProperty(builtin, key, { value: noted })
  }
}
syncBuiltinESMExports()
process.env = new Proxy(process.env, {
  get: (target, key) => {
    did.push(`env ${String(key)}`)
    return Reflect.get(target, key)
  },
  ownKeys: (target) => {
    did.push('env, all names')
    return Reflect.ownKeys(target)
  },
})
process.on('warning', (warning) => did.push(`warning ${warning.message}`))

const builtIns = [Object, Array, Function, Promise, String, Number, Map, Set, Error, RegExp, Symbol]
const globalState = () => [
  ...Reflect.ownKeys(globalThis).map((key) => `global ${String(key)}`),
  ...builtIns.flatMap(({ name, prototype }) => Reflect.ownKeys(prototype).map((key) => `${name}.prototype.${String(key)}`)),
  ...process.eventNames().map((event) => `listener ${String(event)} ${process.listenerCount(event)}`),
  ...process.getActiveResourcesInfo().map((kind) => `active ${kind}`),
]

const report: Record<string, string[]> = {}
for (const url of process.argv.slice(2)) {
  const before = new Set(globalState())
  did = []
  await import(url)
  const done = [...did.filter((text) => !isLoading(text)), ...globalState().filter((text) => !before.has(text))]
  if (done.length > 0) report[url] = [...new Set(done)].sort()
}
process.stdout.write(JSON.stringify(report))
