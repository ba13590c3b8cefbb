import { toModel } from '../agent/options.ts'
import { checkOptionNames } from '../core/check-options.ts'
import { AnthropicPipeline, isServedBy, LLMPipeline, type PipelineOptions, pipelineOptionNames } from './pipeline.ts'

/** A pipeline for any provider. If its model is switched to the Messages API, it behaves like an `AnthropicPipeline`. */
class SwitchedPipeline<Context> extends LLMPipeline<Context> {
  protected override streamsByDefault(hasTools: boolean): boolean {
    return !hasTools || isServedBy(this.model, 'anthropic') !== true
  }
}

/**
 * Creates the pipeline for the model's provider. It also works after a `switchableModel` is switched to another provider. Throws the errors
 * of the `LLMPipeline` constructor.
 */
export function createPipeline<Context = unknown>(options: PipelineOptions<Context>): LLMPipeline<Context> {
  checkOptionNames(options, pipelineOptionNames, '`createPipeline`')
  const model = toModel(options)
  const Pipeline = isServedBy(model, 'anthropic') ? AnthropicPipeline : SwitchedPipeline
  return new Pipeline<Context>({ ...options, model, models: undefined, fallbackOn: undefined })
}
