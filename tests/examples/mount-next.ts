import { createService } from '../../src/service/index.ts'

// app/agent/[...path]/route.ts
const service = createService({
  model: process.env.MODEL ?? 'demo',
  // Identify the user by the session of your own login.
  authenticate: (request) => (request.headers.get('cookie') === 'session=ann' ? { name: 'ann', roles: ['run'] } : undefined),
  hosts: ['app.example.com'],
  basePath: '/agent',
})

export const { fetch: GET, fetch: POST } = service

const response = await POST(
  new Request('https://app.example.com/agent/v1/runs', {
    method: 'POST',
    headers: { 'content-type': 'application/json', cookie: 'session=ann' },
    body: JSON.stringify({ input: 'Hello!' }),
  }),
)
console.log(response.status, await response.text())
