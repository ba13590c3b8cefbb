import { hasToolCalls, isToolResult, textOf } from '../../core/messages.ts'
import type { Optional } from '../../core/option-names.ts'
import type { SendableRun } from '../message-stream/ui-message-response.ts'
import type { ResponseOptions } from '../web/respond.ts'
import type { ResponseFormat } from '../web/response-format.ts'
import type { AgUiInput } from './ag-ui-input.ts'
import { AgUiWriter } from './ag-ui-writer.ts'

/** Options of `toAgUiResponse`: those of every response, and the request's input. */
export interface AgUiResponseOptions extends Omit<ResponseOptions, 'format' | 'lastEventId'> {
  /**
   * What the client asked for: its ids are the response's, and calls in its messages are not told of again. Default: the run's own id, twice,
   * and a response of the model that breaks off after a part of it was sent ends the run: that part can't be taken back.
   */
  input?: AgUiInput
}

/**
 * The run as a response for AG-UI 1.0: text, reasoning, steps, calls with their arguments and results, and the outcome. An approval and a
 * question end it with an interrupt; calls of the page's tools are the outcome's `pendingToolCallIds`. What a tool reports through
 * `ctx.progress` is a custom event `tool_progress`. For a client that comes again, call it again with the same run: it is told everything
 * from the beginning. Throws `invalid_option`.
 *
 * ```ts
 * const input = inputFromAgUi(await request.json())
 * return toAgUiResponse(runner.stream(input.messages, { tools: [...tools, ...input.tools] }), { input })
 * ```
 */
export function toAgUiResponse(run: SendableRun, { input, ...response }: AgUiResponseOptions = {}): Response {
  return run.toResponse({ ...response, format: agUiFormat(input) })
}

/** AG-UI as a format of `toResponse`. */
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
