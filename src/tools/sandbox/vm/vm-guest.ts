/**
 * The first code in a new VM, before that of the script. Defines `console` and `host`, calls the script's default export and reports the
 * result. It takes the built-ins it needs up front, so that a script that changes `JSON` or `Promise` affects only itself. Only texts,
 * numbers and booleans go in or out.
 */
export const guestSource = `((print, callOut, finish, entry, input, mostCharacters) => {
  'use strict'
  const { parse, stringify } = JSON
  const { freeze } = Object
  const toText = String
  const { apply } = Reflect
  const { slice } = ''
  const { Error, RangeError, TypeError } = globalThis
  // An error thrown in its callbacks would leave the VM unchecked, however long.
  delete globalThis.FinalizationRegistry
  const textOf = (value) => {
    if (typeof value === 'string') return value
    try {
      if (value instanceof Error) return toText(value)
      const json = stringify(value)
      return json === undefined ? toText(value) : json
    } catch {
      return '[can not be shown]'
    }
  }
  const printer = (...values) => {
    let line = ''
    for (let at = 0; at < values.length; at++) line += (at === 0 ? '' : ' ') + textOf(values[at])
    print(line.length > mostCharacters ? apply(slice, line, [0, mostCharacters]) : line)
  }
  globalThis.console = freeze({ log: printer, info: printer, warn: printer, error: printer, debug: printer })
  const waiting = { __proto__: null }
  let calls = 0
  const host = freeze({
    call: (name, args = {}) =>
      new Promise((resolve, reject) => {
        const json = stringify(args)
        const id = ++calls
        waiting[id] = { resolve, reject }
        callOut(id, textOf(name), textOf(json))
      }),
  })
  const settle = (id, ok, json) => {
    const { resolve, reject } = waiting[id]
    delete waiting[id]
    try {
      if (ok) resolve(json === '' ? undefined : parse(json))
      else reject(new Error(json))
    } catch {
      // The script has changed the built-ins; its call never settles.
    }
  }
  const describe = (thrown) => {
    let text = 'The script failed without saying why.'
    try {
      text = thrown instanceof Error ? (thrown.name === 'Error' ? '' : textOf(thrown.name) + ': ') + textOf(thrown.message) : thrown === undefined ? text : textOf(thrown)
    } catch {}
    return text.length > 2000 ? apply(slice, text, [0, 2000]) + '…' : text
  }
  const run = async () => {
    const { default: main } = await import(entry)
    if (typeof main !== 'function') throw new TypeError('Expected the default export of the script to be a function of (args, host)')
    const json = stringify(await main(parse(input), host))
    if (json === undefined) return ''
    if (json.length > mostCharacters) throw new RangeError('The script returned ' + json.length + ' characters of JSON; at most ' + mostCharacters + ' are allowed.')
    return json
  }
  run().then((json) => finish(true, json), (thrown) => finish(false, describe(thrown)))
  return settle
})`
