/**
 * The tags around the thinking in a model's text, if the server does not remove the thinking.
 * https://docs.vllm.ai/en/latest/features/reasoning_outputs.html lists the models and their parsers.
 */
export const thinkingTags: readonly (readonly [open: string, close: string])[] = [
  // DeepSeek, Qwen, GLM, Kimi, MiniMax-M2, Nemotron, Step and most other models
  ['<think>', '</think>'],
  // MiniMax-M3: https://github.com/vllm-project/vllm/issues/48663
  ['<mm:think>', '</mm:think>'],
  // Amazon Nova, and other models if the prompt asks for this tag
  ['<thinking>', '</thinking>'],
  // gpt-oss at Amazon Bedrock: https://docs.aws.amazon.com/bedrock/latest/userguide/model-parameters-openai.html
  ['<reasoning>', '</reasoning>'],
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

/** Marks around the answer that are not part of it. */
export const answerMarks: readonly string[] = [
  // GLM-4.1V to 4.6V: https://github.com/zai-org/GLM-V/issues/79
  '<|begin_of_box|>',
  '<|end_of_box|>',
  // Kimi K3: https://github.com/NousResearch/hermes-agent/issues/73491
  '<|open|>response<|sep|>',
  '<|close|>response<|sep|>',
  // Command A Reasoning: https://huggingface.co/CohereLabs/command-a-reasoning-08-2025
  '<|START_RESPONSE|>',
  '<|END_RESPONSE|>',
  // gpt-oss: https://github.com/raullenchai/Rapid-MLX/issues/480
  '<|channel|>final<|message|>',
]

/**
 * Tokens that end a turn. A server that does not know such a token leaves it at the end of the text:
 * https://github.com/mzau/mlx-knife/issues/20, https://github.com/logancyang/obsidian-copilot/issues/2284
 */
export const endTokens: readonly string[] = [
  '<|im_end|>',
  '<|endoftext|>',
  '<|eot_id|>',
  '<|eom_id|>',
  '<|end_of_text|>',
  '<|end|>',
  '<|return|>',
  '<|user|>',
  '<|observation|>',
  '<|im_assistant|>',
  '<|END_OF_TURN_TOKEN|>',
  '<｜end▁of▁sentence｜>',
  '<end_of_turn>',
  '<end_of_utterance>',
  '<turn|>',
  '[e~[',
  '[EOS]',
  '</s>',
]

/** HTML tags around struck text. The end tag is also in `endTokens`. */
export const strikeTags: readonly [open: string, close: string] = ['<s>', '</s>']

/** Tokens that start a turn. If the model writes such a token after the end of its turn, it makes up the next turn. */
export const turnStarts: readonly string[] = ['<|im_start|>', '<|start_header_id|>', '<start_of_turn>']
