import { expect, it } from 'vitest'
import { limitedServer } from './models/limited-server.ts'
import { runRecipe } from './recipes.ts'

it('rate-limit: 1,000 runs at a server that takes 50 requests a second, all of which are answered', async () => {
  await using server = await limitedServer(50)
  const { stdout } = await runRecipe('rate-limit.ts', server)
  expect(stdout).toBe('1000 answered\n')
  expect(server.requests.length).toBeLessThanOrEqual(1_300)
})
