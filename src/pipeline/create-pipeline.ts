import { toModel } from '../agent/options.ts'
import { findPreset, providerNames } from '../models/providers.ts'
import { AnthropicPipeline, LLMPipeline, type PipelineOptions } from './pipeline.ts'

/** By the `driver` of `config/providers.yaml`; any other model has an `LLMPipeline`. */
const pipelines: Readonly<Record<string, typeof LLMPipeline>> = { anthropic: AnthropicPipeline }

/** The pipeline for a model, by what serves it. Throws what its constructor throws. */
export function createPipeline<Context = unknown>(options: PipelineOptions<Context>): LLMPipeline<Context> {
  const model = toModel(options)
  const driver = providerNames().includes(model.provider) ? findPreset(model.provider).driver : ''
  const Pipeline = Object.hasOwn(pipelines, driver) ? pipelines[driver] : undefined
  return new (Pipeline ?? LLMPipeline)<Context>({ ...options, model, models: undefined })
}
