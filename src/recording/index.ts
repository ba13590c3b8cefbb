/** `toolloop/recording`: records and replays runs. */
export type { RecordedScope, RunRecorder } from '../agent/observe/recorder.ts'
export { type Difference, describeDifference } from './difference.ts'
export { readRecording } from './file/recording-file.ts'
export type {
  RecordedCall,
  RecordedDecision,
  RecordedError,
  RecordedInput,
  RecordedModelInfo,
  RecordedModelRequest,
  RecordedPieces,
  RecordedRequest,
  RecordedResult,
  RecordedRun,
  RecordedSteering,
  RecordedStep,
  RecordedTool,
  RecordedTurn,
  RunRecording,
} from './format.ts'
export { type RecordedRunOptions, type RecordOptions, recordRun } from './record-run.ts'
export { type Replay, type ReplayOptions, replayRun } from './replay-run.ts'
