/** `toolloop`: agents, tools and models. The other entries build on it. */

// Agents and runs: docs/getting-started.md

export { AgentRunner } from './agent/agent-runner.ts'
export { compactMessages } from './agent/conversation/compaction.ts'
export { RunControl } from './agent/conversation/run-input.ts'
export type { Journal } from './agent/durable/index.ts'
export type { Runs } from './agent/durable/runs.ts'
export type { OutputOf, OutputSchema } from './agent/output/output.ts'
export { RunError } from './agent/run/run-error.ts'
export type { ActiveRun } from './agent/runner/active-runs.ts'
export type { RunStream } from './agent/runner/run-stream.ts'
export type {
  CompactionOptions,
  LargeResultOptions,
  OutputOptions,
  ReActOptions,
  ResumeOptions,
  RunInput,
  RunLimits,
  RunnerOptions,
  RunOptions,
  RunResult,
  RunSettings,
  RunStep,
  ToolCalling,
  ToolCallOutcome,
  ToolCallRecord,
} from './agent/types/options.ts'
export type { RunState } from './agent/types/result.ts'
export type { BuiltInCall, SucceededCall, ToolCallOf, UnsuccessfulCall } from './agent/types/typed.ts'
export type { StopReason } from './core/events.ts'
export { estimateTokens } from './models/usage.ts'

// Agents as classes, sub-agents and handoffs: docs/sub-agents.md

export { CustomAgent } from './agent/custom-agent.ts'
export type { PerformedRun, PerformRun } from './agent/runner/runner-owner.ts'
export { type HandoffOptions, handoff } from './agent/sub-agents/handoff.ts'
export { type AsToolOptions, asTool } from './agent/sub-agents/sub-agent.ts'
export { ToolAgent } from './agent/tool-agent.ts'

// Tools: docs/tools.md

export { type DeferOptions, deferTools } from './tools/deferred-tools.ts'
export { type DispatchResult, ToolDispatcher, type ToolSource } from './tools/dispatcher.ts'
export { ToolRegistry, type ToolSet } from './tools/registry.ts'
export {
  type AnyTool,
  BaseTool,
  convertToOpenAITool,
  type DefinedTool,
  defineTool,
  type JsonSchema,
  type Reconciled,
  type Tool,
  type ToolContext,
  type ToolDefinition,
  type ToolEffect,
  type ToolFunction,
  type ToolOptions,
} from './tools/tool.ts'
export { ToolRunner } from './tools/tool-runner.ts'

// Approvals, questions and decisions: docs/approvals.md

export type { Decision } from './agent/decisions/decisions.ts'
export type { ApprovalDecision, ApprovalRequest, PendingItem } from './agent/types/options.ts'
export { ask, askAll, type Question } from './tools/tool.ts'

// Hooks, guardrails and middleware: docs/hooks-and-guardrails.md

export type { Guardrail, GuardrailVerdict } from './agent/callbacks/guardrails.ts'
export type {
  Hooks,
  ModelEnding,
  ModelTurn,
  ModelTurnChange,
  RunningToolCall,
  SentRequest,
  ToolEnding,
  ToolTurn,
  ToolTurnChange,
} from './agent/callbacks/hooks.ts'
export type { AroundEntry, CallPlan, PlanEntry, RequestPlan } from './agent/types/middleware.ts'

// Budgets: docs/options.md

export { Budget, type BudgetAmounts, type BudgetOptions, BudgetSpentError } from './agent/limits/budget.ts'

// Models: docs/providers.md

export { AIDriver, type QueryOptions, type QueryResult, type StreamResult } from './models/ai-driver.ts'
export type { ModelPrice, Sampling, ToolChoice } from './models/chat-model.ts'
export { type FallbackOptions, fallbackModel } from './models/combined/fallback.ts'
export { type SwitchableModel, switchableModel } from './models/combined/switchable.ts'
export { type AnyModel, createModel } from './models/create-model.ts'
export type { ProviderPreset, Providers } from './models/presets.ts'
export type { RateLimits } from './models/rate-limiter.ts'
export type { ModelSettings } from './models/settings.ts'

// Drivers: docs/providers.md

export type { FinishReason } from './core/events.ts'
export type { ProviderData } from './core/messages.ts'
export type { ChatModel, ModelCapabilities, ModelRequest, ModelResponse, ModelSink } from './models/chat-model.ts'
export { ToolCallAccumulator, type ToolCallDelta } from './models/streaming/accumulator.ts'
export type { ToolCallSink } from './models/streaming/open-call.ts'

// Messages: docs/chat-history.md

export type { MessageInput } from './core/message-input.ts'
export {
  type AIMessage,
  type AssistantToolCallMessage,
  type ChatMessage,
  type Content,
  type ContentPart,
  type FilePart,
  hasToolCalls,
  type ImagePart,
  isToolResult,
  type Json,
  type JsonObject,
  type StandardChatMessage,
  type TextPart,
  type ToolCall,
  type ToolResultMessage,
  textOf,
  type Usage,
} from './core/messages.ts'
export { messagesFromOpenAI } from './models/openai/from-openai.ts'
export { messagesToOpenAI, type OpenAIMessage } from './models/openai/wire.ts'

// Sessions: docs/sessions.md

export type { AgentHistory } from './agent/conversation/agent-history.ts'
export type { SessionOptions } from './agent/sessions/session-options.ts'
export type { Session } from './agent/sessions/sessions.ts'
export { Sessions } from './sessions/index.ts'
export { memorySessions } from './sessions/memory.ts'

// Events: docs/streaming-and-events.md

export { EventBus, type EventListener } from './core/callbacks/event-bus.ts'
export { Event, type EventMeta, type EventName, type EventPayloads, type RunEvent } from './core/events.ts'

// Errors: docs/errors.md

export { type ErrorCode, errorCodes, type Fault, InvalidOptionError, ModelError, ToolArgumentsError, ToolloopError } from './core/errors.ts'

// Logs and redaction: docs/secrets.md

export { createLogger, type LeveledLogger, type Logger, type LoggerOptions } from './core/logger.ts'
export { redact, redactText } from './core/redaction/redact.ts'
