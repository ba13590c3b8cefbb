import type { Logger } from '../core/logger.ts'
import type { ToolSet } from '../tools/registry.ts'
import type { RecentCalls } from './agents/recent-calls.ts'
import type { ConfigSource } from './config/config-source.ts'
import type { McpHost } from './mcp/mcp-host.ts'
import type { Metrics } from './metrics.ts'
import type { FinishedRuns } from './overview/finished-runs.ts'
import type { RunObserver } from './runs/follow-run.ts'
import type { RunStore } from './runs/run-store.ts'
import type { ByTenant } from './tenants/by-tenant.ts'

interface Observed {
  metrics: Metrics
  tools: Pick<ToolSet, 'get'>
  calls: RecentCalls
  finished: ByTenant<FinishedRuns>
  logger: Logger
}

/**
 * Returns an observer that counts the actions of runs, and logs how runs end. All client tools share one label, because clients choose
 * their names.
 */
export function observeRuns({ metrics, tools, calls: recent, finished, logger }: Observed): RunObserver {
  const runs = metrics.counter('toolloop_runs_total', 'Runs that have ended or paused.')
  const calls = metrics.counter('toolloop_tool_calls_total', 'Tool calls, by how they ended.')
  const tokens = metrics.counter('toolloop_tokens_total', 'Tokens of all model requests.')
  const requests = metrics.counter('toolloop_model_requests_total', 'Requests to models.')
  const failures = metrics.counter('toolloop_model_failures_total', 'Requests to models that failed for good, by error.')
  const retries = metrics.counter('toolloop_model_retries_total', 'Requests to models that failed and were retried, by error.')
  const cost = metrics.counter('toolloop_cost_usd_total', 'The known cost of model requests, in US dollars.')
  const requestSeconds = metrics.histogram(
    'toolloop_model_request_duration_seconds',
    'How long requests to models took, with their retries.',
  )
  const runSeconds = metrics.histogram('toolloop_run_duration_seconds', 'How long runs took.')
  const callSeconds = metrics.histogram('toolloop_tool_call_duration_seconds', 'How long tool calls took.')
  const toolLabel = (name: string) => (tools.get(name) !== undefined ? name : 'of a client')
  return {
    event(run, event) {
      if ('tool' in event && tools.get(event.tool) !== undefined) recent.take(run.id, event)
      if (event.type === 'MODEL_RETRY') retries({ provider: event.provider, model: event.model, error: event.errorCode })
      if (event.type === 'MODEL_END') {
        const { provider, model, finishReason, errorCode } = event
        requests({ provider, model, finish: finishReason })
        requestSeconds({ provider, model }, (event.meta.durationMs ?? 0) / 1000)
        if (errorCode !== undefined) failures({ provider, model, error: errorCode })
      }
      if (event.type === 'TOOL_CALL_REJECTED') calls({ tool: toolLabel(event.tool), outcome: 'rejected' })
      if (event.type !== 'TOOL_CALL_END') return
      const tool = toolLabel(event.tool)
      calls({ tool, outcome: event.meta.ok === false ? 'failed' : 'ok' })
      callSeconds({ tool }, (event.meta.durationMs ?? 0) / 1000)
    },
    ended(run, result, durationMs) {
      const { id, head, usedBefore } = run
      const { agent, kind, caller } = head
      const { stopReason, usage, iterations, error } = result
      for (const one of finished.with(head)) one.ended(run, result)
      runs({ model: agent, kind, stop_reason: stopReason })
      // Usage before a pause was already counted when the run paused.
      tokens({ model: agent, direction: 'input' }, usage.inputTokens - (usedBefore?.inputTokens ?? 0))
      tokens({ model: agent, direction: 'output' }, usage.outputTokens - (usedBefore?.outputTokens ?? 0))
      if (usage.costUsd !== undefined) cost({ model: agent }, usage.costUsd - (usedBefore?.costUsd ?? 0))
      runSeconds({ model: agent, kind }, durationMs / 1000)
      const level = error === undefined ? 'info' : 'warn'
      const failure = error === undefined ? {} : { errorCode: error.code, error: run.redactor.redactText(error.message) }
      logger[level](
        { runId: id, model: agent, caller: caller.name, stopReason, iterations, durationMs: Math.round(durationMs), ...failure },
        'run ended',
      )
    },
  }
}

/** Registers the gauges of the service. */
export function observeService(
  metrics: Metrics,
  { runs, streams, mcp, config }: { runs: RunStore; streams: { readonly size: number }; mcp: McpHost; config: ConfigSource },
): void {
  metrics.gauge('toolloop_runs_running', 'Runs that are going on.', () => runs.running())
  metrics.gauge('toolloop_runs_waiting', 'Runs that wait for a decision.', () => runs.waiting())
  metrics.gauge('toolloop_streams_open', 'Event streams that are open.', () => streams.size)
  metrics.gauge('toolloop_mcp_sessions_open', 'Sessions of MCP clients that are open.', () => mcp.sessions)
  metrics.gauge('toolloop_config_reloads', 'How often the configuration was changed.', () => config.state.reloads)
  metrics.gauge('toolloop_config_broken', '1 while the configuration file is invalid.', () => (config.state.lastError ? 1 : 0))
}
