/**
 * The tags between which models think in their text, if the server does not remove the thinking.
 * https://docs.vllm.ai/en/latest/features/reasoning_outputs.html lists the models and their parsers.
 */
export const thinkingTags: readonly (readonly [open: string, close: string])[] = [
  // DeepSeek, Qwen, GLM, Kimi, MiniMax-M2, Nemotron, Step and most others
  ['<think>', '</think>'],
  // MiniMax-M3: https://github.com/vllm-project/vllm/issues/48663
  ['<mm:think>', '</mm:think>'],
  // Amazon Nova, and models that are asked for it
  ['<thinking>', '</thinking>'],
  // EXAONE Deep, Gemini's compatible endpoint: https://ai.google.dev/gemini-api/docs/openai
  ['<thought>', '</thought>'],
  // Seed-OSS: https://huggingface.co/ByteDance-Seed/Seed-OSS-36B-Instruct
  ['<seed:think>', '</seed:think>'],
  // LongCat: https://huggingface.co/meituan-longcat/LongCat-Flash-Thinking
  ['<longcat_think>', '</longcat_think>'],
  // Magistral: https://huggingface.co/mistralai/Magistral-Small-2509
  ['[THINK]', '[/THINK]'],
  // Command A Reasoning: https://huggingface.co/CohereLabs/command-a-reasoning-08-2025
  ['<|START_THINKING|>', '<|END_THINKING|>'],
  // Solar Open 2
  ['<|think:start|>', '<|think:end|>'],
  // Apertus: https://huggingface.co/swiss-ai/Apertus-8B-Instruct-2509
  ['<|inner_prefix|>', '<|inner_suffix|>'],
  // Kimi K3: https://huggingface.co/moonshotai/Kimi-K3
  ['<|open|>think<|sep|>', '<|close|>think<|sep|>'],
  // Kimi-VL: https://huggingface.co/moonshotai/Kimi-VL-A3B-Thinking
  ['◁think▷', '◁/think▷'],
  // Hunyuan 3
  ['<think:opensource>', '</think:opensource>'],
  // Gemma 4: https://ai.google.dev/gemma/docs/capabilities/thinking
  ['<|channel>thought\n', '<channel|>'],
]
