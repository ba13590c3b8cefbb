import type { Logger } from '../core/logger.ts'
import type { AgentHost } from './agents/agent-host.ts'
import type { RecentCalls } from './agents/recent-calls.ts'
import type { ToolTrials } from './agents/tool-trials.ts'
import type { ConfigSource } from './config/config-source.ts'
import type { ContextOf, TokenAuth } from './http/auth.ts'
import type { RateLimiter } from './http/rate-limit.ts'
import type { SignInLinks } from './http/sign-in-links.ts'
import type { SseStreams } from './http/sse.ts'
import type { McpHost } from './mcp/mcp-host.ts'
import type { Metrics } from './metrics.ts'
import type { FinishedRuns } from './overview/finished-runs.ts'
import type { KeptResponses } from './responses/kept-responses.ts'
import type { RunStore } from './runs/run-store.ts'
import type { ByTenant } from './tenants/by-tenant.ts'

/** The parts that routes use. */
export interface ServiceParts {
  readonly host: AgentHost
  readonly runs: RunStore
  readonly calls: RecentCalls
  readonly trials: ToolTrials
  readonly finished: ByTenant<FinishedRuns>
  readonly responses: KeptResponses
  readonly streams: SseStreams
  readonly limiter: RateLimiter
  readonly auth: TokenAuth
  readonly signIns: SignInLinks
  readonly config: ConfigSource
  readonly metrics: Metrics
  readonly mcp: McpHost
  readonly startedAt: Date
  readonly logger: Logger
  readonly contextOf: ContextOf
  /** Whether the service is shutting down. It then refuses new work. */
  isDraining(): boolean
}
