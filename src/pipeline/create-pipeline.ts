import { toModel } from '../agent/options.ts'
import { checkOptionNames } from '../core/check-options.ts'
import { AnthropicPipeline, isServedBy, LLMPipeline, type PipelineOptions, pipelineOptionNames } from './pipeline.ts'

/** A pipeline for any provider. It behaves like an `AnthropicPipeline` once its model is switched to one of the Messages API. */
class SwitchedPipeline<Context> extends LLMPipeline<Context> {
  protected override streamsByDefault(hasTools: boolean): boolean {
    return !hasTools || isServedBy(this.model, 'anthropic') !== true
  }
}

/**
 * Creates the pipeline that fits the model's provider, even if a `switchableModel` is switched later. Throws the errors of that pipeline's
 * constructor.
 */
export function createPipeline<Context = unknown>(options: PipelineOptions<Context>): LLMPipeline<Context> {
  checkOptionNames(options, pipelineOptionNames, '`createPipeline`')
  const model = toModel(options)
  const Pipeline = isServedBy(model, 'anthropic') ? AnthropicPipeline : SwitchedPipeline
  return new Pipeline<Context>({ ...options, model, models: undefined, fallbackOn: undefined })
}
