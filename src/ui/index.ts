/** `toolloop/ui`: runs for pages that use the AI SDK's UI message stream, or AG-UI. */
export { type AgUiInput, type AgUiInputOptions, type AgUiResume, inputFromAgUi } from './ag-ui/ag-ui-input.ts'
export { type AgUiResponseOptions, agUiFormat, toAgUiResponse } from './ag-ui/ag-ui-response.ts'
export { decisionsFromAgUi } from './ag-ui/decisions-from-ag-ui.ts'
export { type AgUiContent, type AgUiMessage, type AgUiSnapshotOptions, messagesToAgUi, toAgUiSnapshot } from './ag-ui/messages-to-ag-ui.ts'
export { decisionsFromUI } from './message-stream/decisions-from-ui.ts'
export { inputFromUI, type UIInput } from './message-stream/input-from-ui.ts'
export { type MessagesFromUIOptions, messagesFromUI } from './message-stream/messages-from-ui.ts'
export { messagesToUI, type StoredUIMessage, type UICallPart, type UIPart } from './message-stream/messages-to-ui.ts'
export {
  type SendableRun,
  toUIMessageResponse,
  type UIMessageOptions,
  type UIMessageResponseOptions,
  uiMessageFormat,
} from './message-stream/ui-message-response.ts'
export type { ShownConversationOptions, WaitingConversation } from './stored-conversation.ts'
export { type NodeResponse, pipeToNode, type Sendable } from './web/pipe-to-node.ts'
export type { ResponseOptions } from './web/respond.ts'
export type { ResponseFormat, ResponseWriter } from './web/response-format.ts'
export type { RunEnding } from './web/run-ending.ts'
