import { createService, listen } from '../../src/service/index.ts'

/** Stands for your own check of signature, issuer, expiry and audience, which is the address of `/mcp`. */
const verifyToken = async (token: string) => (token === 'a-token-of-ann' ? { sub: 'ann', scope: 'tools' } : undefined)

const service = createService({
  mcp: {
    only: true,
    authorization: { resource: 'https://tools.example.com/mcp', servers: ['https://login.example.com'], scopes: ['tools'] },
  },
  hosts: ['tools.example.com'],
  authenticate: async ({ headers }) => {
    const claims = await verifyToken(headers.get('authorization')?.replace(/^bearer /i, '') ?? '')
    return claims && { name: claims.sub, roles: claims.scope.split(' ').includes('tools') ? ['run'] : [] }
  },
})

const { url, close } = await listen(service, { port: 0 })
const { headers } = await fetch(`${url}/mcp`, { method: 'POST' })
console.log(headers.get('www-authenticate'))
await close()
