/** A run for pages that speak the AI SDK's UI message stream, or AG-UI. */
export { type AgUiInput, type AgUiInputOptions, type AgUiResume, inputFromAgUi } from './ag-ui/ag-ui-input.ts'
export { type AgUiResponseOptions, agUiFormat, toAgUiResponse } from './ag-ui/ag-ui-response.ts'
export { decisionsFromAgUi } from './ag-ui/decisions-from-ag-ui.ts'
export { decisionsFromUI } from './message-stream/decisions-from-ui.ts'
export { type MessagesFromUIOptions, messagesFromUI } from './message-stream/messages-from-ui.ts'
export {
  type SendableRun,
  toUIMessageResponse,
  type UIMessageOptions,
  type UIMessageResponseOptions,
  uiMessageFormat,
} from './message-stream/ui-message-response.ts'
