/**
 * The first code in a new VM, which runs before the code of the script. It defines `console` and `host`, calls the script's default export
 * and reports the result. It first stores the built-ins that it needs. A script that changes `JSON` or `Promise` therefore affects only
 * itself. Only texts, numbers and booleans pass in or out of the VM. A script written by a model gets `tools` instead of `host`, and the
 * answers to its calls need not be JSON.
 */
export const guestSource = `((print, callOut, finish, entry, input, mostCharacters, isInRounds) => {
  'use strict'
  const { parse, stringify } = JSON
  const { freeze } = Object
  const toText = String
  const { apply } = Reflect
  const { slice } = ''
  const { exec } = RegExp.prototype
  const { Error, Promise, Proxy, RangeError, TypeError } = globalThis
  // An error thrown in one of its callbacks would leave the VM unchecked for any length of time.
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
  const lineOf = (error) => {
    try {
      const found = apply(exec, /\\bscript\\.js:([0-9]+)/, [error.stack])
      return found === null ? 0 : +found[1]
    } catch {
      return 0
    }
  }
  const call = (name, args = {}) => {
    const line = isInRounds ? lineOf(new Error()) : 0
    return new Promise((resolve, reject) => {
      const json = stringify(args)
      const id = ++calls
      waiting[id] = { resolve, reject }
      callOut(id, textOf(name), textOf(json), line)
    })
  }
  const host = freeze({ call })
  const tools = new Proxy(freeze({ __proto__: null }), {
    __proto__: null,
    // Awaiting the proxy reads its "then", which must not call a tool.
    get: (_, name) => (typeof name === 'string' && name !== 'then' ? (args) => call(name, args) : undefined),
  })
  const valueOf = (text) => {
    try {
      return parse(text)
    } catch {
      return text === '(no result)' ? undefined : text === '(empty result)' ? '' : text
    }
  }
  const settle = (id, ok, json) => {
    const { resolve, reject } = waiting[id]
    delete waiting[id]
    try {
      if (ok) resolve(isInRounds ? valueOf(json) : json === '' ? undefined : parse(json))
      else reject(new Error(json))
    } catch {
      // The script has changed the built-ins; its call never settles.
    }
  }
  const describe = (thrown) => {
    let text = 'The script failed without saying why.'
    try {
      text = thrown instanceof Error ? (thrown.name === 'Error' ? '' : textOf(thrown.name) + ': ') + textOf(thrown.message) : thrown === undefined ? text : textOf(thrown)
      const line = isInRounds && thrown instanceof Error ? lineOf(thrown) : 0
      if (line > 0) text += ' (line ' + line + ' of the script)'
    } catch {}
    return text.length > 2000 ? apply(slice, text, [0, 2000]) + '…' : text
  }
  const run = async () => {
    const { default: main } = await import(entry)
    if (typeof main !== 'function') throw new TypeError('Expected the default export of the script to be a function of (args, host)')
    const json = stringify(await (isInRounds ? main(tools) : main(parse(input), host)))
    if (json === undefined) return ''
    if (json.length > mostCharacters) throw new RangeError('The script returned ' + json.length + ' characters of JSON; at most ' + mostCharacters + ' are allowed.')
    return json
  }
  run().then((json) => finish(true, json), (thrown) => finish(false, describe(thrown)))
  return settle
})`
