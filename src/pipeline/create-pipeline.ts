import { toModel } from '../agent/options.ts'
import { checkOptionNames } from '../core/option-names.ts'
import { AnthropicPipeline, isServedBy, LLMPipeline, type PipelineOptions, pipelineOptionNames } from './pipeline.ts'

/** Over any provider, and over the Messages API as an `AnthropicPipeline` once its model has been switched to one of that. */
class SwitchedPipeline<Context> extends LLMPipeline<Context> {
  protected override streamsByDefault(hasTools: boolean): boolean {
    return !hasTools || isServedBy(this.model, 'anthropic') !== true
  }
}

/** The pipeline for a model, by what serves it; also after a `switchableModel` was switched. Throws what its constructor throws. */
export function createPipeline<Context = unknown>(options: PipelineOptions<Context>): LLMPipeline<Context> {
  checkOptionNames(options, pipelineOptionNames, '`createPipeline`')
  const model = toModel(options)
  const Pipeline = isServedBy(model, 'anthropic') ? AnthropicPipeline : SwitchedPipeline
  return new Pipeline<Context>({ ...options, model, models: undefined, fallbackOn: undefined })
}
