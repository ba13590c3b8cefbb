import type { Optional } from '../../core/check-options.ts'
import { hasToolCalls, isToolResult, textOf } from '../../core/messages.ts'
import type { SendableRun } from '../message-stream/ui-message-response.ts'
import type { ResponseOptions } from '../web/respond.ts'
import type { ResponseFormat } from '../web/response-format.ts'
import type { AgUiInput } from './ag-ui-input.ts'
import { AgUiWriter } from './ag-ui-writer.ts'

/** Options of `toAgUiResponse`: the options that all responses share, and the input of the request. */
export interface AgUiResponseOptions extends Omit<ResponseOptions, 'format' | 'lastEventId'> {
  /**
   * The client's input. The response uses its ids, and does not send calls that its messages already contain. Default: the run's own id is
   * used as thread id and run id. Without an input, the response can't remove text from the client, so the run ends if a model response is
   * cut off after a part of it was sent.
   */
  input?: AgUiInput
}

/**
 * Sends a run as a response for AG-UI 1.0: text, reasoning, steps, calls with arguments and results, and the outcome. If the run waits for
 * an approval or an answer, the response ends with an interrupt. If it waits for the page's tools, the outcome lists their calls as
 * `pendingToolCallIds`. Progress reported with `ctx.progress` is sent as a custom event `tool_progress`. If a client reconnects, call this
 * function again with the same run. The new response starts from the beginning. Throws `invalid_option`.
 *
 * ```ts
 * const input = inputFromAgUi(await request.json())
 * return toAgUiResponse(runner.stream(input.messages, { tools: [...tools, ...input.tools] }), { input })
 * ```
 */
export function toAgUiResponse(run: SendableRun, { input, ...response }: AgUiResponseOptions = {}): Response {
  return run.toResponse({ ...response, format: agUiFormat(input) })
}

/** AG-UI as a format for `toResponse`. */
export function agUiFormat({
  threadId,
  runId,
  messages,
  shown,
}: Optional<Pick<AgUiInput, 'threadId' | 'runId' | 'messages' | 'shown'>> = {}): ResponseFormat {
  const known = messages && new Set(messages.flatMap((message) => (hasToolCalls(message) ? message.toolCalls.map(({ id }) => id) : [])))
  const results = new Map(messages?.filter(isToolResult).map((message) => [message.toolCallId, textOf(message.content)]))
  const options = { threadId, runId, known, results, shown }
  return { takesBack: shown !== undefined, continues: messages !== undefined, open: () => new AgUiWriter(options) }
}
