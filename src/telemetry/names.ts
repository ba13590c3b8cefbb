import type { Usage } from '../core/messages.ts'

/** The differences between versions of the conventions (https://github.com/open-telemetry/semantic-conventions-genai). */
export interface Names {
  /** The name of the attribute for the input tokens that were written to the provider's cache. */
  cacheWriteTokens: string
  cacheReadTokens: string
  reasoningTokens: string
  /** Whether the span of a run names the provider. */
  providerOfAgent: boolean
  metrics: MetricNames
}

/**
 * The names of the metrics. A metric without a name is not recorded. Usage is recorded either as one counter for each kind of token, or as
 * a single histogram.
 */
export interface MetricNames {
  requestDuration: string
  timeToFirstChunk: string
  timePerOutputChunk?: string
  usage: { [kind in UsageKind]?: string } | { histogram: string }
  runDuration?: string
  requestsOfRun?: string
  callsOfRun?: string
  callDuration?: string
}

export type UsageKind = 'input' | 'output' | 'cacheRead' | 'cacheWrite' | 'reasoning'

export const latestNames: Names = {
  cacheWriteTokens: 'gen_ai.usage.cache_write.input_tokens',
  cacheReadTokens: 'gen_ai.usage.cache_read.input_tokens',
  reasoningTokens: 'gen_ai.usage.reasoning.output_tokens',
  providerOfAgent: false,
  metrics: {
    requestDuration: 'gen_ai.client.inference.duration',
    timeToFirstChunk: 'gen_ai.client.inference.time_to_first_chunk',
    timePerOutputChunk: 'gen_ai.client.inference.time_per_output_chunk',
    usage: {
      input: 'gen_ai.client.inference.usage.input_tokens',
      output: 'gen_ai.client.inference.usage.output_tokens',
      cacheRead: 'gen_ai.client.inference.usage.cache_read.input_tokens',
      cacheWrite: 'gen_ai.client.inference.usage.cache_write.input_tokens',
      reasoning: 'gen_ai.client.inference.usage.reasoning.output_tokens',
    },
    runDuration: 'gen_ai.invoke_agent.duration',
    requestsOfRun: 'gen_ai.invoke_agent.inference_calls',
    callsOfRun: 'gen_ai.invoke_agent.tool_calls',
    callDuration: 'gen_ai.execute_tool.duration',
  },
}

export const names137: Names = {
  cacheWriteTokens: 'gen_ai.usage.cache_creation.input_tokens',
  cacheReadTokens: 'gen_ai.usage.cache_read.input_tokens',
  reasoningTokens: 'gen_ai.usage.reasoning.output_tokens',
  providerOfAgent: true,
  metrics: {
    requestDuration: 'gen_ai.client.operation.duration',
    timeToFirstChunk: 'gen_ai.server.time_to_first_token',
    usage: { histogram: 'gen_ai.client.token.usage' },
  },
}

/** Returns the known token counts, by kind. */
export function tokensOf(usage: Usage): [kind: UsageKind, tokens: number][] {
  const { inputTokens, outputTokens, cacheReadTokens, cacheWriteTokens, reasoningTokens } = usage
  const counts: [UsageKind, number | undefined][] = [
    ['input', inputTokens],
    ['output', outputTokens],
    ['cacheRead', cacheReadTokens],
    ['cacheWrite', cacheWriteTokens],
    ['reasoning', reasoningTokens],
  ]
  return counts.filter((count): count is [UsageKind, number] => count[1] !== undefined)
}

const providerNames: ReadonlyMap<string, string> = new Map([
  ['openai-responses', 'openai'],
  ['openai-chat', 'openai'],
  ['google', 'gcp.gemini'],
  ['vertex', 'gcp.vertex_ai'],
  ['azure', 'azure.ai.openai'],
  ['mistral', 'mistral_ai'],
  ['xai', 'x_ai'],
])

/** Returns the name of a provider in the semantic conventions. An unknown provider keeps its own name. */
export function providerName(provider: string): string {
  return providerNames.get(provider) ?? provider
}
