export { type CompactionSize, compactMessages } from './agent/compaction.ts'
export { CustomAgent } from './agent/custom-agent.ts'
export type { Decision, Verdict } from './agent/decisions.ts'
export type { Guardrail, GuardrailVerdict } from './agent/guardrails.ts'
export { type ConversationTaker, type HandoverOptions, handover } from './agent/handover.ts'
export type {
  HookPlace,
  Hooks,
  ModelEnding,
  ModelTurn,
  ModelTurnChange,
  ToolEnding,
  ToolTurn,
  ToolTurnChange,
} from './agent/hooks.ts'
export type { Durable, DurableBody, Engine, Journal, StepContext } from './agent/journal.ts'
export type { AnswerOf, OutputOf, OutputSchema } from './agent/output.ts'
export type { RunState } from './agent/paused-run.ts'
export type { Claim, ResumeClaim } from './agent/resume-claim.ts'
export type {
  ApprovalDecision,
  ApprovalRequest,
  CompactionOptions,
  OutputOptions,
  PendingItem,
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
} from './agent/run.ts'
export { RunControl } from './agent/run-control.ts'
export { RunError } from './agent/run-error.ts'
export type { RunStream } from './agent/run-stream.ts'
export { AgentRunner } from './agent/runner.ts'
export { type AsToolOptions, asTool, type RunnableAgent } from './agent/sub-agent.ts'
export { type GenerateOptions, ToolAgent } from './agent/tool-agent.ts'
export {
  type ErrorCode,
  errorCodes,
  type Fault,
  InvalidOptionError,
  ModelError,
  type ModelErrorFields,
  ToolArgumentsError,
  ToolloopError,
} from './errors.ts'
export {
  type AnyEventListener,
  Event,
  EventBus,
  type EventListener,
  type EventMeta,
  type EventName,
  type EventPayloads,
  type FinishReason,
  type ListenerFailure,
  type RunEvent,
  type StopReason,
} from './events.ts'
export { createLogger, type LeveledLogger, type Logger, type LoggerOptions, type LogLevel, redact, redactText } from './log.ts'
export type { MessageInput } from './message-input.ts'
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
  type ParsedToolCall,
  type ProviderData,
  type StandardChatMessage,
  type TextPart,
  type ToolCall,
  type ToolMessage,
  type ToolResultMessage,
  textOf,
  type Usage,
} from './messages.ts'
export { ToolCallAccumulator, type ToolCallDelta, type ToolCallSink } from './models/accumulator.ts'
export { AIDriver, type QueryOptions, type QueryResult, type StreamResult } from './models/ai-driver.ts'
export { type AnyModel, createModel } from './models/create-model.ts'
export { type FallbackOptions, fallbackModel } from './models/fallback.ts'
export type {
  ChatModel,
  ModelCapabilities,
  ModelPrice,
  ModelRequest,
  ModelResponse,
  ModelSink,
  Sampling,
  ToolChoice,
} from './models/model.ts'
export type { ModelPreset, ProviderPreset, Providers } from './models/providers.ts'
export type { ModelSettings } from './models/settings.ts'
export { type SwitchableModel, switchableModel } from './models/switchable.ts'
export { estimateTokens } from './models/usage.ts'
export { messagesFromOpenAI, messagesToOpenAI, type OpenAIMessage } from './openai-messages.ts'
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
export { type ToolCallEnd, type ToolCallEnvironment, ToolRunner } from './tools/runner.ts'
export {
  type AnyTool,
  ask,
  BaseTool,
  convertToOpenAITool,
  type DefinedTool,
  defineTool,
  type JsonSchema,
  type Question,
  type Reconciled,
  type RunScope,
  type Tool,
  type ToolContext,
  type ToolDefinition,
  type ToolEffect,
  type ToolFunction,
  type ToolOptions,
} from './tools/tool.ts'
