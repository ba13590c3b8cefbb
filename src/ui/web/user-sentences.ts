import { type ErrorCode, errorCodes, ToolloopError } from '../../core/errors.ts'

/**
 * Describes an error in a sentence for the user of a page. The sentence contains no text from a provider or a tool, and no details that are
 * useful only to programmers.
 */
export function userSentence(error: unknown): string {
  if (!ToolloopError.isInstance(error)) return 'The run failed.'
  return sentences[error.code] ?? errorCodes[error.code].meaning
}

const sentences: Partial<Record<ErrorCode, string>> = {
  session_waiting: 'An earlier request in this conversation still waits for a decision. You can continue when it has been decided.',
  session_busy: 'Your last message is still being answered. Wait for the answer, then try again.',
  session_lost: 'This conversation was changed elsewhere, and the last answer was not kept. Reload it.',
  unknown_session: 'This conversation does not exist any more.',
  session_failed: 'This conversation can’t be read or stored at the moment. Try again later.',
  already_resumed: 'This was decided before. Reload the conversation to see the outcome.',
  decision_refused: 'This was decided before, or too late. Reload the conversation to see the outcome.',
  queue_full: 'Too many requests are waiting. Try again later.',
}
