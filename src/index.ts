export { AgentRunner } from './agent/agent-runner.ts'
export type { Guardrail, GuardrailVerdict } from './agent/callbacks/guardrails.ts'
export type {
  HookPlace,
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
export type { AgentHistory, HistoryRun } from './agent/conversation/agent-history.ts'
export { type CompactionSize, compactMessages } from './agent/conversation/compaction.ts'
export { RunControl } from './agent/conversation/run-control.ts'
export { CustomAgent } from './agent/custom-agent.ts'
export type { Decision, Signature, Verdict } from './agent/decisions/decisions.ts'
export type { Claim, ResumeClaim } from './agent/decisions/resume-claim.ts'
export type { RecordedRun, RecoveredRun, RecoverOptions, Runs, StoredResult } from './agent/durable/runs.ts'
export type {
  Durable,
  DurableBody,
  Engine,
  Journal,
  KeptRun,
  PruneOptions,
  RecordEntry,
  RunPage,
  RunQuery,
  RunSummary,
  StepContext,
} from './agent/journal/journal.ts'
export { Budget, type BudgetAmounts, type BudgetOptions, BudgetSpentError } from './agent/limits/budget.ts'
export type { AnswerOf, OutputOf, OutputSchema, PartialAnswerOf, PartOf } from './agent/output/output.ts'
export { RunError } from './agent/run/run-error.ts'
export type { ActiveRun, CloseOptions } from './agent/runner/active-runs.ts'
export type { RunStream } from './agent/runner/run-stream.ts'
export type { PerformedRun, PerformRun } from './agent/runner/runner-owner.ts'
export type { ExpiryOptions, SessionOptions } from './agent/sessions/session-options.ts'
export type {
  Added as SessionAddition,
  Appended as SessionAppended,
  AppendOptions as SessionAppendOptions,
  Claim as SessionClaim,
  Claimed as ClaimedSession,
  ClaimRequest as SessionClaimRequest,
  Draft as SessionDraft,
  Kept as SessionKept,
  NotClaimed as SessionNotClaimed,
  SessionPage,
  SessionQuery,
  SessionStatus,
  SessionStore,
  SessionSummary,
  StoredSession,
  UnclaimOptions as SessionUnclaimOptions,
} from './agent/sessions/session-store.ts'
export { type ForkOptions, type ReadOptions, type Session, Sessions, type WaitingRun } from './agent/sessions/sessions.ts'
export { type ConversationTaker, type HandoffOptions, handoff } from './agent/sub-agents/handoff.ts'
export { type AsToolOptions, asTool, type RunnableAgent } from './agent/sub-agents/sub-agent.ts'
export { type GenerateOptions, ToolAgent } from './agent/tool-agent.ts'
export type { AroundEntry, CallPlan, PlanEntry, RequestPlan } from './agent/types/middleware.ts'
export type {
  ApprovalDecision,
  ApprovalRequest,
  CompactionOptions,
  LargeResultOptions,
  OutputOptions,
  PendingItem,
  ReActOptions,
  Restored,
  ResumeOptions,
  RunInput,
  RunLimits,
  RunnerOptions,
  RunOptions,
  RunResult,
  RunSettings,
  RunStep,
  RunToRestore,
  ToolCalling,
  ToolCallOutcome,
  ToolCallRecord,
} from './agent/types/options.ts'
export type { RunState } from './agent/types/result.ts'
export type {
  AgentTools,
  BuiltInCall,
  FittingTools,
  RunArguments,
  SucceededCall,
  ToolCallOf,
  ToolsFor,
  UnsuccessfulCall,
  WithContext,
} from './agent/types/typed.ts'
export { type AnyEventListener, EventBus, type EventListener, type ListenerFailure } from './core/callbacks/event-bus.ts'
export {
  type ErrorCode,
  errorCodes,
  type Fault,
  InvalidOptionError,
  ModelError,
  type ModelErrorFields,
  ToolArgumentsError,
  ToolloopError,
} from './core/errors.ts'
export {
  Event,
  type EventMeta,
  type EventName,
  type EventPayloads,
  type FinishReason,
  type MadeDecision,
  type PathStep,
  type RunEvent,
  type StopReason,
} from './core/events.ts'
export { createLogger, type LeveledLogger, type Logger, type LoggerOptions, type LogLevel } from './core/logger.ts'
export type { MessageInput } from './core/message-input.ts'
export {
  type AIMessage,
  type AssistantToolCallMessage,
  type CallKey,
  type ChatMessage,
  type Content,
  type ContentPart,
  type FilePart,
  hasToolCalls,
  type ImagePart,
  isToolResult,
  type Json,
  type JsonObject,
  type ParsedToolCall,
  type ProviderData,
  type StandardChatMessage,
  type TextPart,
  type ToolCall,
  type ToolMessage,
  type ToolResultMessage,
  textOf,
  type Usage,
} from './core/messages.ts'
export { redact, redactText } from './core/redaction/redact.ts'
export type { RunStatus } from './core/runs/run-states.ts'
export { AIDriver, type QueryOptions, type QueryResult, type StreamResult } from './models/ai-driver.ts'
export type {
  ChatModel,
  ModelCapabilities,
  ModelPrice,
  ModelRequest,
  ModelResponse,
  ModelSink,
  Sampling,
  ToolChoice,
} from './models/chat-model.ts'
export { type FallbackOn, type FallbackOptions, fallbackModel } from './models/combined/fallback.ts'
export { type SwitchableModel, switchableModel } from './models/combined/switchable.ts'
export { type AnyModel, createModel } from './models/create-model.ts'
export { messagesFromOpenAI } from './models/openai/from-openai.ts'
export { messagesToOpenAI, type OpenAIMessage } from './models/openai/wire.ts'
export type { ModelPreset, ProviderPreset, Providers } from './models/presets.ts'
export type { RateLimits } from './models/rate-limiter.ts'
export type { ModelSettings } from './models/settings.ts'
export { ToolCallAccumulator, type ToolCallDelta } from './models/streaming/accumulator.ts'
export type { ToolCallSink } from './models/streaming/open-call.ts'
export { estimateTokens } from './models/usage.ts'
export { memorySessions } from './sessions/memory.ts'
export { type DeferOptions, deferTools, type FoundTools } from './tools/deferred-tools.ts'
export {
  type DispatcherOptions,
  type DispatchOptions,
  type DispatchResult,
  ToolDispatcher,
  type ToolSource,
  type ToolSourceKind,
} from './tools/dispatcher.ts'
export { ToolRegistry, type ToolSet } from './tools/registry.ts'
export {
  type AnyTool,
  ask,
  askAll,
  BaseTool,
  type CallTrace,
  convertToOpenAITool,
  type DefinedTool,
  defineTool,
  type JsonSchema,
  type McpClient,
  type ModelAnswer,
  type ModelQuestion,
  type Question,
  type Reconciled,
  type RunScope,
  type SearchableTools,
  type Tool,
  type ToolContext,
  type ToolDefinition,
  type ToolEffect,
  type ToolFunction,
  type ToolOptions,
} from './tools/tool.ts'
export { type ToolCallEnd, type ToolCallEnvironment, ToolRunner } from './tools/tool-runner.ts'
export { type NodeResponse, pipeToNode, type Sendable } from './ui/web/pipe-to-node.ts'
export type { ResponseOptions } from './ui/web/respond.ts'
export type { ResponseFormat, ResponseWriter } from './ui/web/response-format.ts'
export type { RunEnding } from './ui/web/run-ending.ts'
