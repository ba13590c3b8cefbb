/** `toolloop/view`: builds the state of runs from their events, for pages and terminals. Runs without Node.js. */
export type { FinishReason, RunEvent, ToolCallOutcome } from '../events.ts'
export { reduceRun } from './reduce-run.ts'
export type { CallStatus, RunStatus } from './run-states.ts'
export {
  type CallView,
  callOf,
  emptyRunView,
  lastText,
  type PendingView,
  type RetryView,
  type RunView,
  type Stretch,
  type TurnPart,
  type TurnView,
  turnText,
} from './run-view.ts'
