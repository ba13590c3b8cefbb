import { describe, expect, it } from 'vitest'
import { AgentRunner } from '../../src/agent/agent-runner.ts'
import { codeMode } from '../../src/code-mode/index.ts'
import { scriptedModel } from '../../src/testing/scripted-model.ts'
import { defineTool } from '../../src/tools/tool.ts'
import { recordingLogger } from '../hazards/recording-logger.ts'
import { failOnUnhandledRejections } from '../hazards/unhandled.ts'

failOnUnhandledRejections()

const any = { type: 'object', additionalProperties: true } as const

/** The text that the model gets from a script, and the calls the script has made. */
async function attack(code: string, timeoutMs = 60_000) {
  const calls: string[] = []
  const echo = defineTool({
    name: 'echo',
    description: 'x',
    parameters: any,
    execute: (args) => {
      calls.push(JSON.stringify(args))
      return args
    },
  })
  const hostile = defineTool({
    name: 'hostile',
    description: 'x',
    execute: () => {
      const result = JSON.parse('{"__proto__":{"polluted":true},"then":"x","constructor":{"name":"Evil"}}')
      return Object.defineProperty(result, 'a', { get: () => 1, enumerable: true })
    },
  })
  const fails = defineTool({
    name: 'fails',
    description: 'x',
    execute: () => Promise.reject(Object.assign(new Error('no'), { secretField: process.env })),
  })
  const model = scriptedModel(({ messages }) => {
    const last = messages.at(-1)
    return last?.role === 'tool' ? String(last.content) : { toolCalls: [{ name: 'run_script', args: { code } }] }
  })
  const tools = codeMode([echo, hostile, fails], {
    limits: { timeoutMs, memoryBytes: 32 * 1024 * 1024, outputBytes: 10_000, calls: 20 },
  })
  const { output, toolCalls, stopReason } = await new AgentRunner({ model, tools, logger: recordingLogger().logger }).run('go')
  return { told: String(output), outcome: toolCalls[0]?.outcome, calls, stopReason }
}

describe('a script that tries to escape', () => {
  it('finds nothing of the host: no globals, no modules, no way through constructors', async () => {
    const names = [
      'process',
      'require',
      'module',
      'fetch',
      'setTimeout',
      'setInterval',
      'WebAssembly',
      'Buffer',
      'XMLHttpRequest',
      'navigator',
      'std',
      'os',
      'bjson',
      'Deno',
      'host',
      'print',
      'FinalizationRegistry',
    ]
    expect((await attack(`return ${JSON.stringify(names)}.filter((name) => name in globalThis)`)).told).toBe('[]')
    for (const code of [
      'return [].constructor.constructor("return this.process ?? typeof require")()',
      'return (async () => {}).constructor("return typeof process")()',
      'return new Function("return typeof process")()',
      'return Reflect.getPrototypeOf(tools.echo).constructor("return typeof process")()',
      'return tools.echo.constructor("return typeof process")()',
      'return console.log.constructor("return typeof process")()',
      'return (0, eval)("typeof process")',
      'try { await tools.fails() } catch (error) { return error.constructor.constructor("return typeof process")() }',
      'return Reflect.getPrototypeOf(tools.echo({})).constructor.constructor("return typeof process")()',
    ]) {
      const { told } = await attack(code)
      expect(['undefined', '(no result)'].includes(told) || told.includes('undefined'), `${code}: ${told}`).toBe(true)
    }
  })

  it('gets only the message of an error, without the host’s stack, cause or fields', async () => {
    const code =
      'try { await tools.fails() } catch (error) { return [Object.getOwnPropertyNames(error).sort(), "secretField" in error, "cause" in error, /[a-z]+\\.ts/.test(String(error.stack))] }'
    const { told } = await attack(code)
    expect(told).not.toContain('secretField,')
    expect(JSON.parse(told).slice(1)).toEqual([false, false, false])
  })

  it('gets results as plain data, without the host’s getters, prototypes or thenables', async () => {
    const code = `const result = await tools.hostile()
return [Object.getPrototypeOf(result) === Object.prototype, ({}).polluted === undefined, typeof result.constructor, Object.getOwnPropertyDescriptor(result, 'a')]`
    expect(JSON.parse((await attack(code)).told)).toEqual([
      true,
      true,
      'object',
      { value: 1, writable: true, enumerable: true, configurable: true },
    ])
  })

  it('fools only itself by changing what the VM is made of', async () => {
    for (const code of [
      'JSON.stringify = () => "{\\"evil\\":1}"; JSON.parse = () => "evil"; return await tools.echo({ a: 1 })',
      'Object.prototype.get = () => { throw 1 }; Object.prototype.toJSON = () => "evil"; return (await tools.echo({ a: 1 })).a ?? 1',
      'globalThis.Promise = class {}; Array.prototype.push = () => {}; return await tools.echo({ a: 1 })',
      'String.prototype.slice = () => { throw 1 }; RegExp.prototype.exec = () => ["x", "99"]; Error.prepareStackTrace = () => "script.js:99"; return await tools.echo({ a: 1 })',
      'Promise.prototype.then = function () { return this }; return 1',
      'Object.defineProperty(Object.prototype, "__proto__", { get() { throw 1 } }); return await tools.echo({ a: 1 })',
    ]) {
      const { stopReason, calls } = await attack(code)
      expect(stopReason, code).toBe('answered')
      expect(
        calls.every((call) => call === '{"a":1}' || call === '"evil"' || call === '{}'),
        `${code}: ${calls}`,
      ).toBe(true)
    }
  })

  it('can’t make invalid calls, or evade the limits with the arguments it passes', async () => {
    for (const code of [
      'return await tools.echo("text")',
      'return await tools.echo([1])',
      'return await tools.echo(null)',
      'return await tools.echo(() => 1)',
      'const a = {}; a.a = a; return await tools.echo(a)',
      'return await tools.echo({ get a() { throw new Error("boom") } })',
      'return await tools.echo({ toJSON() { return 1 } })',
      'return await tools.echo(new Proxy({}, { ownKeys() { throw new Error("boom") } }))',
      'let a = {}; for (let n = 0; n < 5000; n++) a = { a }; return await tools.echo(a)',
      'return await tools.echo({ a: "x".repeat(100000) })',
      'return await tools.echo({ a: Array(9000).fill([1, 2]) })',
      'return await tools["x".repeat(10000)]({})',
      'return await tools[Symbol.iterator]({})',
      'return await tools.then',
    ]) {
      const { calls, stopReason } = await attack(code)
      expect([stopReason, calls], code).toEqual(['answered', []])
    }
  })

  it('that floods or hangs is ended, and the next one runs', async () => {
    for (const code of [
      'for (;;) {}',
      'for (;;) await null',
      'const spin = () => Promise.resolve().then(spin); spin(); await new Promise(() => {})',
      'const bomb = async () => { await Promise.all([bomb(), bomb()]) }; await bomb()',
      'const f = () => f(); f()',
      'return "x".repeat(2 ** 29).length',
      'let s = "x"; for (;;) s += s',
      'for (;;) console.log("x".repeat(1000))',
      'for (;;) tools.echo({})',
      '/(a+)+$/.test("a".repeat(40) + "b")',
      'new Uint8Array(2 ** 31)',
      'Array.from({ length: 1e9 })',
      'return { toJSON() { for (;;) {} } }',
      'return new Proxy({}, { get() { for (;;) {} }, ownKeys() { for (;;) {} } })',
      'throw { get message() { for (;;) {} } }',
      'const e = new Error("x".repeat(1e6)); throw e',
      'throw new Proxy(new Error("x"), { get() { throw 1 } })',
      `${'('.repeat(20_000)}1${')'.repeat(20_000)}`,
      '}) ; globalThis.out = 1; export const x = (async () => {',
      '\u0000',
    ]) {
      const { told, stopReason, calls } = await attack(code, 100)
      expect(stopReason, code).toBe('answered')
      expect(told.length, code).toBeLessThan(15_000)
      expect(calls.length, code).toBeLessThanOrEqual(20)
    }
    expect((await attack('return await tools.echo({ fine: true })')).told).toBe('{"fine":true}')
  }, 60_000)
})
