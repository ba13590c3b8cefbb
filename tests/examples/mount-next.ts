import { createService } from '../../src/service/index.ts'

// app/agent/[...path]/route.ts
const service = createService({
  model: process.env.MODEL ?? 'demo',
  // The session of your own login: whom a request is from.
  authenticate: (request) => (request.headers.get('cookie') === 'session=ann' ? { name: 'ann', roles: ['run'] } : undefined),
  context: (_request, { name }) => ({ user: name }),
  hosts: ['app.example.com'],
  basePath: '/agent',
})

export const runtime = 'nodejs'
export const dynamic = 'force-dynamic'
export async function GET(request: Request): Promise<Response> {
  return service.fetch(request)
}
export async function POST(request: Request): Promise<Response> {
  return service.fetch(request)
}

const response = await POST(
  new Request('https://app.example.com/agent/v1/runs', {
    method: 'POST',
    headers: { 'content-type': 'application/json', cookie: 'session=ann' },
    body: JSON.stringify({ input: 'Hello!' }),
  }),
)
const { stopReason } = (await response.json()) as { stopReason: string }
console.log(response.status, stopReason)
await service.drain()
