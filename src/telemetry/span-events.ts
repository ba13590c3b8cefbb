import { messageOf, readableError, stackOf, ToolloopError } from '../core/errors.ts'
import type { EventName, MadeDecision, RunEvent } from '../core/events.ts'
import { type Attributes, SpanStatusCode } from './api.ts'
import type { RedactedSpan } from './redacted-span.ts'

/** The events of a run that are also recorded as events of a span. */
export const toldEvents: ReadonlySet<EventName> = new Set<EventName>([
  'MODEL_RETRY',
  'TOOL_CALL_REJECTED',
  'DECISION_NEEDED',
  'DECISION_MADE',
  'GUARDRAIL',
  'HANDOFF',
])

export function recordEvent(span: RedactedSpan, event: RunEvent): void {
  const toolCallId = event.meta.toolCallId ?? ''
  switch (event.type) {
    case 'MODEL_RETRY':
      span.addEvent('toolloop.retry', { 'error.type': event.errorCode, 'gen_ai.request.model': event.model })
      break
    case 'TOOL_CALL_REJECTED':
      span.addEvent('toolloop.call_not_run', {
        'gen_ai.tool.name': event.tool,
        'gen_ai.tool.call.id': toolCallId,
        'error.type': event.errorCode,
      })
      break
    case 'DECISION_NEEDED':
      span.addEvent('toolloop.decision_needed', {
        'gen_ai.tool.name': event.tool,
        'gen_ai.tool.call.id': toolCallId,
        'toolloop.decision.kind': event.kind,
      })
      break
    case 'DECISION_MADE':
      span.addEvent('toolloop.decision_made', {
        'gen_ai.tool.name': event.tool,
        'gen_ai.tool.call.id': toolCallId,
        'toolloop.decision.kind': event.kind,
        'toolloop.decision.approved': event.approved,
        ...decisionAttributes(event),
      })
      break
    case 'GUARDRAIL':
      span.addEvent('toolloop.guardrail', {
        'toolloop.guardrail.name': event.guardrail,
        'toolloop.guardrail.place': event.place,
        'toolloop.guardrail.verdict': event.verdict,
      })
      break
    case 'HANDOFF':
      span.addEvent('toolloop.handoff', { 'gen_ai.agent.name': event.agent, 'gen_ai.request.model': event.model })
      break
  }
}

/** Returns the attribute that names who made the decision. A string is used unchanged, and any other value as JSON. */
export function decisionAttributes({ by }: MadeDecision): Attributes {
  return { 'toolloop.decision.by': by === undefined || typeof by === 'string' ? by : JSON.stringify(by) }
}

/** Records a thrown value and marks the span as failed. */
export function recordFailure(span: RedactedSpan, error: unknown, code: string): void {
  recordException(span, error)
  markFailed(span, code, messageOf(error))
}

export function recordException(span: RedactedSpan, error: unknown): void {
  const stack = stackOf(error)
  span.addEvent('exception', {
    'exception.type': errorType(error),
    'exception.message': messageOf(error),
    'exception.stacktrace': stack,
  })
}

export function markFailed(span: RedactedSpan, code: string, message?: string): void {
  span.setAttribute('error.type', code)
  span.setStatus({ code: SpanStatusCode.ERROR, message })
}

export function errorType(error: unknown): string {
  if (ToolloopError.isInstance(error)) return error.code
  const readable = readableError(error)
  return readable instanceof Error ? readable.name : '_OTHER'
}
