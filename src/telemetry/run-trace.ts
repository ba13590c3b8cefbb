import { BudgetSpentError } from '../agent/limits/budget.ts'
import type {
  MeasuredCall,
  MeasuredExecution,
  MeasuredOutcome,
  MeasuredRequest,
  MeasuredRun,
  RunTelemetry,
} from '../agent/observe/telemetry.ts'
import type { EventTap } from '../agent/types/event-tap.ts'
import type { RunResult } from '../agent/types/result.ts'
import { syncAnswer } from '../core/callbacks/callbacks.ts'
import type { RunEvent } from '../core/events.ts'
import { addUsage, type Json, type JsonObject, textOf, type Usage, withoutUndefined } from '../core/messages.ts'
import { secretTexts } from '../core/redaction/redact.ts'
import { SecretTexts } from '../core/redaction/secret-texts.ts'
import { type ModelResponse, toModelError } from '../models/chat-model.ts'
import { usageOfFailure } from '../models/usage.ts'
import type { AnyTool, CallTrace } from '../tools/tool.ts'
import { type Attributes, type Context, context, type Link, ROOT_CONTEXT, SpanKind, type Tracer, trace } from './api.ts'
import {
  type AgentIdentity,
  executionAttributes,
  finishReasonName,
  metadataAttributes,
  requestAttributes,
  responseAttributes,
  serverAttributes,
  usageAttributes,
} from './attributes.ts'
import { SpanContent } from './content.ts'
import { type FailSafe, within } from './fail-safe.ts'
import { ChunkTimes, secondsToFirst } from './metrics/chunk-times.ts'
import type { Instruments } from './metrics/instruments.ts'
import { type Names, providerName } from './names.ts'
import { RedactedSpan } from './redacted-span.ts'
import { decisionAttributes, errorType, markFailed, recordEvent, recordException, recordFailure, toldEvents } from './span-events.ts'
import { outgoingHeaders, readTraceHeaders, spanContextOf, traceHeaders } from './trace-context.ts'

/** The settings and objects that the traces of all runs share. */
export interface TraceSetup {
  tracer(): Tracer
  instruments(): Instruments
  names: Names
  /** Whether spans contain the conversation. */
  content: boolean
  /** The names of the `metadata` fields that are added to spans. */
  metadata: readonly string[]
  attempt: FailSafe
}

/** A span that is in progress. */
interface Open {
  span: RedactedSpan
  /** The context in which the span is active. */
  context: Context
}

interface OpenCall extends Open {
  tool?: Pick<AnyTool, 'name' | 'description'>
}

/**
 * The spans of one run. Each execution is an `invoke_agent` span, whose children are `chat` and `execute_tool` spans. Runs inside a call
 * are children of the call's span. Each span is active while its work is in progress. A span gets the right parent even if no context
 * manager is registered.
 */
export class RunTrace implements RunTelemetry {
  readonly tap: EventTap
  readonly #run: MeasuredRun
  readonly #try: FailSafe
  readonly #setup: TraceSetup
  readonly #content: SpanContent | undefined
  /** The values of secret arguments, which must not be in a span. */
  readonly #secrets = new SecretTexts()
  /** The context in which the caller started the run. */
  readonly #caller: Context
  readonly #calls = new Map<string, OpenCall>()
  readonly #agent: AgentIdentity
  /** The metadata of the run. Fields that are missing are taken from the outer runs. */
  readonly #metadata: JsonObject
  readonly #attributes: Attributes
  #execution: Open | undefined
  /** The request in progress. A run has only one request at a time. */
  #request: Open | undefined
  #did = { requests: 0, calls: 0 }
  #usage: Usage | undefined

  constructor(run: MeasuredRun, setup: TraceSetup) {
    this.#run = run
    this.#setup = setup
    this.#try = setup.attempt
    this.#content = setup.content ? new SpanContent(this.#secrets) : undefined
    this.#caller = this.#try(() => context.active()) ?? ROOT_CONTEXT
    const tool = this.#outer?.tool
    this.#agent = { name: run.name ?? tool?.name, description: tool?.description, runId: run.runId, session: undefined }
    const { parent, metadata } = run
    this.#metadata = { ...(parent?.telemetry instanceof RunTrace ? parent.telemetry.#metadata : {}), ...metadata }
    this.#attributes = this.#try(() => metadataAttributes(setup.metadata, this.#metadata)) ?? {}
    this.tap = { wanted: toldEvents, take: (event) => this.#try(() => this.#tell(event)) }
  }

  async aroundExecution(execution: MeasuredExecution, next: () => Promise<RunResult>): Promise<RunResult> {
    const startedAt = performance.now()
    this.#agent.session = execution.session
    this.#did = { requests: 0, calls: 0 }
    this.#usage = undefined
    let open: Open | undefined
    try {
      const first = await execution.record(async () => {
        open = this.#try(() => this.#beginExecution(execution))
        return (open && this.#try(() => traceHeaders(open?.context ?? ROOT_CONTEXT) as Json)) ?? null
      })
      open ??= this.#try(() => this.#beginExecution(execution, first))
      this.#execution = open
      const result = await within(this.#try, open?.context, next)
      this.#try(() => this.#endExecution(open, result))
      this.#try(() => this.#measureExecution(startedAt, result.error?.code))
      return result
    } catch (error) {
      this.#try(() => open && recordFailure(open.span, error, errorType(error)))
      this.#try(() => this.#measureExecution(startedAt, errorType(error)))
      throw error
    } finally {
      this.#try(() => open?.span.end())
    }
  }

  async aroundRequest<Response extends ModelResponse>(request: MeasuredRequest, next: () => Promise<Response>): Promise<Response> {
    const startedAt = performance.now()
    const open = this.#try(() => this.#beginRequest(request))
    this.#request = open
    this.#did.requests++
    const chunks = this.#try(() => this.#timeChunks(request))
    const measure = (usage: Usage | undefined, response?: ModelResponse, failure?: string) => {
      if (usage !== undefined) this.#usage = this.#usage === undefined ? usage : addUsage(this.#usage, usage)
      const { model, baseURL = request.baseURL } = response ?? {}
      const attributes = withoutUndefined({
        'gen_ai.operation.name': 'chat',
        'gen_ai.provider.name': providerName(request.provider),
        'gen_ai.request.model': request.model,
        ...serverAttributes(baseURL),
        'gen_ai.response.model': model,
        'error.type': failure,
      })
      const instruments = this.#setup.instruments()
      const firstChunk = response && secondsToFirst(response, chunks, startedAt)
      instruments.request((performance.now() - startedAt) / 1_000, firstChunk, usage, attributes)
      if (chunks !== undefined) instruments.chunks(chunks.between(), attributes)
    }
    try {
      const response = await within(this.#try, open?.context, next)
      this.#try(() => {
        if (open?.span.isRecording) {
          const firstChunk = secondsToFirst(response, chunks, startedAt)
          open.span.setAttributes(responseAttributes(this.#setup.names, response, request, firstChunk))
          if (this.#content !== undefined) open.span.setAttributes(this.#content.response(response, request.secretsOf))
        }
      })
      this.#try(() => measure(response.usage, response))
      return response
    } catch (error) {
      this.#try(() => {
        if (error instanceof BudgetSpentError) {
          this.#did.requests--
          open?.span.addEvent('toolloop.not_sent', { 'toolloop.stop_reason': 'budget' })
          return
        }
        const usage = usageOfFailure(error)
        const { code } = toModelError(error, request.provider, request.model)
        this.#try(() => measure(usage, undefined, code))
        if (open === undefined) return
        recordFailure(open.span, error, code)
        if (usage !== undefined) open.span.setAttributes(usageAttributes(this.#setup.names, usage))
      })
      throw error
    } finally {
      this.#request = undefined
      this.#try(() => open?.span.end())
    }
  }

  async aroundCall<Outcome extends MeasuredOutcome>(call: MeasuredCall, next: (trace: CallTrace) => Promise<Outcome>): Promise<Outcome> {
    const startedAt = performance.now()
    const { toolCallId, tool } = call
    const open = this.#try(() => this.#beginCall(call))
    if (open !== undefined) this.#calls.set(toolCallId, { ...open, tool })
    this.#did.calls++
    let failure: string | undefined
    try {
      const outcome = await within(this.#try, open?.context, () => next(this.#traceOf(open)))
      failure = 'code' in outcome.end ? outcome.end.code : undefined
      this.#try(() => open && this.#endCall(open.span, call, outcome))
      return outcome
    } catch (error) {
      failure = errorType(error)
      this.#try(() => open && recordFailure(open.span, error, errorType(error)))
      throw error
    } finally {
      this.#calls.delete(toolCallId)
      this.#try(() => open?.span.end())
      this.#try(() => {
        const attributes = withoutUndefined({ 'gen_ai.tool.name': tool.name, 'error.type': failure })
        this.#setup.instruments().call((performance.now() - startedAt) / 1_000, attributes)
      })
    }
  }

  /** The call that contains this run, or the execution of the outer run if there is no such call. */
  get #outer(): OpenCall | undefined {
    const { parent } = this.#run
    if (!(parent?.telemetry instanceof RunTrace)) return undefined
    const { telemetry, toolCallId } = parent
    return (toolCallId === undefined ? undefined : telemetry.#calls.get(toolCallId)) ?? telemetry.#execution
  }

  /** Begins the span of an execution. If the run was resumed, `first` contains the trace headers of its first execution. */
  #beginExecution(execution: MeasuredExecution, first?: Json): Open {
    const origin = readTraceHeaders(first)
    const outer = this.#outer
    const caller = spanContextOf(this.#caller)
    const isLater = origin !== undefined
    // An execution inside a call is a child of that call. A resumed run continues the trace of its first execution, even if it was resumed
    // in another trace.
    const parent = outer !== undefined ? this.#below(outer) : isLater ? trace.setSpanContext(this.#caller, origin) : this.#caller
    const link = outer === undefined && isLater && caller !== undefined && caller.traceId !== origin.traceId ? [{ context: caller }] : []
    const { name } = this.#agent
    const attributes = {
      ...executionAttributes(this.#setup.names, execution, this.#agent),
      'toolloop.run.resumed': isLater || undefined,
      ...this.#content?.given(execution.instructions, execution.input),
    }
    return this.#begin(`invoke_agent${name === undefined ? '' : ` ${name}`}`, SpanKind.INTERNAL, attributes, parent, link)
  }

  #beginRequest(measured: MeasuredRequest): Open {
    const attributes = {
      ...requestAttributes(measured, this.#agent),
      ...this.#content?.request(measured.request, measured.secretsOf),
    }
    return this.#begin(`chat ${measured.model}`, SpanKind.CLIENT, attributes)
  }

  /** Starts to measure the pieces of a response. Returns undefined for a response without a stream. */
  #timeChunks(measured: MeasuredRequest): ChunkTimes | undefined {
    if (measured.request.stream === false) return undefined
    const times = new ChunkTimes()
    measured.timePieces(times)
    return times
  }

  #beginCall({ toolCallId, tool, args, iteration, repairs, decision }: MeasuredCall): Open {
    const { name: agent, session } = this.#agent
    for (const secret of secretTexts(args, new Set(tool.secrets))) this.#secrets.add(secret)
    return this.#begin(`execute_tool ${tool.name}`, SpanKind.INTERNAL, {
      'gen_ai.operation.name': 'execute_tool',
      'gen_ai.tool.name': tool.name,
      'gen_ai.tool.call.id': toolCallId,
      'gen_ai.tool.type': 'function',
      'gen_ai.tool.description': tool.description,
      'gen_ai.agent.name': agent,
      'gen_ai.conversation.id': session,
      'toolloop.iteration': iteration,
      'toolloop.tool.repairs': repairs && [...repairs],
      'toolloop.tool.decided': decision?.kind,
      ...(decision && decisionAttributes(decision)),
      ...this.#content?.arguments(args, new Set(tool.secrets)),
    })
  }

  #begin(
    name: string,
    kind: SpanKind,
    attributes: Attributes,
    parent: Context = this.#execution?.context ?? this.#caller,
    links: Link[] = [],
  ): Open {
    const span = syncAnswer(
      'startSpan',
      this.#setup.tracer().startSpan(name, { kind, attributes: withoutUndefined({ ...attributes, ...this.#attributes }), links }, parent),
    )
    return { span: new RedactedSpan(span, this.#secrets), context: trace.setSpan(parent, span) }
  }

  /**
   * Returns the parent context for new spans inside `call`. If a tool has started its own span inside the call, that span is the parent.
   */
  #below({ context: call }: Open): Context {
    const current = context.active()
    const inside = spanContextOf(current)
    return inside !== undefined && inside.traceId === spanContextOf(call)?.traceId ? current : call
  }

  #endExecution(open: Open | undefined, result: RunResult): void {
    if (!open?.span.isRecording) return
    const { span } = open
    const { stopReason, iterations, steps, error, text } = result
    const last = steps.at(-1)
    const finish = last === undefined ? undefined : finishReasonName(last.finishReason)
    span.setAttributes({
      'toolloop.stop_reason': stopReason,
      'toolloop.iterations': iterations,
      'gen_ai.response.finish_reasons': finish === undefined ? undefined : [finish],
      ...(this.#usage && usageOfRun(this.#usage)),
      ...(text === '' ? undefined : this.#content?.answer(text, finish ?? 'stop')),
    })
    if (error !== undefined) markFailed(span, error.code, quotesTheModel.has(error.code) ? undefined : error.message)
  }

  #measureExecution(startedAt: number, failure: string | undefined): void {
    const attributes = withoutUndefined({ 'gen_ai.agent.name': this.#agent.name, 'error.type': failure })
    this.#setup.instruments().run((performance.now() - startedAt) / 1_000, this.#did, attributes)
  }

  #endCall(span: RedactedSpan, { tool }: MeasuredCall, { end, raw }: MeasuredOutcome): void {
    if (!span.isRecording) return
    span.setAttribute('toolloop.tool.outcome', end.outcome)
    if ('attempts' in end && end.attempts > 1) span.setAttribute('toolloop.retries', end.attempts - 1)
    if ('content' in end && this.#content !== undefined)
      span.setAttributes(this.#content.result(textOf(end.content), new Set(tool.secrets)))
    if (!('code' in end)) return
    if (raw?.thrown !== undefined && end.outcome === 'failed') recordException(span, raw.thrown)
    markFailed(span, end.code)
  }

  #tell(event: RunEvent): void {
    if (event.meta.runId !== this.#run.runId || this.#execution === undefined) return
    // A rejected call that was in progress has its own span, so it gets no event.
    if (event.type === 'TOOL_CALL_REJECTED' && this.#calls.has(event.meta.toolCallId ?? '')) return
    const { span } = (event.type === 'MODEL_RETRY' ? this.#request : undefined) ?? this.#execution
    recordEvent(span, event)
  }

  #traceOf(open: Open | undefined): CallTrace {
    return {
      headers: () => this.#try(() => (open === undefined ? {} : outgoingHeaders(this.#below(open)))) ?? {},
      setAttributes: (attributes) => void this.#try(() => open?.span.setAttributes(attributes)),
    }
  }
}

/** The codes of errors whose message quotes the model. */
const quotesTheModel: ReadonlySet<string> = new Set(['refusal', 'invalid_output', 'guardrail'])

/** Returns the input tokens, output tokens and cost of a run. The spans of its requests have the cache counts. */
function usageOfRun({ inputTokens, outputTokens, costUsd }: Usage): Attributes {
  return {
    'gen_ai.usage.input_tokens': inputTokens,
    'gen_ai.usage.output_tokens': outputTokens,
    'toolloop.usage.cost_usd': costUsd,
  }
}
