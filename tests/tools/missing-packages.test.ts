import { execFileSync } from 'node:child_process'
import { expect, it } from 'vitest'

it.each([
  ['@modelcontextprotocol/client', 'mcp/index.ts', "connectMcpServers({ s: { command: 'none' } })"],
  ['@modelcontextprotocol/server', 'mcp/index.ts', 'serveMcp({ list: () => [] })'],
  ['@apidevtools/json-schema-ref-parser', 'openapi/index.ts', "openApiTools({ openapi: '3.1.0', paths: {} })"],
])('without the package %s, the error says what to install', (missing, module, call) => {
  const script = `
    import { registerHooks } from 'node:module'
    registerHooks({ resolve: (name, context, next) => {
      if (name.startsWith('${missing}')) throw Object.assign(new Error('x'), { code: 'ERR_MODULE_NOT_FOUND' })
      return next(name, context)
    } })
    const { connectMcpServers, serveMcp, openApiTools } = await import(${JSON.stringify(new URL(`../../src/tools/${module}`, import.meta.url))})
    console.log(JSON.stringify(await ${call}.catch(({ code, message }) => ({ code, message }))))`
  const told: unknown = JSON.parse(execFileSync(process.execPath, ['--input-type=module', '-e', script], { encoding: 'utf8' }))
  expect(told).toEqual({ code: 'missing_dependency', message: expect.stringContaining(`npm install ${missing}`) })
})
