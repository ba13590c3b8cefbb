import { modelProbes } from './probes/models.ts'
import type { Probe } from './probes/probe.ts'
import { responseProbes } from './probes/responses.ts'
import { runProbes } from './probes/runs.ts'
import { serviceProbes } from './probes/services.ts'
import { storeProbes } from './probes/stores.ts'
import { telemetryProbes } from './probes/telemetry.ts'
import { toolProbes } from './probes/tools.ts'

/** Every tested callback of the public API, by its name in `publicCallbacks`. */
export const places: Record<string, Probe> = {
  ...runProbes,
  ...modelProbes,
  ...responseProbes,
  ...toolProbes,
  ...storeProbes,
  ...serviceProbes,
  ...telemetryProbes,
}

/** Functions that a program can pass in and that are not tested, with the reason. */
export const notTried: readonly { why: string; names: RegExp }[] = [
  {
    why: 'The package makes objects of these types itself, and is only handed them back.',
    names:
      /^(Account|CallReading|CallTerms|CallTrace|CheckedText|Durable|EventTap|Execution|Layers|MeasuredExecution|MeasuredRequest|PieceTimes|RecordedScope|RunRecorder|RunScope|RunTelemetry|SavedValue|Service|SwitchableModel|Telemetry|TextReader|ToolContext|TurnPieces)\./,
  },
  {
    why: 'Parameters of what the package itself calls: a runner’s loop and owner, and what they are given.',
    names:
      /^(AgentRunner\(loop\)|mcpTokenFiles\.lock\(work\)|RunnerOwner\.|RunStream\(start\)|Runs\((complete|watch)\)|CustomAgent\.(options\.journal\.connect\(body\)|perform\(next\)))/,
  },
  {
    why: 'A contract suite calls them, and its tests fail with what they throw.',
    names: /^(TestApi|TestModelOptions|JournalPlace|SessionsPlace|testJournal|testModel|testSessions)\b/,
  },
  { why: 'Only a run has saved values, and gives the function that reads them.', names: /^ToolCallEnvironment\.readSaved$/ },
  { why: 'Protected members, which only budgets of the package override.', names: /^Budget\.(count|hasRoom|used)$/ },
  { why: 'Called by the process sandbox, which not every machine has.', names: /^ScriptRun\.exited$/ },
  {
    why: 'Never called by the package: of OpenTelemetry’s types, and what a journal says of itself.',
    names: /^(Engine\.isHere|Span\.(addLinks?|recordException|updateName)|TraceState\.(get|set|unset)|Tracer\.startActiveSpan)$/,
  },
]
