/**
 * `toolloop/testing`: tools for testing agents, tools and models: a model that answers from a script, a provider that can misbehave, and
 * contract suites.
 */
export { type ReplayPartOptions, replayModel, replayTools } from '../recording/replay-parts.ts'
export type { CreateModel, Expect, ModelTestSettings } from './contract/kit.ts'
export type { TestApi } from './contract-cases.ts'
export { type TestJournalOptions, testJournal } from './contract-journal.ts'
export { type TestModelOptions, testModel } from './contract-model.ts'
export { type TestSessionsOptions, testSessions } from './contract-sessions.ts'
export type { JournalPlace, MakeJournal } from './journal-contract/kit.ts'
export { MemoryRuns, memoryJournal } from './memory-journal.ts'
export type { MockScriptRequest } from './mock/answers.ts'
export type { BodyMark, FaultRequest, Framing, MockFault, MockFaults } from './mock/fault.ts'
export type { MockRequest } from './mock/recorder.ts'
export type { MockEventsReply, MockRawReply, MockRecordingReply, MockReply, MockTurn } from './mock/reply.ts'
export type { WireName, WireRequest } from './mock/wires/wire.ts'
export { type MockProvider, type MockProviderOptions, startMockProvider } from './mock-provider.ts'
export { type ProviderRecorder, type RecordProviderOptions, recordProvider } from './record-provider.ts'
export type { Script, ScriptEntry, ScriptedCall, ScriptedTurn, ScriptedUsage } from './script.ts'
export { type ScriptedModel, type ScriptedModelOptions, type ScriptedRequest, scriptedModel } from './scripted-model.ts'
export type { MakeSessions, SessionsPlace } from './session-contract/kit.ts'
