/** `toolloop/pipeline`: answers for voice output, and the sentences of a text as it arrives. */
export { createPipeline } from './create-pipeline.ts'
export { type SentenceLanguage, sentenceLanguages } from './languages.ts'
export { AnthropicPipeline, LLMPipeline, type PipelineOptions, type PipelineRunOptions } from './pipeline.ts'
export { type SentenceOptions, SentenceSplitter } from './sentence-splitter.ts'
