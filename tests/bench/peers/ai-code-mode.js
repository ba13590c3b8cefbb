import { experimental_runCodeMode as runCodeMode } from '@ai-sdk/code-mode'
import { tool } from 'ai'
import { z } from 'zod'

const echo = tool({ description: 'Echoes.', inputSchema: z.object({ n: z.number() }), execute: async ({ n }) => n })

/** Runs a script by itself: no agent is around it. */
export function runScript(code) {
  return runCodeMode({ js: code, tools: { echo } })
}
