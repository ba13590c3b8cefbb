import { readdirSync, readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'

const root = new URL('..', import.meta.url)
const read = (path: string) => readFileSync(new URL(path, root), 'utf8')

/** The names that the file of an entry exports. */
function exportsOf(file: string): string[] {
  const lists = [...read(file).matchAll(/^export (?:type )?\{([^}]*)\}/gm)].flatMap(([, list = '']) => list.split(','))
  const named = lists.map((item) =>
    item
      .trim()
      .replace(/^type /, '')
      .split(' as ')
      .at(-1),
  )
  return named.filter((name) => name !== undefined && name !== '').sort() as string[]
}

const words = (text: string) => text.trim().split(/\s+/).sort()

/** Every name of `import { … } from 'toolloop'`. Renaming or removing one breaks programs, and each new one has to be learned. */
const rootNames = words(`
  ActiveRun AgentHistory AgentRunner AIDriver AIMessage AnyModel AnyTool ApprovalDecision ApprovalRequest AroundEntry ask askAll
  AssistantToolCallMessage asTool AsToolOptions BaseTool Budget BudgetAmounts BudgetOptions BudgetSpentError BuiltInCall CallPlan
  ChatMessage ChatModel CompactionOptions compactMessages Content ContentPart convertToOpenAITool createLogger createModel
  CustomAgent Decision DeferOptions deferTools DefinedTool defineTool DispatchResult ErrorCode errorCodes estimateTokens Event
  EventBus EventListener EventMeta EventName EventPayloads fallbackModel FallbackOptions Fault FilePart FinishReason Guardrail
  GuardrailVerdict handoff HandoffOptions hasToolCalls Hooks ImagePart InvalidOptionError isToolResult Journal Json JsonObject
  JsonSchema LargeResultOptions LeveledLogger Logger LoggerOptions memorySessions MessageInput messagesFromOpenAI messagesToOpenAI
  ModelCapabilities ModelEnding ModelError ModelPrice ModelRequest ModelResponse ModelSettings ModelSink ModelTurn ModelTurnChange
  OpenAIMessage OutputOf OutputOptions OutputSchema PendingItem PerformedRun PerformRun PlanEntry ProviderData ProviderPreset
  Providers QueryOptions QueryResult Question RateLimits ReActOptions Reconciled redact redactText RequestPlan ResumeOptions
  RunControl RunError RunEvent RunInput RunLimits RunnerOptions RunningToolCall RunOptions RunResult Runs RunSettings RunState
  RunStep RunStream Sampling SentRequest Session SessionOptions Sessions StandardChatMessage StopReason StreamResult SucceededCall
  SwitchableModel switchableModel textOf TextPart Tool ToolAgent ToolArgumentsError ToolCall ToolCallAccumulator ToolCallDelta
  ToolCalling ToolCallOf ToolCallOutcome ToolCallRecord ToolCallSink ToolChoice ToolContext ToolDefinition ToolDispatcher
  ToolEffect ToolEnding ToolFunction ToolloopError ToolOptions ToolRegistry ToolResultMessage ToolRunner ToolSet ToolSource
  ToolTurn ToolTurnChange UnsuccessfulCall Usage
`)

const durableNames = words(`
  Claim Durable DurableBody Engine Journal JournalRun KeptRun PruneOptions RecordEntry RecoveredRun RecoverOptions Restored
  ResumeClaim RunPage RunQuery RunStatus RunSummary RunToRestore StepContext StoredResult
`)

const sessionNames = words(`
  ClaimedSession ExpiryOptions ForkOptions HistoryRun ReadOptions SessionAddition SessionAppended SessionAppendOptions
  SessionClaim SessionClaimRequest SessionDraft SessionKept SessionNotClaimed SessionPage SessionQuery Sessions SessionStatus
  SessionStore SessionSummary SessionUnclaimOptions StoredSession WaitingRun
`)

/** Names at the root that the specifications fix, in addition to those that a row of tests/spec uses. */
const specified = words(`
  AgentRunner ChatModel ModelCapabilities ModelRequest ModelResponse ModelSink RunEvent RunResult RunStream ToolDefinition createModel
  defineTool
`)

/** The code in the rows of tests/spec, and what its tests import. */
function specification(): string {
  const files = readdirSync(new URL('tests/spec', root)).map((name) => `tests/spec/${name}`)
  const parts = files.map((file) =>
    read(file)
      .match(file.endsWith('.md') ? /`[^`\n]+`/g : /^import [^']*/gm)
      ?.join(' '),
  )
  return parts.join(' ')
}

describe('the names of the package', () => {
  it('are these', () => {
    expect(exportsOf('src/index.ts')).toEqual(rootNames)
    expect(exportsOf('src/agent/durable/index.ts')).toEqual(durableNames)
    expect(exportsOf('src/sessions/index.ts')).toEqual(sessionNames)
  })

  it('are at most 120 at the root, besides those that the specifications fix', () => {
    const text = specification()
    const fixed = (name: string) => specified.includes(name) || new RegExp(`\\b${name}\\b`).test(text)
    expect(rootNames.filter(fixed).length).toBeGreaterThan(40)
    expect(rootNames.filter((name) => !fixed(name)).length).toBeLessThanOrEqual(120)
  })

  it('mean the same in every entry', () => {
    const rows = [...read('docs/api.md').matchAll(/^\| `(\w+)` \| (.+)$/gm)]
    const meanings = Map.groupBy(rows, ([, name = '']) => name)
    const ambiguous = [...meanings].filter(([, all]) => new Set(all.map(([, , meaning]) => meaning)).size > 1)
    expect(ambiguous.map(([name]) => name)).toEqual([])
  })
})
